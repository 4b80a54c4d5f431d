// What the command line says when a run, a file of definitions or a store is not as expected, and how it ends.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CommandLine, type Program } from './command-line.ts'

const shop = `
const go = pawl.signal('go')
export const order = pawl.workflow('order', async (ctx) => {
  await ctx.run('pay', () => 1)
  await ctx.wait(go)
})
export const fetches = pawl.workflow('fetches', async () => {
  await new Promise((resolve) => setTimeout(resolve, 1))
})
`

let cli: CommandLine

beforeEach(async () => {
  cli = await CommandLine.open()
})

afterEach(async () => {
  await cli[Symbol.asyncDispose]()
})

async function served(code = shop): Promise<Program> {
  const worker = cli.begin('worker', await cli.define('shop.ts', code))
  await worker.prints('is working')
  return worker
}

async function stopped(worker: Program): Promise<void> {
  worker.kill('SIGTERM')
  await worker.ended
}

describe('start --wait', () => {
  test('api gap 1: ends with 1 and what why knows if the code pauses the run', async () => {
    await served()
    const { code, stdout, stderr } = await cli.pawl('start', 'fetches', '--wait')
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/error: run \S+ has not ended[^]*Paused: [^]*cannot see/)
    expect(stderr).toMatch(/another build tries again\. \(NOT_ENDED\)$/m)
    const json = await cli.pawl('start', 'fetches', '--wait', '--json')
    expect(JSON.parse(json.stderr)).toMatchObject({
      error: { code: 'NOT_ENDED', details: { why: { reason: 'paused' } } },
    })
  })

  test('users friction 7: says what the run waits for, once, and goes on waiting', async () => {
    const waiting = cli.begin('start', 'order', '--workflow-id', 'o', '--wait')
    await waiting.complains('note: No living worker has code for')
    await served()
    await waiting.complains("note: Waiting for signal 'go'")
    await cli.pawl('pause', 'o', '--note', 'lunch')
    await waiting.complains('note: Paused by hand: lunch')
    await cli.pawl('resume', 'o')
    await cli.pawl('signal', 'o', 'go')
    const { code, stderr } = await waiting.ended
    expect(code).toBe(0)
    expect(stderr.match(/Waiting for signal 'go'/g)).toHaveLength(1)
  })
})

describe('a run that was resumed', () => {
  test('users D9: cannot be reset before a worker has it, and is not called paused then', async () => {
    const worker = await served()
    await cli.pawl('start', 'order', '--workflow-id', 'o')
    await cli.reaches('o', 'waiting')
    await cli.pawl('pause', 'o')
    await cli.reaches('o', 'paused')
    expect((await cli.pawl('why', 'o')).stdout).toMatch(/^Paused by hand\.\n/)
    await stopped(worker)
    expect((await cli.pawl('resume', 'o')).stdout).toMatch(/^run \S+ is resumed\n$/)
    const { code, stderr } = await cli.pawl('reset', 'o', 'pay')
    expect(code).toBe(1)
    expect(stderr).toMatch(/has been resumed; only a run that has ended or is paused can be reset/)
  })

  test.each([
    ['resume', /is resumed/],
    ['retry', /is retried/],
  ])('users D9: %s of a mismatch says that the same code pauses it again', async (verb, says) => {
    await stopped(await waitingOrder())
    await served(shop.replace("'pay'", "'charge'"))
    await cli.pawl('signal', 'o', 'go')
    await cli.reaches('o', 'paused')
    const { code, stdout, stderr } = await cli.pawl(verb, 'o')
    expect(code).toBe(0)
    expect(stdout).toMatch(says)
    expect(stderr).toMatch(/^note: the same code will pause it again\. Fix the code as the failure says/)
  })

  async function waitingOrder(): Promise<Program> {
    const worker = await served()
    await cli.pawl('start', 'order', '--workflow-id', 'o')
    await cli.reaches('o', 'waiting')
    return worker
  }
})

describe('a file of definitions that cannot be loaded', () => {
  const workflow = "export const a = pawl.workflow('a', async () => 1)"
  const cases = [
    [
      'throws',
      `${workflow}\nthrow new TypeError('DATABASE_URL is not set')`,
      /bad\.ts throws while it is loaded: TypeError: DATABASE_URL is not set \(file:\S+bad\.ts:3\)/,
    ],
    ['throws what is no error', "throw 'no'", /bad\.ts throws while it is loaded: no \(/],
    [
      'users stumble 9: imports .js where there is .ts',
      "import './helper.js'",
      /helper\.js' imported from \S+\. There is helper\.ts: import it by this name/,
    ],
    ['imports without an ending', "import './helper'", /There is helper\.ts: import it by this name/],
    [
      'imports what is not there',
      "import './nothing.ts'",
      /bad\.ts cannot be loaded: Cannot find module '\S+nothing\.ts' imported from \S+bad\.ts\. \(/,
    ],
    [
      'has an option that cannot be',
      "export const a = pawl.activity('a', { startToClose: 'soon' }, () => 1)",
      /bad\.ts throws while it is loaded: PawlError: option `startToClose` of activity 'a'/,
    ],
  ] as const

  test.each(cases)('%s', async (_name, code, says) => {
    await writeFile(join(cli.folder, 'helper.ts'), '')
    const file = await cli.define('bad.ts', code)
    const ended = await cli.pawl('worker', file)
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(says)
    expect(ended.stderr).toMatch(/^error: [^\n]*\(DEFINITION_INVALID\)\n$/)
    expect(existsSync(join(cli.folder, 'pawl.db'))).toBe(false)
  })
})

describe('a store that is not there', () => {
  const stores = [
    ['sqlite:./missing.db', /there is no file \S+missing\.db/],
    ['file:./missing', /there is no folder \S+missing,/],
    ['sqlite:./no/missing.db', /the folder \S+no does not exist/],
    ['sqlit:./missing.db', /there is no store for 'sqlit:'\. Expected one of 'sqlite:/],
  ] as const
  const verbs = ['run x', 'why x', 'steps x', 'schedules', 'definitions x', 'builds', 'export']
  const [missing] = stores
  const cases = [
    ...stores.flatMap((store) => ['runs', 'check a.ts'].map((verb) => [verb, ...store] as const)),
    ...[...verbs, 'query x y --code a.ts'].map((verb) => [verb, ...missing] as const),
  ]

  test.each(cases)('%s on %s ends with 2, and makes nothing', async (verb, store, says) => {
    await cli.define('a.ts', "export const a = pawl.workflow('a', async () => 1)")
    const { code, stdout, stderr } = await cli.pawl(...verb.split(' '), '--store', store)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(says)
    expect(stderr).toMatch(/^error: [^\n]*\(STORE_URL_INVALID\)\n$/)
    for (const made of ['missing.db', 'missing', 'no', 'pawl.db'])
      expect(existsSync(join(cli.folder, made))).toBe(false)
  })
})

test('users, also: a RunError that nobody catches is short, and leads to the line that threw', async () => {
  const program = `
const charge = pawl.activity('charge', { retry: { maxAttempts: 2, initial: '1ms' } }, async () => {
  throw new Error('no funds')
})
const item = pawl.workflow('ship_item', (ctx) => ctx.run(charge))
const order = pawl.workflow('order', async (ctx) => { await ctx.child(item, undefined, { key: 'gone' }) })
const engine = await pawl.open('memory:', { workflows: [order, item], activities: [charge] })
engine.work()
const run = await engine.start(order, undefined, { workflowId: 'order-3' })
await run.result()
`
  const file = await cli.define('program.ts', program)
  const failed = promisify(execFile)(process.execPath, [file], { cwd: cli.folder })
  const { stderr } = await failed.then(
    () => expect.unreachable(),
    (error: unknown) => error as { stderr: string },
  )
  expect(stderr).toMatch(/^RunError: run 'order-3' failed: RunError: child 'gone' failed: ActivityError: /m)
  expect(stderr).toMatch(/Error: no funds\n +at \S*.*program\.ts:4:9/)
  expect(stderr).not.toContain('/src/')
  expect(stderr.split('\n').length).toBeLessThan(25)
})

test.each(['dev', 'worker', 'check', 'doctor'])('the help of %s names no server, which it refuses', async (verb) => {
  const { code, stdout } = await cli.pawl(verb, '--help')
  expect(code).toBe(0)
  expect(stdout).toContain('--store')
  expect(stdout).not.toMatch(/--url|--token-file/)
})
