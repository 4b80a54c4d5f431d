// How virtual time passes while a call waits, and the errors for runs that cannot progress.
import { afterEach, describe, expect, test } from 'vitest'
import { activity, PawlError, PermanentError, signal, TIMEOUT, update, workflow } from '../index.ts'
import { crashAtEveryAwait } from './crash-at-every-await.ts'
import { type TestEngine, type TestOptions, testEngine } from './test-engine.ts'

let engine: TestEngine
const open = async (options: TestOptions = {}): Promise<TestEngine> => {
  engine = await testEngine(options)
  return engine
}
afterEach(() => engine.close())

/** Waits until it is aborted. */
const hangs = (_: void, { signal: stop }: { readonly signal: AbortSignal }): Promise<string> =>
  new Promise((_resolve, reject) => {
    stop.addEventListener('abort', () => reject(stop.reason))
  })

describe('api D2: the time limits of a body can be tested', () => {
  test.each([{ startToClose: '5s' }, { heartbeat: '5s' }, { scheduleToClose: '5s' }] as const)(
    '%o, by waiting for the result and by advancing',
    async (limit) => {
      const act = activity('act', { retry: 'none', ...limit }, hangs)
      const flow = workflow('flow', async (ctx) => ctx.run(act))
      await open({ workflows: [flow], activities: [act], patience: 50 })
      await expect(engine.execute(flow)).rejects.toThrow(/5000 ms/)
      const other = await engine.start(flow)
      await engine.clock.advance('6s')
      expect((await other.describe()).status).toBe('failed')
      await engine.idle()
    },
  )

  test('of an inline step, of a scope and in a race', async () => {
    const slow = activity('slow', hangs)
    const limited = workflow('limited', async (ctx) => {
      const scope = await ctx.scope('part', { timeout: '1m' }, async (part) => part.run(slow))
      const first = await ctx.race({ body: ctx.run(slow), timer: ctx.sleep('2m') })
      const inline = await ctx
        .run('inline', { startToClose: '3m', retry: 'none' }, ({ signal: stop }) => hangs(undefined, { signal: stop }))
        .catch(() => 'too late')
      return [scope === TIMEOUT, first.winner, inline]
    })
    await open({ workflows: [limited], activities: [slow], patience: 50 })
    expect(await engine.execute(limited)).toEqual([true, 'timer', 'too late'])
  })

  test('a stub can take virtual time', async () => {
    const charge = activity('charge', { startToClose: '30s', retry: { maxAttempts: 2 } }, async () => 'charged')
    const flow = workflow('flow', async (ctx) => ctx.run(charge))
    await open({ workflows: [flow], activities: [charge], patience: '1h' })
    const took: number[] = []
    engine.stub(charge, async () => {
      took.push(engine.clock.now())
      await engine.clock.sleep(took.length === 1 ? '2m' : '20s')
      return 'late, but charged'
    })
    expect(await engine.execute(flow)).toBe('late, but charged')
    expect(took).toHaveLength(2)
    expect((took[1] ?? 0) - (took[0] ?? 0)).toBeGreaterThanOrEqual(30_000)
  })

  test('a body that waits for real things is waited for', async () => {
    const real = activity('real', { startToClose: '5s' }, async () => {
      await new Promise((resolve) => setTimeout(resolve, 60))
      return 'done'
    })
    const flow = workflow('flow', async (ctx) => ctx.run(real))
    await open({ workflows: [flow], activities: [real], patience: '30s' })
    const begun = engine.clock.now()
    expect(await engine.execute(flow)).toBe('done')
    expect(engine.clock.now() - begun).toBeLessThan(5_000)
  })

  test('time passes while an update waits', async () => {
    const ask = update<void, string>('ask')
    const flow = workflow('flow', async (ctx) => {
      ctx.on(ask, async () => {
        await ctx.sleep('8h')
        return 'slept'
      })
      await ctx.wait(signal<void>('end'))
    })
    await open({ workflows: [flow] })
    const run = await engine.start(flow)
    expect(await run.update(ask)).toBe('slept')
  })
})

describe('api D3, users D10: virtual days', () => {
  test.each(['memory:', 'sqlite:', 'file:'])('90 of an idle run take no time on %s', async (kind) => {
    const go = signal<void>('go')
    const flow = workflow('flow', async (ctx) => ctx.wait(go))
    const place = kind === 'memory:' ? kind : `${kind}/tmp/pawl-90-days-${process.pid}-${Math.random()}`
    let calls = 0
    const count = ({ type }: { readonly type: string }): void => {
      if (type === 'store.call') calls++
    }
    await open({ workflows: [flow], store: place as 'memory:', listeners: [count] })
    const run = await engine.start(flow)
    await engine.idle()
    calls = 0
    await engine.clock.advance('90d')
    expect(calls).toBeLessThan(10)
    await engine.away('90d')
    await run.signal(go)
    expect(await run.result()).toBeUndefined()
  })

  test('a run that sleeps for months costs one step', async () => {
    const flow = workflow('flow', async (ctx) => {
      await ctx.sleep('30d')
      await ctx.sleep('60d')
      return 'done'
    })
    await open({ workflows: [flow] })
    const begun = engine.clock.now()
    expect(await engine.execute(flow)).toBe('done')
    expect(engine.clock.now() - begun).toBe(90 * 86_400_000)
  })
})

describe('api D6: every worker of the test', () => {
  test('serves the queues that definitions name, and is stubbed', async () => {
    const charge = activity('charge', { queue: 'payments' }, async () => 'REALLY CHARGED')
    const flow = workflow('flow', { queue: 'orders' }, async (ctx) => ctx.run(charge))
    await open({ workflows: [flow], activities: [charge] })
    const stub = engine.stub(charge, async () => 'stubbed')
    expect(await engine.execute(flow)).toBe('stubbed')
    expect(stub.calls).toHaveLength(1)
  })

  test('an activity that is only declared is stubbed, on whatever queue', async () => {
    const near = activity.declare<number, number>('near')
    const far = activity.declare<number, string>('far', { queue: 'far', retry: { maxAttempts: 2 } })
    const flow = workflow('flow', async (ctx, n: number) => ctx.run(far, await ctx.run(near, n)))
    await open({ workflows: [flow] })
    const one = engine.stub(near, async (n) => n + 1)
    let attempts = 0
    engine.stub(far, async (n) => {
      if (++attempts === 1) throw new Error('once more')
      return `far ${n}`
    })
    expect(await engine.execute(flow, 1)).toBe('far 2')
    await engine.crash()
    expect(await engine.execute(flow, 2)).toBe('far 3')
    expect([one.calls, attempts]).toEqual([[1, 2], 3])
    one.restore()
    const run = await engine.start(flow, 3)
    await expect(run.result()).rejects.toThrow('near')
  })

  test('a second worker is stubbed, too, and killed with the others', async () => {
    const charge = activity('charge', { queue: 'payments' }, async () => 'REALLY CHARGED')
    const flow = workflow('flow', async (ctx) => {
      await ctx.sleep('1h')
      return ctx.run(charge)
    })
    await open({ workflows: [flow], activities: [charge], queues: ['default'], build: 'b1' })
    engine.stub(charge, async () => 'stubbed')
    engine.work({ queues: ['payments'] })
    const run = await engine.start(flow)
    await engine.idle()
    await engine.crash()
    expect(await run.result()).toBe('stubbed')
  })
})

describe('a run that cannot move fails the test with what why knows', () => {
  const flow = workflow('flow', async (ctx) => ctx.wait(signal<void>('go')))

  test('nobody serves its queue', async () => {
    await open({ workflows: [flow] })
    const run = await engine.start(flow, undefined, { queue: 'nobody' })
    const error = await run.result().catch((each: unknown) => each)
    expect(error).toBeInstanceOf(PawlError)
    expect(error).toMatchObject({ code: 'NOT_ENDED', details: { why: { reason: 'noWorker' } } })
    expect(String(error)).toMatch(/No living worker has code for 'flow' on queue 'nobody'/)
  })

  test('nobody has the code of its activity, or that of its child', async () => {
    const missing = activity.declare<void, string>('missing')
    const parent = workflow('parent', async (ctx) => ctx.child(child))
    const child = workflow('child', async (ctx) => ctx.run(missing))
    await open({ workflows: [parent, child] })
    await expect(engine.execute(child)).rejects.toThrow(/'missing'/)
    await expect(engine.execute(parent)).rejects.toThrow(/cannot end before its child .*'missing'/)
  })

  test('it is paused', async () => {
    let odd = 0
    const bad = workflow('bad', async (ctx) => {
      await ctx.run(`step${odd++}`, () => 1)
      await ctx.sleep('1h')
    })
    await open({ workflows: [bad], logger: { log: () => {} } })
    await expect(engine.execute(bad)).rejects.toMatchObject({ code: 'NOT_ENDED' })
  })

  test('it was paused by hand, and nobody resumes it', async () => {
    await open({ workflows: [flow], logger: { log: () => {} } })
    const run = await engine.start(flow)
    const waits = run.result()
    await run.pause('for a look')
    await engine.idle()
    await run.resume()
    await run.signal(signal<void>('go'))
    expect(await waits).toBeUndefined()
    const other = await engine.start(flow)
    await other.pause('for a look')
    await expect(other.result()).rejects.toThrow(/for a look/)
  })

  test('it waits for a signal: a line in the log says so', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    await open({ workflows: [flow], logger: { log: (_level, message) => resolve(message) } })
    const run = await engine.start(flow)
    const waits = run.result()
    expect(await promise).toMatch(/the test waits for run .*Waiting for signal 'go'/)
    await run.signal(signal<void>('go'))
    await waits
  })
})

describe('users friction 3: what a run leaves undone fails it', () => {
  const mail = activity('mail', async () => 'sent')
  const forgets = workflow('forgets', async (ctx) => {
    void ctx.run(mail)
    return 'done'
  })

  test('a step that was not awaited', async () => {
    await open({ workflows: [forgets], activities: [mail], logger: { log: () => {} } })
    await expect(engine.execute(forgets)).rejects.toThrow(/without activity:mail#1: its code did not/)
  })

  test('unless the test says that it is meant', async () => {
    const strict = false
    await open({ workflows: [forgets], activities: [mail], strict, logger: { log: () => {} } })
    expect(await engine.execute(forgets)).toBe('done')
  })

  const add = update<number, number>('add')
  const shop = (waits: boolean) =>
    workflow('shop', async (ctx) => {
      let sum = 0
      ctx.on(add, async (n) => {
        await ctx.sleep('1h')
        sum += n
        return sum
      })
      await ctx.wait(signal<void>('close'))
      if (waits) await ctx.wait(ctx.allHandlersFinished)
      return sum
    })

  test.each([true, false])('handlers that are waited for: %s', async (waits) => {
    const flow = shop(waits)
    await open({ workflows: [flow], logger: { log: () => {} } })
    const run = await engine.start(flow)
    const answer = run.update(add, 5).catch(String)
    await engine.idle()
    await run.signal(signal<void>('close'))
    if (waits) {
      expect(await run.result()).toBe(5)
      expect(await answer).toBe(5)
    } else {
      await expect(run.result()).rejects.toThrow(/handlers were at work \(update 'add'\)/)
    }
  })
})

test('api D10: a workflow that fails is crashed at every await, too', async () => {
  const undo = activity('undo', async () => 'undone')
  const fails = workflow('fails', async (ctx) => {
    await ctx.saga(async (saga) => {
      saga.compensate(async (back) => back.run(undo))
      await saga.run('pay', () => {
        throw new PermanentError('card declined')
      })
    })
  })
  await open({ workflows: [fails], activities: [undo], logger: { log: () => {} } })
  const { crashes, failure } = await crashAtEveryAwait(engine, fails)
  expect(crashes).toBeGreaterThan(3)
  expect(failure?.message).toMatch(/card declined/)
})

test('options are checked, and stores that keep their own time refused', async () => {
  await open()
  await expect(testEngine({ skiptime: true } as never)).rejects.toThrow(/did you mean `skipTime`/)
  await expect(testEngine({ patience: 'soon' as never })).rejects.toThrow(/patience/)
  await expect(testEngine({ store: 'postgres://nowhere/db' })).rejects.toMatchObject({
    code: 'NOT_SUPPORTED',
  })
})
