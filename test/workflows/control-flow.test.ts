import { ActivityError, activity, signal, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { Gate, kinds, rejection, until, useStore, waitsFor } from './each-store.ts'

const go = signal('go')
const double = activity('double', async (n: number) => n * 2)
const refuse = activity('refuse', { retry: 'none' }, async (what: string) => {
  throw new RangeError(what)
})

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('A2 a workflow runs from the top after every wait, and each completed step runs once', async () => {
    let tops = 0
    const steps: string[] = []
    const tour = workflow('tour', async (ctx) => {
      tops++
      const first = await ctx.run('first', () => steps.push('first'))
      await ctx.wait(go)
      const second = await ctx.run('second', () => steps.push('second'))
      return [first, second]
    })
    // Without warm executions every wait is followed by a replay.
    const engine = await bench.serve({ workflows: [tour] }, { warm: 0 })
    const run = await engine.start(tour)
    await waitsFor(run, 'signal')
    await run.signal(go)
    expect(await run.result()).toEqual([1, 2])
    expect(steps).toEqual(['first', 'second'])
    expect(tops).toBe(2)
  })

  test('A2 a suspended run holds no place in a worker', async () => {
    const waits = workflow('waits', async (ctx) => ctx.wait(go))
    const quick = workflow('quick', async () => 'done')
    const engine = await bench.serve({ workflows: [waits, quick] }, { concurrency: 1 })
    const waiting = await Promise.all([1, 2, 3].map(() => engine.start(waits)))
    for (const run of waiting) await waitsFor(run, 'signal')
    expect(await engine.execute(quick)).toBe('done')
  })

  test('A6 an activity is an ordinary function with typed input and output', async () => {
    const uses = workflow('uses', async (ctx, n: number) => ctx.run(double, n))
    const engine = await bench.serve({ workflows: [uses], activities: [double] })
    expect(await engine.execute(uses, 21)).toBe(42)
    expect(await double.handler(4, undefined as never)).toBe(8)
  })

  test('A8 runs find their code by exact name, and wait for a worker that has it', async () => {
    const known = workflow('known', async () => 1)
    const engine = await bench.serve({ workflows: [known] })
    const strange = workflow('Known', async () => 2)
    const run = await engine.start(strange)
    expect(await waitsFor(run, 'noWorker')).toMatchObject({ type: 'Known' })
    await bench.serve({ workflows: [strange] })
    expect(await run.result()).toBe(2)
  })

  test('A8 a worker without the activity says so when nobody else has it', async () => {
    const uses = workflow('uses', async (ctx) => ctx.run(double, 1))
    const engine = await bench.serve({ workflows: [uses] })
    const run = await engine.start(uses)
    expect(await waitsFor(run, 'noWorker')).toMatchObject({ type: 'double' })
    await bench.serve({ activities: [double] })
    expect(await run.result()).toBe(2)
  })

  test('C1 a step that was recorded is not run again by another engine', async () => {
    let bodies = 0
    const once = workflow('once', async (ctx) => {
      const n = await ctx.run('count', () => ++bodies)
      await ctx.wait(go)
      return n
    })
    const first = await bench.worker({ workflows: [once] })
    const { runId } = await first.engine.start(once)
    await waitsFor(first.engine.get(runId), 'signal')
    await first.engine.close()
    const second = await bench.serve({ workflows: [once] })
    const run = second.get(once, runId)
    await run.signal(go)
    expect(await run.result()).toBe(1)
    expect(bodies).toBe(1)
  })

  test('C2 all steps of Promise.all are in progress at once, and results keep the order of calls', async () => {
    const gates = [new Gate(), new Gate(), new Gate()]
    const begun: number[] = []
    const fan = workflow('fan', async (ctx) =>
      Promise.all(
        gates.map((gate, n) =>
          ctx.run('part', async () => {
            begun.push(n)
            await gate.opened
            return n
          }),
        ),
      ),
    )
    const engine = await bench.serve({ workflows: [fan] })
    const run = await engine.start(fan)
    await until(
      () => begun.length,
      (count) => count === 3,
    )
    for (const gate of gates.toReversed()) gate.open()
    expect(await run.result()).toEqual([0, 1, 2])
  })

  test('C2 Promise.all fails with the first failure, and the code goes on', async () => {
    const gate = new Gate()
    const fan = workflow('fan', async (ctx) => {
      const slow = ctx.run('slow', () => gate.opened)
      try {
        await Promise.all([slow, ctx.run(refuse, 'no')])
        return 'both'
      } catch (error) {
        return error instanceof ActivityError ? error.failure.message : 'something else'
      }
    })
    const engine = await bench.serve({ workflows: [fan], activities: [refuse] })
    expect(await engine.execute(fan)).toBe('no')
    gate.open()
  })

  test('C2 Promise.allSettled gives every outcome', async () => {
    const fan = workflow('fan', async (ctx) => {
      const ends = await Promise.allSettled([ctx.run(double, 4), ctx.run(refuse, 'no')])
      return ends.map((end) => (end.status === 'fulfilled' ? end.value : String(end.reason)))
    })
    const engine = await bench.serve({ workflows: [fan], activities: [double, refuse] })
    const [good, bad] = await engine.execute(fan)
    expect(good).toBe(8)
    expect(bad).toMatch(/activity 'refuse' failed after 1 attempt \(exhausted\): RangeError: no/)
  })

  test('C2 Promise.race is won by what settles first, on every replay alike', async () => {
    const winners: string[] = []
    const late = new Gate()
    const raced = workflow('raced', async (ctx) => {
      const winner = await Promise.race([
        ctx.run('slow', () => late.opened.then(() => 'slow')),
        ctx.run('fast', () => 'fast'),
      ])
      winners.push(winner)
      await ctx.wait(go)
      return winner
    })
    const engine = await bench.serve({ workflows: [raced] }, { warm: 0 })
    const run = await engine.start(raced)
    await until(
      () => winners.length,
      (count) => count === 1,
    )
    late.open()
    await waitsFor(run, 'signal')
    await run.signal(go)
    expect(await run.result()).toBe('fast')
    expect(new Set(winners)).toEqual(new Set(['fast']))
    expect(winners.length).toBeGreaterThan(1)
  })

  test('C2 Promise.any passes over failures, and fails when all do', async () => {
    const any = workflow('any', async (ctx, value: number | undefined) => {
      const last = value === undefined ? ctx.run(refuse, 'b') : ctx.run(double, value)
      return Promise.any([ctx.run(refuse, 'a'), last])
    })
    const engine = await bench.serve({ workflows: [any], activities: [double, refuse] })
    expect(await engine.execute(any, 3)).toBe(6)
    expect(await rejection(engine.execute(any))).toMatchObject({
      failure: { type: 'AggregateError' },
    })
  })

  test('C2 a race leaves its losers behind: the run ends without them', async () => {
    const never = new Gate()
    const raced = workflow('raced', async (ctx) =>
      Promise.race([ctx.run('stuck', () => never.opened), ctx.run('quick', () => 'quick')]),
    )
    const engine = await bench.serve({ workflows: [raced] })
    expect(await engine.execute(raced)).toBe('quick')
  })

  test('C13 code that does not fit its history pauses the run, and fitting code continues it', async () => {
    const v1 = workflow('changing', async (ctx) => {
      await ctx.run('charge', () => 'charged')
      return ctx.wait(go)
    })
    const v2 = workflow('changing', async (ctx) => {
      await ctx.run('chargeCard', () => 'charged twice')
      return ctx.wait(go)
    })
    const v3 = workflow('changing', async (ctx) => {
      const charged = await ctx.run('chargeCard', { was: 'charge' }, () => 'charged twice')
      await ctx.wait(go)
      return charged
    })
    const old = await bench.worker({ workflows: [v1] })
    const { runId } = await old.engine.start(v1)
    await waitsFor(old.engine.get(runId), 'signal')
    await old.engine.close()

    const middle = await bench.worker({ workflows: [v2] })
    const run = middle.engine.get(runId)
    await run.signal(go)
    const why = await waitsFor(run, 'paused')
    expect(why.failure).toMatchObject({ type: 'PawlError', code: 'DETERMINISM' })
    expect(why.failure?.message).toMatch(/step:chargeCard#1[\s\S]*step:charge#1[\s\S]*was:/)
    // The place in the user's code: without it, which of ten calls was it?
    expect(why.failure?.message).toMatch(/ at .*control-flow\.test\.ts:\d+/)
    expect((await run.describe()).status).toBe('paused')
    await middle.engine.close()

    const fixed = await bench.serve({ workflows: [v3] })
    expect(await fixed.get(v3, runId).result()).toBe('charged')
  })

  test('A9 a dynamic definition answers for every name that has none of its own', async () => {
    const own = workflow('own', async () => 'own')
    const any = workflow.dynamic(async (ctx, input) => [ctx.info.name, await ctx.run(named, input)])
    const named = activity.declare<unknown, unknown>('whatever')
    const anyActivity = activity.dynamic((name, input) => `${name} of ${String(input)}`)
    const engine = await bench.serve({ workflows: [own, any], activities: [anyActivity, double] })
    expect(await engine.execute(own)).toBe('own')
    const stranger = workflow.declare<number, unknown>('stranger')
    expect(await engine.execute(stranger, 7)).toEqual(['stranger', 'whatever of 7'])
    expect(() => activity.dynamic(undefined as never)).toThrow(/function/)
    const twice = bench.engine({ workflows: [any, workflow.dynamic(async () => 1)] })
    expect(await rejection(twice)).toMatchObject({ code: 'DEFINITION_CONFLICT' })
  })
})
