// Runs that are terminated or cancelled while there is no worker that could claim them.
import { activity, graph, machine, signal, typed, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { Gate, heard, historyOf, kinds, useStore, waitsFor } from './each-store.ts'

const go = signal<void>('go')
const waits = workflow('waits', async (ctx) => ctx.wait(go))
const unknown = workflow.declare<void, void>('unknown')

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('users: a run that nobody could take is terminated without a worker', async () => {
    const engine = await bench.engine()
    const run = await engine.start(unknown, undefined, { workflowId: 'c' })
    await run.signal(go)
    await run.terminate('enough')
    expect(await run.describe()).toMatchObject({
      status: 'failed',
      failure: { type: 'Terminated', message: 'enough' },
    })
    const late = await engine.start(unknown, undefined, { delay: '1h' })
    await late.terminate('enough')
    expect((await late.describe()).status).toBe('failed')
    const types = (await historyOf(run)).map(({ type }) => type)
    expect(types).toEqual(['RunStarted', 'SignalReceived', 'RunFailed'])
  })

  test('users: a run that has not begun is cancelled without a worker', async () => {
    const engine = await bench.engine()
    const run = await engine.start(unknown, undefined, { workflowId: 'c' })
    await run.signal(go)
    await run.cancel('changed my mind')
    await expect(run.result()).rejects.toThrow('changed my mind')
    const types = (await historyOf(run)).map(({ type }) => type)
    expect(types).toEqual(['RunStarted', 'SignalReceived', 'CancelRequested', 'RunCancelled'])
    for (const options of [{ delay: '1h' }, { pending: true }] as const) {
      const late = await engine.start(unknown, undefined, options)
      await late.cancel()
      expect((await late.describe()).status).toBe('cancelled')
    }
    // A worker that comes later finds nothing to do, and its code is never called.
    let called = 0
    const code = workflow('unknown', async () => {
      called++
    })
    const { worker } = await bench.worker({ workflows: [code] })
    await worker.drain()
    expect(called).toBe(0)
  })

  test('a run of any style that is cancelled before it began ends without its code, and replays to that end', async () => {
    const noop = activity('noop', async () => 1)
    const styles = [
      workflow('function', async (ctx) => ctx.run(noop)),
      graph<void>('graph').step('first', () => 1),
      machine('machine', {
        input: typed<void>(),
        state: typed<string>(),
        output: typed<number>(),
        activities: {},
      }).on({ start: (_, act) => ['begun', act.complete(1)], activityCompleted: {} }),
    ] as const
    const engine = await bench.engine({ workflows: styles, activities: [noop] })
    for (const style of styles) {
      const run = await engine.start<never, unknown>(style, undefined as never)
      await run.cancel('too late')
      expect((await run.describe()).status, style.name).toBe('cancelled')
    }
  })

  test('what has begun is terminated by the call, and asked by a worker when it is cancelled', async () => {
    const { engine, worker } = await bench.worker({ workflows: [waits] })
    const [asked, ended] = await engine.startMany(waits, [{}, {}])
    if (!asked || !ended) throw new Error('two were started')
    for (const run of [asked, ended]) await waitsFor(run, 'signal')
    await worker.drain()
    await asked.cancel('politely')
    expect((await asked.describe()).status).toBe('waiting')
    await ended.terminate('enough')
    expect((await ended.describe()).status).toBe('failed')
    const other = await bench.serve({ workflows: [waits] })
    await expect(other.get(asked.runId).result()).rejects.toThrow('politely')
  })

  test('a parent hears of a child that was ended so', async () => {
    const parent = workflow('parent', async (ctx) => ctx.child(unknown).catch((error: Error) => error.message))
    const engine = await bench.serve({ workflows: [parent] })
    const run = await engine.start(parent)
    const { runId: child } = await waitsFor(run, 'child')
    await engine.get(child).terminate('nobody wants it')
    expect(await run.result()).toMatch(/nobody wants it/)
  })

  test('a worker that comes at that moment and the client do not both end it', async () => {
    const engine = await bench.engine()
    const runs = await engine.startMany(
      waits,
      Array.from({ length: 20 }, () => ({})),
    )
    const stops = runs.map((run) => run.terminate('enough'))
    await bench.serve({ workflows: [waits] })
    await Promise.all(stops)
    for (const run of runs) {
      await expect(run.result()).rejects.toThrow('enough')
      const ends = (await historyOf(run)).filter(({ type }) => type === 'RunFailed')
      expect(ends, JSON.stringify(await historyOf(run))).toHaveLength(1)
    }
  })

  test('users: a run that no worker holds is ended although a worker seems alive, as after kill -9', async () => {
    const busy = new Gate()
    const done = new Gate()
    const fills = workflow('fills', async (ctx) => {
      await ctx.run('first', () => 1)
      await ctx.run('hold', { startToClose: '1h' }, async () => {
        busy.open()
        await done.opened
      })
    })
    // A worker that holds all it may stays alive and takes nothing else, like one that was just killed.
    const { engine: living } = await bench.worker({ workflows: [waits, fills] }, { concurrency: { workflows: 1 } })
    const engine = await bench.engine()
    const [begun, asked] = await engine.startMany(waits, [{}, {}])
    if (!begun || !asked) throw new Error('two were started')
    for (const run of [begun, asked]) await waitsFor(run, 'signal')
    await living.start(fills)
    await busy.opened
    const early = await engine.start(waits)
    const late = await engine.start(waits)
    expect((await early.why()).reason).toBe('ready')
    const failed = heard(engine, 'run.failed')
    await early.terminate('enough')
    expect(await early.describe()).toMatchObject({ status: 'failed', failure: { type: 'Terminated' } })
    expect(await failed).toMatchObject({ runId: early.runId })
    await late.cancel('changed my mind')
    expect((await late.describe()).status).toBe('cancelled')
    await begun.terminate('enough')
    expect((await begun.describe()).status).toBe('failed')
    // The code of this one may clean up, so that only a worker can end it.
    await asked.cancel('politely')
    expect((await asked.describe()).status).toBe('waiting')
    done.open()
    await expect(asked.result()).rejects.toThrow('politely')
  })
})
