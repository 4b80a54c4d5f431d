import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { open } from 'pawl'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CommandLine } from './command-line.ts'

const greeting = `
const hello = pawl.activity('hello', async (name) => 'hello ' + name)
const flaky = pawl.activity('flaky', { retry: { initial: '10ms' } }, async (_, ctx) => {
  if (ctx.attempt === 1) throw new Error('not yet')
  return ctx.attempt
})
const go = pawl.signal('go')
export const greet = pawl.workflow('greet', async (ctx, name) => {
  const text = await ctx.run(hello, name)
  await ctx.run(flaky)
  await ctx.sleep('5ms')
  return { text }
})
export const wait = pawl.workflow('wait', async (ctx) => ctx.wait(go))
export const fail = pawl.workflow('fail', async () => { throw new Error('no luck') })
export default [hello, flaky]
`

let cli: CommandLine

beforeEach(async () => {
  cli = await CommandLine.open()
})

afterEach(async () => {
  await cli[Symbol.asyncDispose]()
})

async function json(...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await cli.pawl(...args, '--json')
  expect(stderr).toBe('')
  expect(code).toBe(0)
  return JSON.parse(stdout) as Record<string, unknown>
}

async function served(): Promise<void> {
  const worker = cli.begin('worker', await cli.define('greeting.ts', greeting))
  await worker.prints('is working')
}

describe('without a worker', () => {
  test('a list of nothing says how to start a run, and makes no file', async () => {
    const { code, stdout } = await cli.pawl('runs')
    expect(code).toBe(0)
    expect(stdout).toMatch(/No runs in .* pawl start/)
    expect(existsSync(join(cli.folder, 'pawl.db'))).toBe(false)
    expect(await json('runs')).toEqual({ items: [] })
  })

  test('a started run is pending, and why says that a worker is missing', async () => {
    const started = await cli.pawl('start', 'greet', '"Ada"', '--workflow-id', 'ada')
    expect(started).toMatchObject({ code: 0 })
    expect(started.stderr).toMatch(/^note: No living worker has code for 'greet'/)
    const { stdout } = await cli.pawl('runs')
    expect(stdout).toMatch(/greet +ada +pending/)
    const why = await cli.pawl('why', 'ada')
    expect(why.stdout).toMatch(/Waiting for a worker that has code for 'greet'/)
    expect(why.stdout).toMatch(/pawl worker <file\.ts>/)
    expect(await json('why', 'ada')).toMatchObject({ reason: 'noWorker', type: 'greet' })
    expect((await cli.pawl('run', 'ada')).stdout).toMatch(/why +Waiting for a worker/)
  })

  test('the same key starts one run', async () => {
    const first = await json('start', 'greet', '"Ada"', '--key', 'k1')
    expect(first['isNew']).toBe(true)
    const again = await json('start', 'greet', '"Ada"', '--key', 'k1')
    expect(again).toEqual({ ...first, isNew: false })
    expect(await json('start', 'greet', '"Ada"', '--idempotency-key', 'k1')).toEqual({ ...first, isNew: false })
    const other = await cli.pawl('start', 'greet', '"Eve"', '--idempotency-key', 'k1')
    expect(other.code).toBe(1)
    expect(other.stderr).toMatch(/^error: .*\(RUN_ALREADY_EXISTS\)\n$/)
  })

  test('a list is narrowed by status and goes on from its cursor', async () => {
    for (const id of ['a', 'b', 'c']) await cli.pawl('start', 'greet', '1', '--workflow-id', id)
    expect((await cli.pawl('runs', '--status', 'failed')).stdout).toMatch(/No run matches/)
    const first = await json('runs', '--limit', '2')
    expect(first['items']).toMatchObject([{ workflowId: 'c' }, { workflowId: 'b' }])
    const rest = await json('runs', '--cursor', String(first['cursor']))
    expect(rest['items']).toMatchObject([{ workflowId: 'a' }])
  })
})

describe('with a worker', () => {
  test('it completes what was started before it, and the run shows its steps', async () => {
    await cli.pawl('start', 'greet', '"Ada"', '--workflow-id', 'ada')
    await served()
    const engine = await open(cli.store)
    expect(await engine.get({ workflowId: 'ada' }).result()).toEqual({ text: 'hello Ada' })
    await engine.close()
    const { stdout } = await cli.pawl('run', 'ada')
    expect(stdout).toMatch(/greet +completed/)
    expect(stdout).toMatch(/✓ hello .* activity/)
    expect(stdout).toMatch(/✓ flaky .* activity, 2 attempts\n +↳ attempt 1 failed: Error: not yet/)
    expect(stdout).toMatch(/✓ sleep/)
    expect(stdout).toMatch(/result +\{ text: 'hello Ada' \}/)
    expect(await json('why', 'ada')).toMatchObject({ reason: 'ended', status: 'completed' })
    const shown = await json('run', 'ada')
    expect(shown).toMatchObject({ run: { status: 'completed', output: { text: 'hello Ada' } } })
    expect(shown).not.toHaveProperty('why')
  })

  test('start --wait prints the result and nothing else', async () => {
    await served()
    const { code, stdout } = await cli.pawl('start', 'greet', '"Eve"', '--wait')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({ text: 'hello Eve' })
    const failed = await cli.pawl('start', 'fail', '--wait')
    expect(failed).toMatchObject({ code: 1, stdout: '' })
    expect(failed.stderr).toMatch(/error: run .* failed: Error: no luck \(RUN_FAILED\)\n$/)
  })

  test('a waiting run is signalled, another one is cancelled', async () => {
    await served()
    for (const id of ['one', 'two']) {
      await cli.pawl('start', 'wait', '--workflow-id', id)
      await cli.reaches(id, 'waiting')
    }
    expect(await json('why', 'one')).toMatchObject({ reason: 'signal', name: 'go' })
    expect((await cli.pawl('run', 'one')).stdout).toMatch(/… go .* open +signal/)
    expect(await cli.pawl('signal', 'one', 'go', '{"n": 1}')).toMatchObject({ code: 0 })
    expect(await cli.pawl('cancel', 'two', '--reason', 'enough')).toMatchObject({ code: 0 })
    const engine = await open(cli.store)
    expect(await engine.get({ workflowId: 'one' }).result()).toEqual({ n: 1 })
    await expect(engine.get({ workflowId: 'two' }).result()).rejects.toThrow('cancelled: enough')
    await engine.close()
    expect((await cli.pawl('run', 'two')).stdout).toMatch(/cancel requested .*enough/)
    expect((await cli.pawl('cancel', 'two')).stdout).toMatch(/has already ended: cancelled/)
  })

  test('SIGTERM drains it, and it ends well', async () => {
    const worker = cli.begin('worker', await cli.define('greeting.ts', greeting), '--id', 'w1')
    await worker.prints('worker w1 is working')
    worker.kill('SIGTERM')
    const { code, stdout } = await worker.ended
    expect(code).toBe(0)
    expect(stdout).toMatch(/workflows +fail, greet, wait\n +activities +flaky, hello/)
    expect(stdout).toMatch(/draining[^]*stopped/)
  })

  test('check says which runs the code in a file would not fit, and exits with 1 for them', async () => {
    await served()
    const { stdout } = await cli.pawl('start', 'wait', '--workflow-id', 'w1')
    expect(stdout).toContain('w1')
    await cli.reaches('w1', 'waiting')
    const same = await cli.pawl('check', await cli.define('same.ts', greeting))
    expect(same).toMatchObject({ code: 0, stderr: '' })
    expect(same.stdout).toContain('1 compatible, 0 incompatible')
    const edited = greeting.replace('ctx.wait(go)', "ctx.run('first', () => 1).then(() => ctx.sleep('1h'))")
    const file = await cli.define('edited.ts', edited)
    const { stdout: json } = await cli.pawl('check', file, '--json')
    expect(JSON.parse(json)).toMatchObject([{ workflowId: 'w1', verdict: 'moves' }])
    const broken = greeting.replace('ctx.wait(go)', 'new Promise((done) => setTimeout(done, 1))')
    const differs = await cli.pawl('check', await cli.define('broken.ts', broken))
    expect(differs.code).toBe(1)
    expect(differs.stdout).toMatch(/^incompatible {2}1 run of 'wait': w1$/m)
  })
})

describe('what is wrong is said in one line', () => {
  const cases = [
    { name: 'input that is not JSON', args: ['start', 'greet', '{bad'], code: 2, says: /not JSON/ },
    {
      name: 'faults 4.9: a number that is none',
      args: ['start', 'greet', '{"n": [1e999]}'],
      code: 2,
      says: /1e999 is too large for a number/,
    },
    { name: 'an unknown command', args: ['nope'], code: 2, says: /unknown command 'nope'/ },
    { name: 'an argument left out', args: ['start'], code: 2, says: /missing required argument/ },
    { name: 'a store of no kind', args: ['runs', '--store', 'nope:x'], code: 2, says: /sqlite:/ },
    {
      name: 'a store nobody else sees',
      args: ['start', 'a', '--store', 'memory:'],
      code: 2,
      says: /ends with its process/,
    },
    { name: 'a database that is not there', args: ['why', 'x'], code: 2, says: /there is no file/ },
    {
      name: 'a file that is not there',
      args: ['worker', 'nope.ts'],
      code: 2,
      says: /there is no file nope.ts/,
    },
    {
      name: 'a folder that is no graph',
      args: ['submit', '.'],
      code: 2,
      says: /\. cannot be read: EISDIR\. Expected a graph/,
    },
    {
      name: 'a delay that is none',
      args: ['start', 'a', '--delay', 'soon'],
      code: 2,
      says: /delay "soon"/,
    },
  ] as const

  test.each(cases)('$name', async ({ args, code, says }) => {
    const ended = await cli.pawl(...args)
    expect(ended).toMatchObject({ code, stdout: '' })
    expect(ended.stderr).toMatch(says)
    expect(ended.stderr).toMatch(/^error: /)
  })

  test('faults 4.9: a device that has no end', async () => {
    const { code, stderr } = await cli.pawl('submit', '/dev/zero')
    expect(code).toBe(1)
    expect(stderr).toMatch(/\/dev\/zero has 1 problem[^]*more than 1000000 bytes/)
  })

  test('an id nobody has', async () => {
    await cli.pawl('start', 'greet')
    const { code, stderr } = await cli.pawl('run', 'nobody')
    expect(code).toBe(1)
    expect(stderr).toMatch(/^error: there is no run with workflow id 'nobody'.* \(RUN_NOT_FOUND\)\n$/)
    const debug = await cli.pawl('run', 'nobody', '--debug')
    expect(debug.stderr).toMatch(/\n +at /)
  })

  test('a file without definitions, and two definitions of one name', async () => {
    const empty = await cli.pawl('worker', await cli.define('empty.ts', 'export const n = 1'))
    expect(empty.code).toBe(1)
    expect(empty.stderr).toMatch(/exports no workflow and no activity.*\(DEFINITION_INVALID\)\n$/)
    const code = `export const a = pawl.workflow('same', async () => {})`
    const files = [await cli.define('a.ts', code), await cli.define('b.ts', code)]
    const twice = await cli.pawl('worker', ...files)
    expect(twice.code).toBe(1)
    expect(twice.stderr).toMatch(/workflow 'same', in a\.ts and b\.ts.*\(DEFINITION_CONFLICT\)\n$/)
  })
})

test('help shows examples, and the version is the package’s', async () => {
  const { code, stdout } = await cli.pawl('--help')
  expect(code).toBe(0)
  expect(stdout).toMatch(/Usage: pawl[^]*Examples:/)
  expect((await cli.pawl('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
})

test('the demo kills a worker, loses nothing, and says so', { timeout: 60_000 }, async () => {
  const { code, stdout, stderr } = await cli.pawl('demo')
  expect(stderr).toBe('')
  expect(code).toBe(0)
  expect(stdout).toMatch(/SIGKILL to worker-1 during pack_parcel/)
  expect(stdout).toMatch(/Waiting for signal 'approval'/)
  for (const step of ['check_stock', 'reserve_items', 'quote_shipping', 'send_receipt']) {
    expect(stdout).toMatch(new RegExp(`${step} +once +once\\n`))
  }
  expect(stdout).toMatch(/charge_card +2 times +once/)
  expect(stdout).toMatch(/no recorded step ran again/)
  const store = /--store (\S+)/.exec(stdout)?.[1] ?? ''
  expect((await cli.pawl('run', 'order-A-1001', '--store', store)).stdout).toMatch(/✓ pack_parcel/)
})
