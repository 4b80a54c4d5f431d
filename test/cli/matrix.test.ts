// Every verb on every store: what it prints, the code it ends with, and that it ends. The same for small programs that open a
// store, write something and close it.
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { until, useStore } from '../workflows/each-store.ts'
import { CommandLine, type Ended } from './command-line.ts'

const shop = `
const go = pawl.signal('go')
const stage = pawl.query('stage')
const add = pawl.update('add')
export const order = pawl.workflow('order', async (ctx, cents) => {
  let sum = cents
  ctx.on(stage, () => sum)
  ctx.on(add, (more) => (sum += more))
  await ctx.run('pay', () => cents)
  await ctx.wait(go)
  return sum
})
export const fails = pawl.workflow('fails', async (ctx) =>
  ctx.run('bad', { retry: 'none' }, () => { throw new Error('the shop is closed') }))
`
const graph = `
name: report
nodes:
  - id: first
    handler: input
`

/** A verb takes longer than this only if it never ends. */
const LIMIT_MS = 30_000

/** What is typed, the code it ends with, and what it prints on either stream. */
type Row = readonly [args: string, code: number, prints: RegExp]

const attributes = '--attribute region=eu --attribute tags=x --attribute tags=y'

/** Nobody works yet: everything is kept, and said. */
const alone: readonly Row[] = [
  [`start order 5 --workflow-id a ${attributes} --priority 3`, 0, /started[^]*No living/],
  ['start order 5 --workflow-id a --reuse allowIfEnded', 1, /RUN_ALREADY_EXISTS/],
  ['start order 5 --reuse sometimes', 2, /'allowIfEnded'/],
  ['start order 1 --workflow-id p --pending', 0, /is pending/],
  ['runs --attribute region=eu', 0, /order +a +pending/],
  ['runs --attribute region=us', 0, /No run matches/],
  ['runs --attribute tags=y --attribute region=eu', 0, /order +a +pending/],
  ['runs --attribute tags=z', 0, /No run matches/],
  ['runs --attribute tags=x --attribute tags=y', 2, /Give 'tags' once/],
  ['runs --status lost', 2, /INPUT_INVALID/],
  ['runs --limit many', 2, /whole number/],
  ['runs --limit many --json', 2, /"code": "USAGE"/],
  ['run a', 0, /priority 3[^]*region: 'eu'[^]*tags: \[ *'x', 'y' *\]/],
  ['why a', 0, /^Waiting for a worker/],
  ['why nobody --json', 1, /"code": "RUN_NOT_FOUND"/],
  ['submit report.yaml', 0, /report/],
  ['definitions report', 0, /VERSION[^]*\n +1 /],
  ['check other.ts', 1, /no code +2 runs of 'order'[^]*2 without code/],
]

/** Of a run that waits for a signal, and takes an update and a query meanwhile. */
const waiting: readonly Row[] = [
  ['steps a', 0, /KEY[^]*step:pay#1/],
  ['query a stage --code shop.ts', 0, /^5$/m],
  ['query a stag --code shop.ts', 1, /QUERY_NOT_FOUND.*|it has: stage/],
  ['update a add 2 --timeout 20s', 0, /^7$/m],
  ['signal a og', 0, /is waiting for 'go'/],
  ['check shop.ts', 0, /2 runs in progress[^]*2 compatible/],
  ['signal a go', 0, /sent/],
]

const ended: readonly Row[] = [
  ['run a', 0, /result +7/],
  ['update a add 1', 1, /RUN_ENDED/],
  ['retry a', 1, /RUN_ENDED/],
  ['export --workflow-id a', 0, /"pawl"/],
  ['trigger p', 0, /run/],
]

const failing: readonly Row[] = [
  ['start fails --workflow-id f --wait', 1, /RUN_FAILED/],
  ['why f', 0, /^Failed: [^]*the shop is closed[^]*pawl retry f$/m],
  ['fork f bad --result bad=1', 0, /forked run/],
  ['fork f bad --result worse=1', 2, /no step or child 'worse'/],
  ['fork f bad --result bad=text', 2, /--result bad: It is not JSON/],
  ['fork f bad --result bad=1 --json', 0, /"from": "/],
  ['retry f', 0, /is retried/],
]

const others: readonly Row[] = [
  ['discard f m', 1, /RUN_ENDED/],
  ['reset f bad', 0, /is reset/],
  ['resolve nothing 1', 1, /TOKEN_INVALID/],
  ['terminate t --reason enough', 0, /will be terminated/],
  ['schedules', 0, /No schedules/],
  ['schedule trigger nightly', 1, /RUN_NOT_FOUND/],
  ['schedule stop nightly', 2, /expected describe, update, pause/],
  ['schedule update nightly --every 5m', 1, /RUN_NOT_FOUND/],
  ['builds', 0, /build/i],
  ['migrate p --to nothing', 1, /RUN_ENDED/],
]

describe.each(['sqlite', 'postgres', 'file', 'radosgw'] as const)('users D1: on %s', (kind) => {
  const bench = useStore(kind)
  let cli: CommandLine

  beforeEach(async () => {
    cli = await CommandLine.open()
    cli.environment = { PAWL_STORE: bench.url, ...bench.environment }
    await cli.define('shop.ts', shop)
    await cli.define('other.ts', `export const other = pawl.workflow('other', async () => 1)`)
    await writeFile(join(cli.folder, 'report.yaml'), graph)
  })
  afterEach(async () => {
    await cli[Symbol.asyncDispose]()
  })

  async function ends(program: Promise<Ended>, what: string): Promise<Ended> {
    const late = new Promise<never>((_, reject) => {
      setTimeout(() => reject(new Error(`${what} did not end`)), LIMIT_MS).unref()
    })
    return Promise.race([program, late])
  }

  async function each(rows: readonly Row[]): Promise<void> {
    // What is wrong with what was typed has nothing to do with the store.
    for (const [args, code, prints] of rows.filter((row) => kind === 'sqlite' || row[1] !== 2)) {
      const done = await ends(cli.pawl(...args.split(' ')), args)
      expect(done.stdout + done.stderr, args).toMatch(prints)
      expect(done.code, args).toBe(code)
    }
  }

  async function reaches(workflowId: string, status: string): Promise<void> {
    const engine = await bench.engine()
    const run = engine.get({ workflowId })
    await until(
      () => run.describe(),
      (seen) => seen.status === status,
    )
    await bench.closeEngines()
  }

  test('every verb says what it did, and ends with the right code', {
    timeout: 300_000,
  }, async () => {
    await each(alone)
    const worker = cli.begin('worker', 'shop.ts')
    await worker.prints('is working')
    await reaches('a', 'waiting')
    await each(waiting)
    await reaches('a', 'completed')
    await each(ended)
    await reaches('p', 'waiting')
    await each([['pause p --note look', 0, /will pause/]])
    await reaches('p', 'paused')
    await each([
      ['why p', 0, /^Paused by hand: look/],
      ['resume p --result 1', 2, /--step/],
      ['resume p', 0, /is resumed/],
      ['cancel p --reason enough --json', 0, /"workflowId": "p"/],
    ])
    await reaches('p', 'cancelled')
    await each(failing)
    await each([['start order 1 --workflow-id t', 0, /started/]])
    await reaches('f', 'failed')
    await each(others)
    await reaches('t', 'failed')
    const objects = kind === 'file' || kind === 'radosgw'
    await each([['doctor', objects ? 0 : 1, objects ? /problem|out of date/i : /NOT_SUPPORTED/]])
    worker.kill('SIGTERM')
    expect((await ends(worker.ended, 'the worker')).code).toBe(0)
  })

  test('small programs that open, write and close end by themselves', async () => {
    const pawl = pathToFileURL(join(import.meta.dirname, '../../src/index.ts')).href
    const program = join(cli.folder, 'write.ts')
    await writeFile(
      program,
      `import { open, signal, workflow } from '${pawl}'
const store = await open(process.env.PAWL_STORE)
const run = await store.start(workflow.declare('any'), undefined, { workflowId: 'small' })
await run.signal(signal('go'))
await run.cancel('enough')
await store.close()
console.log('closed', run.isNew)`,
    )
    const env = { ...process.env, ...cli.environment }
    const run = promisify(execFile)
    const { stdout } = await run(process.execPath, [program], { env, timeout: LIMIT_MS })
    expect(stdout).toBe('closed true\n')
  })
})
