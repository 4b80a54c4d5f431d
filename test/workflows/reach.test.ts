// What a run and its step bodies do with other runs: start, signal and cancel them.
import { type ActivityContext, activity, graph, type PawlError, signal, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { historyOf, kinds, until, useStore, waitsFor } from './each-store.ts'

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

  test('api gap 3: so does a step of a graph, where the run is held and as a task', async () => {
    const caller = graph('caller')
      .step('near', async ({ client }) => (await client.start(waits)).runId)
      .step('far', { after: ['near'], queue: 'far' }, async ({ client, results }) => {
        await client.signal(results.near, go, 'from a graph')
        return results.near
      })
    const queues = ['default', 'far']
    const engine = await bench.serve({ workflows: [waits, caller] }, { queues })
    const { far } = await engine.execute(caller)
    expect(await engine.get(far).result()).toBe('from a graph')
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

  test('api gap 7: a signal to a run that has ended is told to the sender, by its id, and logged', async () => {
    const sends = workflow('sends', async (ctx, runId: string) => {
      const to = await Promise.allSettled([
        ctx.signal(runId, go, 'late'),
        ctx.signal({ workflowId: 'gone' }, go, 'late'),
        ctx.signal({ workflowId: 'nobody' }, go, 'late'),
        ctx.cancelRun(runId, 'late'),
      ])
      return to.map((each) =>
        each.status === 'rejected' ? [(each.reason as PawlError).code, (each.reason as PawlError).message] : 'sent',
      )
    })
    const engine = await bench.serve({ workflows: [waits, sends] })
    const gone = await engine.start(waits, undefined, { workflowId: 'gone' })
    await gone.signal(go, 'first')
    await gone.result()
    expect(await engine.execute(sends, gone.runId)).toEqual([
      ['RUN_ENDED', expect.stringContaining(gone.runId)],
      ['RUN_ENDED', expect.stringContaining("'gone'")],
      ['RUN_NOT_FOUND', expect.stringContaining("'nobody'")],
      'sent',
    ])
    const told = bench.logged.filter(({ message }) => message.includes("signal 'go' was not sent"))
    expect(told).toHaveLength(2)
  })

  test('api gap 7: a workflow signals the run of a workflow id, and starts it if there is none', async () => {
    const collects = workflow('collects', async (ctx, owner: string) => {
      const got: string[] = []
      while (got.at(-1) !== 'end') got.push(await ctx.wait(go))
      return `${owner}: ${got.join()}`
    })
    const adds = workflow('adds', async (ctx, payload: string) => {
      const to = { workflowId: 'basket', input: payload, signal: go, payload }
      await ctx.signalWithStart(collects, to)
      if (payload === 'a') await ctx.wait(go)
    })
    const engine = await bench.serve({ workflows: [collects, adds] }, { warm: 0 })
    const first = await engine.start(adds, 'a')
    // What it started goes on without it, and it does not wait for that.
    expect(await waitsFor(first, 'signal')).toMatchObject({ name: 'go' })
    await engine.execute(adds, 'b')
    await engine.execute(adds, 'end')
    expect(await engine.get({ workflowId: 'basket' }).result()).toBe('a: a,b,end')
    expect(await engine.count({ workflow: collects })).toBe(1)
    await first.signal(go, 'on')
    await first.result()
    await engine.execute(adds, 'end')
    expect(await engine.get({ workflowId: 'basket' }).result()).toBe('end: end')
  })

  test('api gap 8: a body knows the build of the worker it runs on, and a step of a graph all that a body knows', async () => {
    const names = ['client', 'signal', 'log', 'runOnce', 'completionToken'] as const
    const known = (ctx: ActivityContext) => names.filter((name) => ctx[name] !== undefined)
    const bodies = activity('bodies', async (_: void, ctx) => known(ctx))
    const plain = workflow('plain', async (ctx) => {
      const build = await ctx.run('inline', (step) => step.build)
      return [build, await ctx.run(bodies)]
    })
    const drawn = graph('drawn')
      .step('one', async (step) => [step.build, known(step)])
      .output(({ results }) => results.one)
    const engine = await bench.serve({
      workflows: [plain, drawn],
      activities: [bodies],
      build: 'b7',
    })
    expect(await engine.execute(plain)).toEqual(['b7', names])
    expect(await engine.execute(drawn)).toEqual(['b7', names])
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
