// `pawl serve` as real processes: its settings, its probes, and how it stops under load.
import { chmodSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { open } from 'pawl'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { settings } from '../../src/cli/serve/settings.ts'
import { CommandLine, type Program } from './command-line.ts'

let cli: CommandLine

beforeEach(async () => {
  cli = await CommandLine.open()
})

afterEach(async () => {
  await cli[Symbol.asyncDispose]()
})

async function serve(...args: string[]): Promise<{ readonly program: Program; readonly url: string }> {
  const program = cli.begin('serve', '--listen', '0', '--store', cli.store, ...args)
  return { program, url: await program.matches(/serves (http:\S+)\/api/) }
}

function post(url: string, body: unknown): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
}

const flow = `
const hello = pawl.activity('hello', async (name) => 'hello ' + name)
const go = pawl.signal('go')
export const greet = pawl.workflow('greet', async (ctx, name) => {
  ctx.on(pawl.query('answer'), () => 42)
  return ctx.run(hello, name)
})
export const wait = pawl.workflow('wait', async (ctx) => ctx.wait(go))
export default [hello]
`

describe('settings', () => {
  test('I10: flags come before the environment, which comes before the file; secrets are masked', async () => {
    const config = {
      store: 'sqlite:./file.db',
      listen: 7001,
      hosts: ['a:1'],
      token: 'a-token-of-the-file-0123',
      worker: { concurrency: 3, heartbeatInterval: '2s' },
    }
    writeFileSync(join(cli.folder, 'pawl.config.json'), JSON.stringify({ ...config, listen: '7001' }))
    cli.environment = {
      PAWL_STORE: 'postgres://user:a/secret@with-signs@db/pawl',
      PAWL_LISTEN: '0.0.0.0:7002',
      PAWL_ORIGINS: 'https://a.example, https://b.example',
      PAWL_WORKER_CONCURRENCY: '4',
      PAWL_WORKER_GRACEFUL_SHUTDOWN_TIMEOUT: '20s',
    }
    const { code, stdout } = await cli.pawl('serve', '--listen', '7003', '--print-config', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      store: { value: 'postgres://user:***@db/pawl', source: 'PAWL_STORE' },
      listen: { value: '7003', source: '--listen' },
      hosts: { value: 'a:1', source: 'pawl.config.json' },
      origins: { value: 'https://a.example, https://b.example', source: 'PAWL_ORIGINS' },
      token: { value: '***', source: 'pawl.config.json' },
      'worker.concurrency': { value: '4', source: 'PAWL_WORKER_CONCURRENCY' },
      'worker.heartbeatInterval': { value: '2s', source: 'pawl.config.json' },
      'worker.gracefulShutdownTimeout': { value: '20s', source: 'PAWL_WORKER_GRACEFUL_SHUTDOWN_TIMEOUT' },
      modules: { source: 'default' },
    })
    cli.environment = { ...cli.environment, PAWL_WORKER_CONCURENCY: '9', PAWL_PORT: 'tcp://10.0.0.1:80' }
    const table = await cli.pawl('serve', '--print-config')
    expect(table.stderr).toMatch(/^note: .*PAWL_WORKER_CONCURENCY; did you mean PAWL_WORKER_CONCURRENCY\?\n$/)
    expect(table.stdout).toMatch(/^worker\.queues +\[default\] +default$/m)
    expect(table.stdout).toMatch(/^worker.concurrency +4 +PAWL_WORKER_CONCURRENCY$/m)
    expect(stdout + table.stdout).not.toMatch(/secret|with-signs|a-token/)
  })

  test('I10: the page about serving has the table of all settings', async () => {
    const rows = settings.map(({ path, option, variable = '', flag = '' }) => {
      const { about, takes, otherwise = '' } = option
      const cells = [path, variable, flag].map((name) => (name === '' ? '' : `\`${name}\``))
      return `| ${[...cells, `${about} Takes ${takes}.`, otherwise].join(' | ')} |`
    })
    const head = '| setting | variable | flag | what it does | default |\n| --- | --- | --- | --- | --- |'
    const page = await readFile(join(import.meta.dirname, '../../docs/operations/serve.md'), 'utf8')
    expect(page).toContain(`${head}\n${rows.join('\n')}\n`)
  })

  test('I10: all problems are told at once, each with its source, and no secret', async () => {
    const config = `export default { lissen: '7001', hosts: 'one', worker: { concurency: 3 } }`
    writeFileSync(join(cli.folder, 'pawl.config.ts'), config)
    writeFileSync(join(cli.folder, 'token'), 'too-short-secret\nand more')
    cli.environment = {
      PAWL_LISTEN: 'somewhere',
      PAWL_WORKER_CONCURRENCY: 'many',
      PAWL_WORKER_HEARTBEAT_INTERVAL: '5',
      PAWL_MODULES: './missing.ts',
      PAWL_TOKEN_FILE: 'token',
    }
    const { code, stderr } = await cli.pawl('serve')
    expect(code).toBe(2)
    for (const problem of [
      /8 settings are wrong/,
      /unknown option `lissen` of pawl\.config\.ts; did you mean `listen`\?/,
      /option `hosts` of pawl\.config\.ts is 'one'; expected a list/,
      /unknown option `concurency` of `worker` of pawl\.config\.ts; did you mean `concurrency`/,
      /variable `PAWL_LISTEN` of the environment is 'somewhere'; expected a port/,
      /`PAWL_WORKER_CONCURRENCY` of the environment is 'many'; expected a whole number/,
      /`PAWL_WORKER_HEARTBEAT_INTERVAL`/,
      /PAWL_MODULES names \.\/missing\.ts/,
      /option `token` of token is a string; expected 16 to 256/,
    ]) {
      expect(stderr).toMatch(problem)
    }
    expect(stderr).not.toMatch(/too-short/)
  })

  test('a typed file works, its modules are beside it, and without a token only loopback is served', async () => {
    await cli.define('flow.ts', flow)
    const server = join(import.meta.dirname, '..', '..', 'src', 'server', 'index.ts')
    writeFileSync(
      join(cli.folder, 'pawl.config.ts'),
      `import { defineConfig } from '${server}'\nexport default defineConfig({ modules: ['./flow.ts'] })\n`,
    )
    const { url } = await serve()
    const run = await (await post(`${url}/api/v1/runs`, { workflow: 'greet', input: 'Ada', wait: '10s' })).json()
    expect(run).toMatchObject({ outcome: { status: 'completed', output: 'hello Ada' } })
    const { runId } = run as { readonly runId: string }
    const answer = await post(`${url}/api/v1/runs/${runId}/queries/answer`, {})
    expect(await answer.json()).toEqual({ result: 42 })
    const open = await cli.pawl('serve', '--listen', '0.0.0.0:0', '--store', cli.store)
    expect(open).toMatchObject({ code: 2 })
    expect(open.stderr).toMatch(/without a token.*pawl token create --store \S+ <name>/)
  })

  test('a token in a file is needed from then on', async () => {
    const file = join(cli.folder, 'token')
    writeFileSync(file, 'a-token-of-16-or-more\n')
    chmodSync(file, 0o600)
    const { url } = await serve('--token-file', file)
    expect((await fetch(`${url}/api/v1/runs`)).status).toBe(401)
    const headers = { authorization: 'Bearer a-token-of-16-or-more' }
    expect((await fetch(`${url}/api/v1/runs`, { headers })).status).toBe(200)
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
  })

  test('modules that do not load end the start', async () => {
    await cli.define('flow.ts', 'throw new Error("no luck")')
    const { code, stderr } = await cli.pawl('serve', '--listen', '0', '--store', cli.store, '--module', 'flow.ts')
    expect(code).toBe(1)
    expect(stderr).toMatch(/no luck.*flow\.ts:\d+/)
    expect(stderr.match(/error:/g)).toHaveLength(1)
  })
})

describe('stopping', () => {
  test('under load a request is answered and done, or refused and not done', async () => {
    await cli.define('flow.ts', flow)
    cli.environment = { PAWL_LAME_DUCK: '600ms' }
    const { program, url } = await serve('--module', 'flow.ts')
    const waited = post(`${url}/api/v1/runs`, { workflow: 'wait', wait: '30s' })
    const outcomes = new Map<string, number>()
    let isOver = false
    const load = async (): Promise<void> => {
      while (!isOver) {
        const outcome = await outcomeOf(`${url}/api/v1/runs`)
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
        if (outcome === 'ECONNREFUSED') return
      }
    }
    const clients = Array.from({ length: 8 }, load)
    await vi.waitUntil(() => (outcomes.get('201') ?? 0) > 50, { timeout: 20_000 })
    const begun = performance.now()
    program.kill('SIGTERM')
    await program.prints('stopping')
    const ready = await fetch(`${url}/readyz`)
    expect([ready.status, await ready.json()]).toEqual([503, { status: 'unavailable', reason: 'draining' }])
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    expect((await fetch(`${url}/api/v1/runs`)).status).toBe(200)
    const ended = await program.ended
    isOver = true
    await Promise.all(clients)
    // The kernel resets a connection that it has completed and the server has not accepted. Nothing of it was read.
    const known = ['201', '503', 'ECONNREFUSED', 'ECONNRESET']
    expect([...outcomes.keys()].filter((each) => !known.includes(each))).toEqual([])
    const engine = await open(`sqlite:${join(cli.folder, 'pawl.db')}`)
    expect(await engine.count({ workflow: 'greet' })).toBe(outcomes.get('201'))
    await engine.close()
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect((await waited).status).toBe(503)
    const ms = performance.now() - begun
    expect(ms).toBeGreaterThan(600)
    expect(ms).toBeLessThan(10_000)
  })

  async function outcomeOf(url: string): Promise<string> {
    try {
      const response = await post(url, { workflow: 'greet', input: 'Ada' })
      await response.text()
      return String(response.status)
    } catch (error) {
      const { cause } = error as { readonly cause?: { readonly code?: string } }
      return cause?.code ?? String(error)
    }
  }

  test('a second signal stops at once', async () => {
    const { program } = await serve()
    program.kill('SIGTERM')
    await program.prints('stopping')
    program.kill('SIGTERM')
    expect(await program.ended).toMatchObject({ code: 143 })
  })
})
