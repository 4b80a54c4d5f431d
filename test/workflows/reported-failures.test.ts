// Failures that users of other engines have reported, as tests that pass here.
import { activity, RunError, signal, TIMEOUT, workflow } from 'pawl'
import { testEngine } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { Gate, historyOf, kinds, rejection, useStore, waitsFor } from './each-store.ts'

const go = signal<string>('go')

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('parallel branches that ended in another order than they began are replayed in that order', async () => {
    const gates = [new Gate(), new Gate(), new Gate()]
    const order: number[][] = []
    const fan = workflow('fan', async (ctx) => {
      const seen: number[] = []
      const branch = async (n: number): Promise<void> => {
        await ctx.run('first', { key: `first ${n}` }, () => gates[n]?.opened)
        seen.push(n)
        await ctx.run('second', () => seen.length)
      }
      await Promise.all([branch(0), branch(1), branch(2)])
      const word = await ctx.wait(go)
      order.push(seen)
      return { word, seen }
    })
    const first = await bench.worker({ workflows: [fan] })
    const run = await first.engine.start(fan)
    for (const n of [2, 0, 1]) {
      gates[n]?.open()
      await until(run, `[first ${n}]`)
    }
    await waitsFor(run, 'signal')
    await first.engine.close()
    // Another process, which has only the history.
    const second = await bench.serve({ workflows: [fan] })
    await second.get(run.runId).signal(go, 'on')
    expect(await second.get(run.runId).result()).toEqual({ word: 'on', seen: [2, 0, 1] })
    expect(order).toEqual([[2, 0, 1]])
  })

  test('a race keeps its winner although the loser finishes before or during the replay', async () => {
    const gate = new Gate()
    const racing = workflow('racing', async (ctx) => {
      const slow = ctx.run('slow', () => gate.opened.then(() => 'slow'))
      const first = await Promise.race([slow, ctx.sleep(5).then(() => 'timer')])
      const last = await slow
      await ctx.wait(go)
      return [first, last]
    })
    const first = await bench.worker({ workflows: [racing] }, { warm: 0 })
    const run = await first.engine.start(racing)
    await until(run, 'sleep:sleep#1')
    gate.open()
    await waitsFor(run, 'signal')
    await first.engine.close()
    const second = await bench.serve({ workflows: [racing] })
    await second.get(run.runId).signal(go, '')
    expect(await second.get(run.runId).result()).toEqual(['timer', 'slow'])
  })

  test('a gather with one failing branch fails once, and the others neither hang nor repeat', async () => {
    const ran: string[] = []
    const step = (name: string, fails: boolean) => () => {
      ran.push(name)
      if (fails) throw new Error(`${name} fails`)
      return name
    }
    const gather = workflow('gather', async (ctx) => {
      const failed = await ctx
        .all({
          one: ctx.run('one', { retry: 'none' }, step('one', false)),
          two: ctx.run('two', { retry: 'none' }, step('two', true)),
          three: async (own) => {
            await own.sleep('1h')
            return own.run('three', step('three', false))
          },
        })
        .catch((error: unknown) => (error as Error).message)
      await ctx.wait(go)
      return failed
    })
    const engine = await bench.serve({ workflows: [gather] }, { warm: 0 })
    const run = await engine.start(gather)
    await waitsFor(run, 'signal')
    await run.signal(go, '')
    expect(await run.result()).toContain('two fails')
    expect(ran.toSorted()).toEqual(['one', 'two'])
  })

  test('an oversize payload fails what it belongs to, says how large it is, and wedges nothing', async () => {
    const big = 'x'.repeat(2_000_000)
    const make = activity('make', { retry: 'none' }, async () => big)
    const careless = workflow('careless', async (ctx) => {
      const made = await ctx.run(make).catch((error: unknown) => (error as Error).message)
      await ctx.wait(go)
      return typeof made === 'string' && made.includes('limit') ? 'told' : made
    })
    const huge = workflow('huge', async () => big)
    const engine = await bench.serve({ workflows: [careless, huge], activities: [make] })
    expect(await rejection(engine.start(careless, big as never))).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    })
    const run = await engine.start(careless)
    await waitsFor(run, 'signal')
    expect(await rejection(run.signal(go, big))).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
    await run.signal(go, 'small')
    expect(await run.result()).toBe('told')
    const failed = (await rejection(engine.execute(huge))) as RunError
    expect(failed).toBeInstanceOf(RunError)
    expect(failed.failure).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
  })

  test('a child that is cancelled while it starts is gone, and its parent is told', async () => {
    let begun = 0
    const child = workflow('child', async (ctx) => {
      begun++
      await ctx.wait(go)
      return 'went'
    })
    const parent = workflow('parent', async (ctx) => {
      const held = ctx.child(child)
      held.cancel('never mind')
      const same = await held.catch((error: unknown) => (error as Error).name)
      const race = await ctx.race({ child: ctx.child(child), now: ctx.sleep(0) })
      return [same, race.winner]
    })
    const engine = await bench.serve({ workflows: [parent, child] })
    const run = await engine.start(parent)
    expect(await run.result()).toEqual(['RunError', 'now'])
    const children = (await engine.list({ workflow: child })).items
    for (const { runId } of children) await rejection(engine.get(runId).result())
    const ended = (await engine.list({ workflow: child })).items
    expect(ended.every(({ status }) => status === 'cancelled')).toBe(true)
    expect(begun).toBeLessThanOrEqual(2)
  })

  test('S7: a query on a run of 10,000 events is answered, and other runs go on meanwhile', {
    timeout: 60_000,
  }, async () => {
    const { query } = await import('pawl')
    const sum = query<void, number>('sum')
    const long = workflow('long', async (ctx, steps: number) => {
      let total = 0
      ctx.on(sum, () => total)
      for (let n = 0; n < steps; n += 100) {
        const part = Array.from({ length: 100 }, (_, k) => ctx.run('add', () => n + k))
        for (const each of await Promise.all(part)) total += each
      }
      await ctx.wait(go)
      return total
    })
    const quick = workflow('quick', async (ctx) => ctx.run('one', () => 1))
    const engine = await bench.serve({ workflows: [long, quick] })
    const run = await engine.start(long, 5_000)
    await until(run, 'wait:go#1')
    const before = await historyOf(run)
    expect(before.length).toBeGreaterThan(10_000)
    const answers = Promise.all(Array.from({ length: 3 }, () => run.query(sum)))
    for (let n = 0; n < 5; n++) expect(await engine.execute(quick)).toBe(1)
    expect(await answers).toEqual([12_497_500, 12_497_500, 12_497_500])
    expect(await historyOf(run)).toEqual(before)
  })
})

test('S3: a signal that arrives exactly at its time-out wins, on replay as well', async () => {
  const waits = workflow('waits', async (ctx) => {
    const got = await ctx.wait(go, { timeout: '1h' })
    await ctx.sleep('1s')
    return got === TIMEOUT ? 'timeout' : got
  })
  const engine = await testEngine({ workflows: [waits], skipTime: false })
  const run = await engine.start(waits)
  await engine.idle()
  const due = (await run.describe()).createdAt.getTime() + 3_600_000
  // Nobody works at that moment; both are there when a worker comes.
  await engine.away(due - engine.clock.now() - 1)
  const told = run.signal(go, 'in time')
  await engine.clock.advance(1)
  await told
  await engine.crash()
  await engine.clock.advance('1m')
  expect(await run.result()).toBe('in time')
  await engine.close()
})

/** Resolves once something has been recorded under a key. */
async function until(run: Parameters<typeof historyOf>[0], key: string): Promise<void> {
  const settled = new Set(['StepCompleted', 'TimerFired', 'WaitStarted'])
  for (;;) {
    const entries = await historyOf(run)
    if (entries.some(({ type, step }) => step === key && settled.has(type))) return
    await new Promise((resolve) => setImmediate(resolve))
  }
}
