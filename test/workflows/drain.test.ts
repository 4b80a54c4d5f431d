import { type ActivityError, activity, signal, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { Gate, heard, kinds, until, useStore, waitsFor } from './each-store.ts'

const go = signal('go')

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('W12 draining finishes the running steps, releases the run, and another worker continues', async () => {
    const begun = new Gate()
    const finish = new Gate()
    const bodies: string[] = []
    const job = workflow('job', async (ctx) => {
      const first = await ctx.run('first', async () => {
        begun.open()
        await finish.opened
        bodies.push('first')
        return 1
      })
      const second = await ctx.run('second', () => bodies.push('second'))
      return [first, second]
    })
    const one = await bench.worker({ workflows: [job] })
    const run = await one.engine.start(job)
    await begun.opened
    const drained = one.worker.drain()
    finish.open()
    await drained
    expect(bodies).toEqual(['first'])
    const two = await bench.serve({ workflows: [job] })
    expect(await two.get(job, run.runId).result()).toEqual([1, 2])
    expect(bodies).toEqual(['first', 'second'])
  })

  test('W12 when the grace is over a step is told to stop, and the attempt it made counts', async () => {
    const attempts: number[] = []
    const begun = new Gate()
    const told = new Gate()
    const job = workflow('job', async (ctx) =>
      ctx.run('long', { retry: { maxAttempts: 2 } }, async (step) => {
        attempts.push(step.attempt)
        if (attempts.length > 1) return 'done'
        begun.open()
        await new Promise<void>((resolve) => {
          step.signal.addEventListener('abort', () => resolve())
        })
        told.open()
        throw new Error('stopped')
      }),
    )
    const one = await bench.worker({ workflows: [job] })
    const run = await one.engine.start(job)
    await begun.opened
    // The second call shortens the grace of the first.
    const drained = one.worker.drain('1h')
    await one.worker.drain('20ms')
    await drained
    await told.opened
    const two = await bench.serve({ workflows: [job] })
    expect(await two.get(job, run.runId).result()).toBe('done')
    expect(attempts).toEqual([1, 2])
  })

  test('W12 a step that may be tried once is not begun again after it was cut off', async () => {
    let bodies = 0
    const begun = new Gate()
    const job = workflow('job', async (ctx) =>
      ctx
        .run('once', { retry: 'none' }, () => {
          bodies++
          begun.open()
          return new Promise<string>(() => {})
        })
        .catch((error: ActivityError) => error.failure.type),
    )
    const one = await bench.worker({ workflows: [job] })
    const run = await one.engine.start(job)
    await begun.opened
    await one.worker.drain(0)
    const two = await bench.serve({ workflows: [job] })
    expect(await two.get(job, run.runId).result()).toBe('WorkerDied')
    expect(bodies).toBe(1)
  })

  test('W7 a worker that was full takes the next run as soon as there is room, not at the next poll', async () => {
    const begun = performance.now()
    const gate = new Gate()
    const busy = workflow('busy', async (ctx) => ctx.run('block', () => gate.opened))
    const quick = workflow('quick', async () => 'ran')
    const engine = await bench.serve({ workflows: [busy, quick] }, { concurrency: 1 })
    const first = await engine.start(busy)
    await waitsFor(first, 'activity')
    const second = await engine.start(quick)
    expect(await second.why()).toEqual({ reason: 'ready' })
    gate.open()
    expect(await second.result()).toBe('ran')
    // An idle worker polls every five seconds.
    expect(performance.now() - begun).toBeLessThan(4_500)
  })

  test('W12 a drained worker takes nothing new, and says so', async () => {
    const quick = workflow('quick', async () => 'ran')
    const { engine, worker } = await bench.worker({ workflows: [quick] })
    const states: string[] = []
    engine.on('worker.changed', ({ status }) => states.push(status))
    await worker.drain()
    expect(states).toEqual(['draining', 'stopped'])
    const run = await engine.start(quick)
    expect(await waitsFor(run, 'noWorker')).toMatchObject({ type: 'quick' })
    engine.work({ signals: false })
    expect(await run.result()).toBe('ran')
  })

  test('W12 a drained worker gives back queued activities, and the attempt it made counts', async () => {
    const attempts: string[] = []
    const begun = new Gate()
    const makeLong = (id: string) =>
      activity('long', { queue: 'heavy' }, async (_: void, ctx) => {
        attempts.push(`${id} ${ctx.attempt}`)
        if (id === 'two') return 'done'
        begun.open()
        return new Promise<string>(() => {})
      })
    const long = makeLong('one')
    const asks = workflow('asks', async (ctx) => ctx.run(long))
    const client = await bench.serve({ workflows: [asks] })
    const one = await bench.worker({ activities: [long] }, { queues: ['heavy'] })
    const run = await client.start(asks)
    await begun.opened
    await one.worker.drain(0)
    await bench.serve({ activities: [makeLong('two')] }, { queues: ['heavy'] })
    expect(await run.result()).toBe('done')
    expect(attempts).toEqual(['one 1', 'two 2'])
  })

  test('W12 many runs in all states survive the change of workers, and every step runs once', async () => {
    const bodies = new Map<string, number>()
    const count = (id: string): void => void bodies.set(id, (bodies.get(id) ?? 0) + 1)
    const mixed = workflow('mixed', async (ctx, n: number) => {
      await ctx.run('first', () => count(`${n} first`))
      await ctx.sleep(n * 3)
      await ctx.run('second', () => count(`${n} second`))
      return n
    })
    const one = await bench.worker({ workflows: [mixed] })
    const runs = await one.engine.startMany(
      mixed,
      Array.from({ length: 20 }, (_, n) => ({ input: n })),
    )
    await heard(one.engine, 'activity.completed')
    await one.engine.close()
    const two = await bench.serve({ workflows: [mixed] })
    const results = runs.map(({ runId }) => two.get(mixed, runId).result())
    expect(await Promise.all(results)).toEqual(runs.map((_, n) => n))
    expect([...bodies.values()]).toEqual(Array.from({ length: 40 }, () => 1))
  })

  test('W12 closing an engine tells callers that wait for a result here', async () => {
    const waits = workflow('waits', async (ctx) => ctx.wait(go))
    const { engine } = await bench.worker({ workflows: [waits] })
    const run = await engine.start(waits)
    const result = run.result()
    const told = expect(result).rejects.toMatchObject({ code: 'WORKER_STOPPED' })
    await waitsFor(run, 'signal')
    await engine.close()
    await told
    expect(() => engine.work()).toThrow(expect.objectContaining({ code: 'WORKER_STOPPED' }))
  })

  test('W12 a worker that stops answering is replaced when its lease ends, and the step counts', async () => {
    const attempts: number[] = []
    const begun = new Gate()
    const job = workflow('job', async (ctx) =>
      ctx.run('long', { retry: { initial: '1ms' } }, async (step) => {
        attempts.push(step.attempt)
        begun.open()
        return attempts.length > 1 ? 'done' : new Promise<string>(() => {})
      }),
    )
    const one = await bench.worker({ workflows: [job] }, { lease: '3s' })
    const run = await one.engine.start(job)
    await begun.opened
    // The first engine is given no chance to renew: its process would have been killed.
    const two = await bench.serve({ workflows: [job] }, { lease: '3s' })
    expect(await waitsFor(two.get(run.runId), 'activity')).toMatchObject({
      worker: one.worker.id,
      step: 'step:long#1',
      attempt: 1,
    })
    await one.worker.drain(0)
    expect(
      await until(
        () => attempts.length,
        (n) => n === 2,
      ),
    ).toBe(2)
    expect(await two.get(job, run.runId).result()).toBe('done')
  })
})
