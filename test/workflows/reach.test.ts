// What a run and its step bodies do with other runs: start, signal and cancel them.
import { activity, signal, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { historyOf, kinds, until, useStore } from './each-store.ts'

const go = signal<string>('go')
const waits = workflow('waits', async (ctx) => ctx.wait(go))

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('api gap 3: an activity starts and signals other runs, once however often it is tried', async () => {
    const tells = activity('tells', { retry: { initial: 5 } }, async (_: void, ctx) => {
      const started = await ctx.client.start(waits)
      // Whatever else another attempt does meanwhile.
      if (ctx.attempt === 2) await ctx.client.signal({ workflowId: 'bystander' }, go, 'hello')
      await ctx.client.signal(started.runId, go, 'from a step')
      const again = { workflowId: 'order', reuse: 'allow' } as const
      await ctx.client.start(waits, undefined, again)
      await ctx.client.signal({ workflowId: 'known' }, go, 'hello')
      if (ctx.attempt < 3) throw new Error('once more')
      return started
    })
    const tries = workflow('tries', async (ctx) => ctx.run(tells))
    const engine = await bench.serve({ workflows: [waits, tries], activities: [tells] })
    const known = await engine.start(waits, undefined, { workflowId: 'known' })
    const bystander = await engine.start(waits, undefined, { workflowId: 'bystander' })
    const { runId, isNew } = await engine.execute(tries)
    expect(isNew).toBe(false)
    expect(await engine.get(runId).result()).toBe('from a step')
    expect(await known.result()).toBe('hello')
    expect(await bystander.result()).toBe('hello')
    const received = (await historyOf(known)).filter(({ type }) => type === 'SignalReceived')
    expect(received).toHaveLength(1)
    expect(await engine.count({ workflow: waits })).toBe(4)
  })

  test('api gap 7: a workflow starts a run that outlives it, and cancels one that is not its own', async () => {
    const boss = workflow('boss', async (ctx) => {
      const { runId } = await ctx.start(waits, undefined, { workflowId: 'worker bee' })
      await ctx.cancelRun({ workflowId: 'idler' }, 'enough')
      return runId
    })
    const engine = await bench.serve({ workflows: [waits, boss] })
    const idler = await engine.start(waits, undefined, { workflowId: 'idler' })
    const runId = await engine.execute(boss)
    await expect(idler.result()).rejects.toThrow('enough')
    const bee = engine.get({ workflowId: 'worker bee' })
    await until(
      () => bee.describe(),
      ({ status }) => status === 'waiting',
    )
    expect(bee.runId).toBe(runId)
    await bee.signal(go, 'home')
    expect(await bee.result()).toBe('home')
  })

  test('an activity cancels another run', async () => {
    const stops = activity('stops', async (id: string, ctx) => ctx.client.cancel(id, 'by a step'))
    const asks = workflow('asks', async (ctx, id: string) => ctx.run(stops, id))
    const engine = await bench.serve({ workflows: [waits, asks], activities: [stops] })
    const idler = await engine.start(waits)
    await engine.execute(asks, idler.runId)
    await expect(idler.result()).rejects.toThrow('by a step')
  })
})
