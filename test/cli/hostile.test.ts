// What users chose as names, and what their code said, is printed by every command without reaching the terminal as
// something to obey; and the commands that are suggested can be pasted.
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { open, signal, workflow } from 'pawl'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { newRun } from '../../src/core/client/new-run.ts'
import { systemClock } from '../../src/core/runtime/clock.ts'
import { systemRandom, uuidV7 } from '../../src/core/runtime/random.ts'
import { openStore } from '../../src/stores/open.ts'
import { CommandLine, type Ended } from './command-line.ts'

const active = /(?![\n\t])[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/u
const paint = new RegExp(`${String.fromCharCode(27)}\\[(?:1|2|22|3[1-6]|39)m`, 'g')

/** Was a name in earlier releases, and is in their stores. */
const old = 'x\u009b31my\u202eb'
/** May be a name today. */
const reversed = 'a\u202eb\u2066c\u200f'
/** May be in a message, a note or a payload. */
const text = `t\u001b[31m\u001b]0;title\u0007${old}\u007f\r`

let cli: CommandLine

beforeEach(async () => {
  cli = await CommandLine.open()
})

afterEach(async () => {
  await cli[Symbol.asyncDispose]()
})

/** A run under names that only an earlier release could give it. */
async function createOld(pending: boolean): Promise<string> {
  const store = await openStore(cli.store, systemClock)
  const newId = (): string => uuidV7(systemClock, systemRandom)
  const options = { memo: { [text]: text }, ...(pending && { pending }) }
  const run = await newRun(workflow.declare('w'), { [text]: text }, options, { newId })
  const suffix = pending ? ' pending' : ''
  await store.create([{ ...run, name: old, workflowId: `${old}${suffix}`, queue: old }])
  await store.close()
  return run.runId
}

const definitions = `
const text = ${JSON.stringify(text)}
const old = ${JSON.stringify(old)}
const reversed = ${JSON.stringify(reversed)}
const flaky = pawl.activity(reversed, { retry: { maxAttempts: 2, initial: '1ms' } }, async () => {
  throw Object.assign(new Error(text), { name: old, cause: new Error(text) })
})
export const waits = pawl.workflow('waits' + reversed, async (ctx) => {
  ctx.log.info(text, { [text]: text })
  ctx.stream(pawl.stream(reversed)).write(text)
  ctx.stream(pawl.stream(reversed)).write({ [text]: text })
  await ctx.run('step ' + old, () => ({ [text]: text }))
  await ctx.wait(pawl.signal(old))
})
export const fails = pawl.workflow('fails', async (ctx) => {
  await ctx.run('first', () => 1)
  await ctx.run(flaky)
})
export const hooks = pawl.workflow('hooks', async (ctx) => { await ctx.wait(ctx.webhook(old)) })
export default [flaky]
`

function expectHarmless({ stdout, stderr }: Ended, of: string): void {
  for (const output of [stdout, stderr]) {
    const found = active.exec(output.replaceAll(paint, ''))
    const shown = found && JSON.stringify(output.slice(Math.max(0, found.index - 80)))
    expect(shown, of).toBe(null)
  }
}

const [waits, fails, hooks, paused, ended] = [
  `waits ${reversed}`,
  `fails ${reversed}`,
  `hooks ${reversed}`,
  `paused ${reversed}`,
  `ended ${reversed}`,
]

async function prepared(file: string): Promise<void> {
  const worker = cli.begin('worker', file, '--id', reversed, '--queue', reversed, '--queue', 'default')
  await worker.prints('is working')
  await createOld(false)
  await createOld(true)
  const engine = await open(cli.store)
  for (const id of [waits, paused, ended]) {
    await engine.start(workflow.declare(`waits${reversed}`), undefined, { workflowId: id })
  }
  await engine.start(workflow.declare('fails'), undefined, { workflowId: fails })
  await engine.start(workflow.declare('hooks'), undefined, { workflowId: hooks })
  for (const id of [waits, hooks, paused, ended]) await cli.reaches(id, 'waiting')
  await engine.get({ workflowId: ended }).terminate(text)
  await engine.get({ workflowId: paused }).pause(text)
  const daily = { cron: '0 2 * * *', workflow: workflow.declare(`waits${reversed}`) }
  await engine.schedules.set(reversed, daily)
  await engine.builds.rollOut(old, 30)
  await engine.submit({ name: reversed, nodes: [{ id: reversed, wait: reversed }] })
  await engine.close()
  await cli.reaches(ended, 'failed')
  await cli.reaches(paused, 'paused')
  await cli.reaches(fails, 'failed')
  worker.kill('SIGTERM')
  expectHarmless(await worker.ended, 'worker')
  await writeFile(join(cli.folder, 'bad.yaml'), `name: "\\x9b31m"\nnodes: [{id: "\\u202e", wait: "\\x9b"}]`)
  await writeFile(join(cli.folder, 'good.yaml'), `name: "a\\u202e"\nnodes: [{id: a, wait: b}]`)
}

function commandsOnRuns(file: string): string[][] {
  return [
    // Early, because a reset further down makes it a run in progress, which would be followed for ever.
    ['tail', ended],
    ['stream', ended],
    ['stream', ended, reversed],
    ['runs'],
    ['runs', '--workflow', old],
    ['runs', '--status', old],
    ...[waits, fails, hooks, paused, ended, old, `${old} pending`].flatMap((id) => [
      ['run', id],
      ['why', id],
      ['steps', id],
    ]),
    ['run', text],
    ['run', `nobody ${old}`],
    ['start', reversed, JSON.stringify(text), '--workflow-id', reversed],
    ['start', old],
    ['start', 'w', '--workflow-id', old],
    ['start', 'w', '--pending', '--workflow-id', `p${reversed}`],
    ['start', 'w', `{${text}`],
    ['trigger', `${old} pending`],
    ['resolve', old, '--reject', text],
    ['signal', waits, `other ${old}`, JSON.stringify(text)],
    ['query', waits, old, '--code', file],
    ['update', waits, old, '--timeout', '1ms'],
    ['cancel', hooks, '--reason', text],
    ['pause', waits, '--note', text],
    ['discard', waits, old, '--note', text],
    ['resume', paused],
    ['retry', fails],
    ['reset', ended, text],
    ['reset', ended, `step ${old}`],
    ['fork', ended, `step ${old}`, '--result', text],
    ['terminate', waits, '--reason', text],
    ['migrate', waits, '--to', old],
    ['migrate', '--workflow', old, '--to', old, '--limit', '5'],
    ['tail', `nobody ${old}`],
    ['batch', 'pause', '--workflow', old, '--limit', '5', '--reason', text, '--dry-run'],
    ['batch', 'signal', '--limit', '1', '--name', old, '--payload', text, '--dry-run'],
    ['batch', 'list'],
    ['batch', 'show', old],
  ]
}

function otherCommands(file: string): string[][] {
  return [
    ['builds'],
    ['builds', 'roll-out', reversed, '10'],
    ['builds', 'roll-out', old],
    ['builds', 'retire', old],
    ['builds', text],
    ['schedules'],
    ['schedule', 'pause', reversed, '--note', text],
    ['schedule', old, reversed],
    ['schedule', 'trigger', old],
    ['schedule', 'describe', reversed],
    ['schedule', 'update', reversed, '--note', text, '--time-zone', old],
    ['definitions', reversed],
    ['definitions', old],
    ['submit', 'bad.yaml'],
    ['submit', 'good.yaml'],
    ['submit', old],
    ['check', file],
    ['check', old],
    ['worker', old],
    ['work', old],
    ['work', file, '--for', old],
    ['work', file, '--for', '1s', '--linger', '0', '--queue', reversed],
    ['work', old, '--url', 'http://localhost:1'],
    ['export'],
    ['move', '--from', old, '--to', text],
    ['move', '--from', `sqlite:./${old}`, '--to', `file:./${reversed}`, '--workflow', old],
    ['health'],
    ['workers'],
    ['queues'],
    ['audit'],
    ['audit', '--by', old, '--target', text],
    ['retention', 'set', '--newest', '5', '--workflow', reversed],
    ['retention', 'set', '--keep', old],
    ['retention', 'remove', '--workflow', old],
    ['retention'],
    ['purge', '--keep', '0s', '--workflow', old, '--dry-run'],
    ['purge', '--keep', text, '--yes'],
    ['doctor', '--store', `file:${old}`],
    ['token', 'create', reversed, '--scope', 'read'],
    ['token', 'create', old, '--scope', text],
    ['token', 'list'],
    ['token', 'revoke', old],
    ['dev', old, '--demo'],
    ['serve', '--listen', old, '--module', old],
    ['serve', '--config', old],
    ['serve', '--listen', old, '--token-file', text, '--print-config'],
    ['init', `shop${reversed}`],
    ['init', old],
    ['mcp', '--store', `file:${old}`],
    ['mcp', '--allow', old],
    ['completion', 'bash'],
    ['completion', old],
    [old],
    ['runs', `--${old}`],
  ]
}

/** Several at once: each is a process. */
async function each<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const left = [...items]
  const lane = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await act(item)
  }
  await Promise.all(Array.from({ length: 4 }, lane))
}

const json = ['runs', 'run', 'why', 'steps', 'start', 'builds', 'schedules', 'definitions', 'check']

test('faults 3.1, 3.3: no command prints what a terminal obeys', { timeout: 240_000 }, async () => {
  const file = await cli.define('definitions.ts', definitions)
  await prepared(file)
  const commands = [...commandsOnRuns(file), ...otherCommands(file)]
  const { stdout: help } = await cli.pawl('--help')
  const known = [...help.matchAll(/^ {2}([a-z]+) .*$/gm)].map(([, name = '']) => name)
  const walked = new Set(commands.map(([name]) => name))
  const unwalked = known.filter((name) => !walked.has(name))
  expect(unwalked).toEqual(['demo', 'help'])
  await each(commands, async (args) => {
    const of = args.join(' ')
    const ended = await cli.pawl(...args)
    expectHarmless(ended, of)
    if (ended.code === 1) expectHarmless(await cli.pawl(...args, '--debug'), `${of} --debug`)
    if (!json.includes(args[0] ?? '') || args.length > 2) return
    const told = await cli.pawl(...args, '--json')
    expectHarmless(told, `${of} --json`)
    if (told.code === 0) expect(JSON.parse(told.stdout), of).toBeDefined()
  })
  cli.environment = { FORCE_COLOR: '1' }
  await each([['run', waits], ['why', waits], ['runs'], ['schedules'], ['run', text]], async (args) => {
    expectHarmless(await cli.pawl(...args), `${args.join(' ')} in colour`)
  })
})

describe('faults 3.2: what is suggested can be pasted', () => {
  const names = [
    '$(touch pwned)',
    'a; touch pwned',
    "it's",
    '`touch pwned`',
    'a b',
    '-x',
    '--store',
    'a"b\\c',
    '*',
    '~',
    'a\u202eb',
  ]

  /** Runs a line as a person would who pasted it, with `pawl` on the path. */
  async function paste(line: string): Promise<string> {
    const env = { PATH: `${cli.folder}:${process.env['PATH'] ?? ''}`, PAWL_STORE: cli.store }
    const { stdout } = await promisify(execFile)('sh', ['-c', line], { cwd: cli.folder, env })
    return stdout
  }

  function suggestedBy(output: string): string {
    return /pawl .*$/m.exec(output)?.[0] ?? ''
  }

  test('by start, why and trigger, for any name', { timeout: 120_000 }, async () => {
    const shim = `#!/bin/sh\nexec '${process.execPath}' '${cli.main}' "$@"\n`
    await writeFile(join(cli.folder, 'pawl'), shim, { mode: 0o755 })
    const waits = workflow('waits', async (ctx, name: string) => ctx.wait(signal<string>(name)))
    const engine = await open(cli.store, { workflows: [waits] })
    engine.work({ signals: false })
    await each(names, async (name) => {
      const { stdout: started } = await cli.pawl(
        ...['start', 'waits', JSON.stringify(name), '--pending', `--workflow-id=${name}`],
      )
      await paste(suggestedBy(started))
      const run = engine.get({ workflowId: name })
      await expect.poll(() => run.describe(), { timeout: 20_000 }).toMatchObject({ status: 'waiting' })
      const why = await cli.pawl('why', '--', name)
      expect(suggestedBy(why.stdout)).toBe((await run.why()).suggestion)
      await paste(suggestedBy(why.stdout).replace("'<payload as JSON>'", `'"done"'`))
      expect(await run.result()).toBe('done')
    })
    const { stdout } = await cli.pawl('start', 'waits', '"a"', '--workflow-id=-again')
    expect(await paste(suggestedBy(stdout))).toContain('-again')
    const { stdout: files } = await promisify(execFile)('ls', [cli.folder])
    expect(files).not.toContain('pwned')
    await engine.close()
  })
})
