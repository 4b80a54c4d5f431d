// I8, V10, O8, W4: operations on many runs, and what a store or server tells of itself, with --store and --url.
import { type Engine, open, workflow } from 'pawl'
import { type Server, server } from 'pawl/server'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CommandLine } from './command-line.ts'

const source = `
export const order = pawl.workflow('order', async (ctx) => ctx.wait(pawl.signal('go')))
`

let cli: CommandLine
let engine: Engine
let api: Server

beforeEach(async () => {
  cli = await CommandLine.open()
  await cli.define('shop.ts', source)
  engine = await open(cli.store)
  api = server(engine)
})
afterEach(async () => {
  await api.close()
  await engine.close()
  await cli[Symbol.asyncDispose]()
})

describe.each(['--store', '--url'])('with %s', (flag) => {
  beforeEach(async () => {
    cli.environment = flag === '--store' ? { PAWL_STORE: cli.store } : { PAWL_URL: (await api.listen({ port: 0 })).url }
  })

  test('V10: a batch shows what it would do, does exactly that, and says how it ended', async () => {
    for (const id of ['a', 'b', 'c']) await cli.pawl('start', 'order', '--workflow-id', id, '--attribute', 'region=eu')
    const asked = await cli.pawl('batch', 'cancel', '--workflow', 'order', '--limit', '10')
    expect(asked).toMatchObject({ code: 2, stdout: '' })
    expect(asked.stderr).toMatch(/no terminal to ask on. Add --yes to do it, or --dry-run/)
    const dry = await cli.pawl('batch', 'cancel', '--workflow', 'order', '--limit', '2', '--dry-run')
    expect(dry.stdout).toMatch(
      /^cancel 2 runs\n {2}by status +pending 2\n {2}by workflow +order 2\n {2}c +pending\n {2}b/,
    )
    const none = await cli.pawl('batch', 'cancel', '--workflow', 'nothing', '--limit', '2', '--yes')
    expect(none).toMatchObject({ code: 0, stdout: 'No run matches, so nothing is to be done.\n' })
    const idle = await cli.pawl('batch', 'pause', '--workflow', 'order', '--limit', '5', '--yes')
    expect(idle.stdout).toMatch(/^pause 3 runs[^]*waits for a worker: any does. Start one: [^]*worker/)

    const worker = engine.work({ signals: false })
    const cancelled = await cli.pawl('batch', 'cancel', '--attribute', 'region=eu', '--limit', '2', '--yes', '--json')
    expect(cancelled.code).toBe(0)
    expect(JSON.parse(cancelled.stdout)).toMatchObject({ operation: 'cancel', state: 'done', matched: 2, done: 2 })
    expect(await engine.count({ workflow: 'order', status: 'cancelled' })).toBe(2)
    const { id } = JSON.parse(cancelled.stdout) as { id: string }
    expect((await cli.pawl('batch', 'show', id)).stdout).toMatch(/^cancel 2 runs: done\n {2}done +2\n/)
    const listed = await cli.pawl('batch', 'list')
    expect(listed.stdout).toMatch(/OPERATION +STATE[^]*cancel +done +2 of 2/)
    expect(await cli.pawl('batch', 'stop', 'nothing')).toMatchObject({ code: 2 })
    expect(await cli.pawl('batch', 'signal', '--limit', '1')).toMatchObject({ code: 2 })
    await worker.drain()
  })

  test('O8, I4, W4: health, workers and the audit trail', async () => {
    const alone = await cli.pawl('workers')
    expect(alone.stdout).toMatch(/^No worker uses this store. Start one: .*worker <file>/)
    await cli.pawl('start', 'order', '--workflow-id', 'a')
    const ill = await cli.pawl('health')
    expect(ill).toMatchObject({ code: 1 })
    expect(ill.stdout).toMatch(/^degraded[^]*0 alive of 0[^]*1 run in progress[^]*no worker is alive/)
    const worker = engine.work({ signals: false, id: 'w1' })
    await worker.ready
    const well = await cli.pawl('health', '--json')
    expect(well).toMatchObject({ code: 0 })
    expect(JSON.parse(well.stdout)).toMatchObject({ status: 'healthy', workers: { alive: 1, all: 1 } })
    expect((await cli.pawl('workers')).stdout).toMatch(/WORKER +STATE[^]*w1 +alive +default/)
    const elsewhere = await engine.start(workflow.declare('order'), undefined, { queue: 'mail' })
    expect((await cli.pawl('queues')).stdout).toMatch(/QUEUE +WAITING[^]*mail +1 run +due .* none: start one/)
    await elsewhere.terminate('over')
    expect((await cli.pawl('queues', '--json')).stdout).not.toContain('"mail"')
    await cli.pawl('batch', 'cancel', '--limit', '1', '--dry-run', '--reason', 'closing time')
    const audit = await cli.pawl('audit')
    expect(audit.stdout).toMatch(/WHEN +WHO[^]*local +batches.preview +- +done +closing time/)
    expect(JSON.parse((await cli.pawl('audit', '--limit', '1', '--json')).stdout)).toMatchObject({
      items: [{ by: 'local' }],
    })
    expect((await cli.pawl('audit', '--operation', 'tokens.')).stdout).toBe('No change of the audit trail matches.\n')
    await worker.drain()
  })
})

test('O8: an audit trail in which nobody did anything says so', async () => {
  expect(await cli.pawl('audit', '--store', cli.store)).toMatchObject({
    code: 0,
    stdout: 'Nobody has changed anything through a server.\n',
  })
})
