// How long steps may take, what they leave behind for their next attempt, and what is done once.
import { ActivityError, activity, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { historyOf, kinds, rejection, until, useStore } from './each-store.ts'

const caught = async (promise: Promise<unknown>): Promise<unknown[]> => {
  try {
    return ['fine', await promise]
  } catch (error) {
    const { failure, reason, attempts } = error as ActivityError
    return [reason, failure.type, failure.code, attempts]
  }
}

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('R8: an activity nobody begins with fails in time, is not tried again, and is not begun later', async () => {
    let begun = 0
    const far = activity('far', { queue: 'far away' }, async () => ++begun)
    const order = workflow('order', async (ctx, scheduleToStart: number) =>
      caught(ctx.run(far, undefined, { scheduleToStart })),
    )
    const engine = await bench.serve({ workflows: [order], activities: [far] })
    const run = await engine.start(order, 120)
    expect(await run.result()).toEqual(['timeout', 'Timeout', 'SCHEDULE_TO_START', 1])
    await bench.serve({ activities: [far] }, { queues: ['far away'] })
    expect(await engine.execute(order, 60_000)).toEqual(['fine', 1])
  })

  test('R8: an activity that was begun in time may take longer than that', async () => {
    const gate = Promise.withResolvers<void>()
    const far = activity(
      'far',
      // Longer than a store without hints needs to be looked at.
      { queue: 'far away', scheduleToStart: '4s' },
      async () => gate.promise,
    )
    const order = workflow('order', async (ctx) => caught(ctx.run(far)))
    const engine = await bench.serve({ workflows: [order], activities: [far] }, { warm: 0 })
    await bench.serve({ activities: [far] }, { queues: ['far away'] })
    const run = await engine.start(order)
    await until(
      () => historyOf(run),
      (entries) => entries.some(({ type }) => type === 'StepBegun'),
    )
    gate.resolve()
    expect(await run.result()).toEqual(['fine', undefined])
  })

  test('R8: all attempts together end in time, whether one runs or the next is waited for', async () => {
    let tries = 0
    const stubborn = activity(
      'stubborn',
      { scheduleToClose: '1.5s', retry: { initial: '50ms', factor: 1, maxAttempts: 1_000 } },
      async () => {
        tries++
        throw new Error('not yet')
      },
    )
    const endless = activity('endless', { scheduleToClose: '150ms' }, async (_: void, ctx) => {
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve, { once: true }))
      return 'too late'
    })
    const order = workflow('order', async (ctx) => [await caught(ctx.run(stubborn)), await caught(ctx.run(endless))])
    const engine = await bench.serve({ workflows: [order], activities: [stubborn, endless] })
    const [first, second] = await engine.execute(order)
    expect(first?.[0]).toBe('timeout')
    expect(tries).toBeGreaterThan(1)
    expect(tries).toBeLessThan(60)
    expect(second).toEqual(['timeout', 'Timeout', 'SCHEDULE_TO_CLOSE', 1])
  })

  test('R11: an attempt that falls silent is over, and the next one knows how far it got', async () => {
    const seen: unknown[] = []
    const copy = activity(
      'copy',
      { heartbeat: '150ms', retry: { initial: '10ms', maxAttempts: 3 } },
      async (total: number, ctx) => {
        const from = ctx.lastHeartbeat<{ row: number }>()?.row ?? 0
        seen.push(from)
        for (let row = from + 1; row <= total; row++) {
          ctx.heartbeat({ row })
          if (row === 3 && ctx.attempt === 1) await new Promise(() => {})
        }
        return `from ${from} to ${total}`
      },
    )
    const order = workflow('order', async (ctx) => ctx.run(copy, 5))
    const engine = await bench.serve({ workflows: [order], activities: [copy] })
    const run = await engine.start(order)
    expect(await run.result()).toBe('from 3 to 5')
    expect(seen).toEqual([0, 3])
    const retried = (await historyOf(run)).find(({ type }) => type === 'StepRetried')
    expect(retried).toMatchObject({ failure: { type: 'Timeout', code: 'HEARTBEAT' } })
  })

  test('R11: signs of life keep an attempt alive far beyond the interval', async () => {
    const long = activity('long', { heartbeat: '200ms', retry: 'none' }, async (_: void, ctx) => {
      for (let n = 0; n < 8; n++) {
        ctx.heartbeat()
        await new Promise((resolve) => setTimeout(resolve, 60))
      }
      return 'done'
    })
    const order = workflow('order', async (ctx) => ctx.run(long))
    const engine = await bench.serve({ workflows: [order], activities: [long] })
    expect(await engine.execute(order)).toBe('done')
  })

  test('R11: a queued activity finds its details on another worker', async () => {
    const copy = activity('copy', { queue: 'elsewhere', retry: { initial: '10ms' } }, async (_: void, ctx) => {
      const from = ctx.lastHeartbeat<number>()
      if (from !== undefined) return from
      ctx.heartbeat(41)
      throw new Error('cut off')
    })
    const order = workflow('order', async (ctx) => ctx.run(copy))
    const engine = await bench.serve({ workflows: [order] })
    await bench.serve({ activities: [copy] }, { queues: ['elsewhere'] })
    await bench.serve({ activities: [copy] }, { queues: ['elsewhere'] })
    expect(await engine.execute(order)).toBe(41)
  })

  test('R19 R20: what runOnce has done is not done by the next attempt, and keys stay the same', async () => {
    const done: string[] = []
    const keys = new Set<string>()
    const announce = activity('announce', { retry: { initial: '5ms' } }, async (_: void, ctx) => {
      keys.add(ctx.idempotencyKey)
      const mail = await ctx.runOnce('mail', () => {
        done.push('mail')
        return { id: 7 }
      })
      if (ctx.attempt < 3) throw new Error('the second part failed')
      return ctx.runOnce('log', async () => {
        done.push('log')
        return mail.id
      })
    })
    const order = workflow('order', async (ctx) => ctx.run(announce))
    const engine = await bench.serve({ workflows: [order], activities: [announce] })
    expect(await engine.execute(order)).toBe(7)
    expect(done).toEqual(['mail', 'log'])
    expect(keys.size).toBe(1)
  })

  test('R19: what an attempt says after its time is over does not reach the next one', async () => {
    const late = Promise.withResolvers<void>()
    const options = { startToClose: '60ms', retry: { initial: '5ms', maxAttempts: 3 } } as const
    const copy = activity('copy', options, async (_: void, ctx) => {
      if (ctx.attempt === 3) return ctx.lastHeartbeat<string>()
      if (ctx.attempt === 1) {
        ctx.heartbeat('first')
        await late.promise
        ctx.heartbeat('late')
        return 'nobody hears this'
      }
      ctx.heartbeat('second')
      late.resolve()
      await new Promise((resolve) => setImmediate(resolve))
      throw new Error('cut off')
    })
    const order = workflow('order', async (ctx) => ctx.run(copy))
    const engine = await bench.serve({ workflows: [order], activities: [copy] })
    expect(await engine.execute(order)).toBe('second')
  })

  test('R8: a result that is there at the very moment its time is over counts', async () => {
    const quick = activity('quick', { scheduleToClose: '1h' }, async () => 'in time')
    const order = workflow('order', async (ctx) => ctx.run(quick))
    const engine = await bench.serve({ workflows: [order], activities: [quick] })
    expect(await engine.execute(order)).toBe('in time')
    expect(await rejection(engine.execute(order, undefined, { runTimeout: 'never' as '1s' }))).toMatchObject({
      code: 'INPUT_INVALID',
    })
  })
})
