import { type RunError, signal, TIMEOUT, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { kinds, rejection, until, useStore, waitsFor } from './each-store.ts'

const word = signal<string>('word')
const go = signal('go')

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('S2 signals that come before the wait are kept, and taken first in, first out', async () => {
    const listens = workflow('listens', async (ctx) => {
      await ctx.wait(go)
      return [await ctx.wait(word), await ctx.wait(word), await ctx.wait(word)]
    })
    const client = await bench.engine()
    const run = await client.start(listens)
    for (const each of ['one', 'two', 'three']) await run.signal(word, each)
    await run.signal(go)
    await bench.serve({ workflows: [listens] })
    expect(await run.result()).toEqual(['one', 'two', 'three'])
  })

  test('S2 two waits at once take the signals in the order of the waits', async () => {
    const listens = workflow('listens', async (ctx) => Promise.all([ctx.wait(word), ctx.wait(word)]))
    const engine = await bench.serve({ workflows: [listens] })
    const run = await engine.start(listens)
    await waitsFor(run, 'signal')
    await run.signal(word, 'first')
    await run.signal(word, 'second')
    expect(await run.result()).toEqual(['first', 'second'])
  })

  test('S2 a signal that comes while the run is being released is taken at once, not at the next poll', async () => {
    const listens = workflow('listens', async (ctx) => [await ctx.wait(word), await ctx.wait(word)])
    const engine = await bench.serve({ workflows: [listens] })
    const begun = performance.now()
    for (let round = 0; round < 5; round++) {
      const run = await engine.start(listens)
      await waitsFor(run, 'signal')
      await run.signal(word, 'first')
      await run.signal(word, 'second')
      expect(await run.result()).toEqual(['first', 'second'])
    }
    // An idle worker polls every five seconds; nothing here may have waited for that.
    expect(performance.now() - begun).toBeLessThan(4_000)
  })

  test('S2 a signal goes to its own name only', async () => {
    const listens = workflow('listens', async (ctx) => ctx.wait(word))
    const engine = await bench.serve({ workflows: [listens] })
    const run = await engine.start(listens)
    await run.signal(go)
    await run.signal(word, 'mine')
    expect(await run.result()).toBe('mine')
  })

  test('S2 the same message id is taken once, even after it was consumed', async () => {
    const listens = workflow('listens', async (ctx) => [await ctx.wait(word), await ctx.wait(word)])
    const engine = await bench.serve({ workflows: [listens] })
    const run = await engine.start(listens)
    await run.signal(word, 'one', { messageId: 'm1' })
    await until(
      () => history(run.history()),
      (types) => types.includes('SignalReceived'),
    )
    await run.signal(word, 'again', { messageId: 'm1' })
    await run.signal(word, 'two', { messageId: 'm2' })
    expect(await run.result()).toEqual(['one', 'two'])
  })

  test('S2 a signal to an ended run is refused', async () => {
    const quick = workflow('quick', async () => 1)
    const engine = await bench.serve({ workflows: [quick] })
    const run = await engine.start(quick)
    await run.result()
    await expect(run.signal(word, 'late')).rejects.toMatchObject({ code: 'RUN_ENDED' })
  })

  test('S3 a wait gives up after its time-out, and a late signal stays queued for the next wait', async () => {
    const patient = workflow('patient', async (ctx) => {
      const first = await ctx.wait(word, { timeout: '20ms' })
      await ctx.wait(go)
      const second = await ctx.wait(word, { timeout: '1h' })
      return { timedOut: first === TIMEOUT, second }
    })
    const engine = await bench.serve({ workflows: [patient] })
    const run = await engine.start(patient)
    await until(
      () => history(run.history()),
      (types) => types.includes('TimerFired'),
    )
    await run.signal(word, 'late')
    await run.signal(go)
    expect(await run.result()).toEqual({ timedOut: true, second: 'late' })
  })

  test('S3 a signal in time wins, and its time-out never fires', async () => {
    const patient = workflow('patient', async (ctx) => {
      const got = await ctx.wait(word, { timeout: '1h' })
      return got === TIMEOUT ? 'time is up' : got
    })
    const engine = await bench.serve({ workflows: [patient] })
    const run = await engine.start(patient)
    expect(await waitsFor(run, 'signal')).toMatchObject({ name: 'word', until: expect.any(Date) })
    await run.signal(word, 'in time')
    expect(await run.result()).toBe('in time')
    expect(await history(run.history())).not.toContain('TimerFired')
  })

  test('S3, api gap 12: a wait has a time it ends at; one that has passed is over at once', async () => {
    const never = signal<void>('never')
    const ends = workflow('ends', async (ctx, at: number) => {
      const first = await ctx.wait(never, { until: new Date(at) })
      const second = await ctx.wait(() => false, { until: at - 60_000 })
      const both = async (): Promise<unknown> => ctx.wait(never, { until: at, timeout: 5 } as never)
      const refused = await both().catch((error: Error) => error.message)
      return [first === TIMEOUT, second === TIMEOUT, ctx.now() >= at, refused]
    })
    const engine = await bench.serve({ workflows: [ends] })
    const both = expect.stringMatching(/`timeout` or `until`, not both/)
    expect(await engine.execute(ends, Date.now() + 50)).toEqual([true, true, true, both])
  })

  test('C4 a sleep lasts at least as long as it says, and its deadline is recorded once', async () => {
    const naps = workflow('naps', async (ctx) => {
      const before = ctx.now()
      await ctx.sleep('60ms')
      return ctx.now() - before
    })
    const engine = await bench.serve({ workflows: [naps] }, { warm: 0 })
    const begun = Date.now()
    const run = await engine.start(naps)
    expect(await run.result()).toBeGreaterThanOrEqual(60)
    expect(Date.now() - begun).toBeGreaterThanOrEqual(59)
    const timers = (await history(run.history())).filter((type) => type === 'TimerStarted')
    expect(timers).toHaveLength(1)
  })

  test('C4 sleepUntil wakes at the instant, and at once when it has passed', async () => {
    const naps = workflow('naps', async (ctx) => {
      await ctx.sleepUntil(new Date(0))
      const until = ctx.now() + 40
      await ctx.sleepUntil(until)
      return ctx.now() - until
    })
    const engine = await bench.serve({ workflows: [naps] })
    expect(await engine.execute(naps)).toBeGreaterThanOrEqual(0)
  })

  test('C4 sleepUntil refuses what is no time, and the longest one can be looked at', async () => {
    const naps = workflow('naps', async (ctx, until: number) => ctx.sleepUntil(until))
    const engine = await bench.serve({ workflows: [naps] })
    for (const until of [1e18, -1e18, Number.NaN]) {
      const { failure } = (await rejection(engine.execute(naps, until))) as RunError
      expect(failure.code).toBe('INPUT_INVALID')
    }
    const run = await engine.start(naps, 8.64e15)
    await waitsFor(run, 'timer')
    expect((await engine.list()).items).toHaveLength(4)
    await run.terminate('enough')
  })

  test('T1 a sleep survives its worker: another engine wakes the run at the recorded time', async () => {
    const naps = workflow('naps', async (ctx) => {
      const before = ctx.now()
      // Long enough that a slow store tells of it before it is over.
      await ctx.sleep('800ms')
      return [before + 800, ctx.now()] as const
    })
    const first = await bench.worker({ workflows: [naps] })
    const run = await first.engine.start(naps)
    const { until: deadline } = await waitsFor(run, 'timer')
    await first.engine.close()
    const second = await bench.serve({ workflows: [naps] })
    const [due, woke] = await second.get(naps, run.runId).result()
    expect(due).toBe(deadline.getTime())
    expect(woke).toBeGreaterThanOrEqual(due)
  })

  test('T1 a sleep that ran out while no worker lived ends as soon as there is one', async () => {
    const naps = workflow('naps', async (ctx) => {
      // Long enough that a slow store tells of it before it is over.
      await ctx.sleep('800ms')
      return 'awake'
    })
    const first = await bench.worker({ workflows: [naps] })
    const run = await first.engine.start(naps)
    const { until: deadline } = await waitsFor(run, 'timer')
    await first.engine.close()
    await until(
      () => Date.now(),
      (now) => now > deadline.getTime(),
    )
    const second = await bench.serve({ workflows: [naps] })
    expect(await second.get(run.runId).result()).toBe('awake')
  })

  test('T1 several sleeps at once end in the order of their times', async () => {
    const naps = workflow('naps', async (ctx) => {
      const woke: string[] = []
      const nap = async (ms: number): Promise<void> => {
        await ctx.sleep(ms)
        woke.push(`${ms}`)
      }
      await Promise.all([nap(120), nap(40), nap(80)])
      return woke
    })
    const engine = await bench.serve({ workflows: [naps] })
    expect(await engine.execute(naps)).toEqual(['40', '80', '120'])
  })

  test('T1 a delayed start begins no earlier than asked', async () => {
    const when = workflow('when', async (ctx) => ctx.now())
    const engine = await bench.serve({ workflows: [when] })
    const delay = 150 * bench.slowness
    const delayed = await engine.start(when, undefined, { delay })
    const { createdAt } = await delayed.describe()
    const far = await engine.start(when, undefined, { delay: '1h' })
    expect(await far.why()).toMatchObject({ reason: 'timer' })
    expect(await delayed.result()).toBeGreaterThanOrEqual(createdAt.getTime() + delay)
    const runAt = new Date(Date.now() + 100)
    const planned = await engine.start(when, undefined, { runAt })
    expect(await planned.result()).toBeGreaterThanOrEqual(runAt.getTime())
  })
})

async function history(entries: AsyncIterable<{ readonly type: string }>): Promise<string[]> {
  const types: string[] = []
  for await (const { type } of entries) types.push(type)
  return types
}
