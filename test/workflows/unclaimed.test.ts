// Runs that somebody stops while no worker is there that could take them.
import { CancelledError, signal, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { historyOf, kinds, rejection, useStore, waitsFor } from './each-store.ts'

const go = signal<void>('go')
const waits = workflow('waits', async (ctx) => ctx.wait(go))
const unknown = workflow.declare<void, void>('unknown')

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('users: a run that nobody has begun is cancelled, and terminated, without a worker', async () => {
    const engine = await bench.engine()
    const cancelled = await engine.start(unknown, undefined, { workflowId: 'c' })
    await cancelled.signal(go)
    await cancelled.cancel('changed my mind')
    expect(await rejection(cancelled.result())).toEqual(new CancelledError('changed my mind'))
    const terminated = await engine.start(unknown)
    await terminated.terminate('enough')
    expect(await terminated.describe()).toMatchObject({
      status: 'failed',
      failure: { type: 'Terminated', message: 'enough' },
    })
    const late = await engine.start(unknown, undefined, { delay: '1h' })
    await late.cancel()
    expect((await late.describe()).status).toBe('cancelled')
    const types = (await historyOf(cancelled)).map(({ type }) => type)
    expect(types).toEqual(['RunStarted', 'SignalReceived', 'CancelRequested', 'RunCancelled'])
  })

  test('what has begun is asked by a worker when it is cancelled, and not when it is terminated', async () => {
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

  test('a parent hears of a child that was stopped so, and children of a parent', async () => {
    const parent = workflow('parent', async (ctx) =>
      ctx.child(unknown).catch((e: Error) => e.message),
    )
    const engine = await bench.serve({ workflows: [parent] })
    const run = await engine.start(parent)
    const { runId: child } = await waitsFor(run, 'child')
    await engine.get(child).cancel('nobody wants it')
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
      expect(ends).toHaveLength(1)
    }
  })
})
