// What people do to runs: let them rest and go on, try again, go back to a step, and try something else from there.
import { activity, type Engine, RunError, type RunHandle, signal, workflow } from 'pawl'
import { beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/core/runtime/clock.ts'
import { systemRandom } from '../../src/core/runtime/random.ts'
import { MemoryStore } from '../../src/core/stores/memory/store.ts'
import { wrapped } from '../../src/core/stores/wrapped.ts'
import { Engine as EngineOf, registryOf } from '../../src/engine.ts'
import { Gate, historyOf, kinds, rejection, until, useStore, waitsFor } from './each-store.ts'

const go = signal<string>('go')

const calls: string[] = []
let declines = true

const charge = activity('charge', { retry: 'none' }, async (cents: number, ctx) => {
  calls.push(`charge ${cents}`)
  keys.push(ctx.idempotencyKey)
  if (declines) throw new Error('declined')
  return `charged ${cents}`
})
const keys: string[] = []

const order = workflow('order', async (ctx, cents: number) => {
  const reserved = await ctx.run('reserve', () => {
    calls.push('reserve')
    return `reserved for ${cents}`
  })
  const payment = await ctx.run(charge, cents)
  const shipped = await ctx.run('ship', () => {
    calls.push('ship')
    return 'shipped'
  })
  return [reserved, payment, shipped]
})

const paused = async (run: RunHandle<unknown>): Promise<void> => {
  await until(
    () => run.describe(),
    ({ status }) => status === 'paused',
  )
}

beforeEach(() => {
  calls.length = 0
  keys.length = 0
  declines = true
})

async function failedOrder(engine: Engine): Promise<RunHandle<string[]>> {
  const run = await engine.start(order, 5)
  expect(await rejection(run.result())).toBeInstanceOf(RunError)
  declines = false
  return run
}

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('V9: retry goes on where a run failed; steps that are recorded do not run again', async () => {
    const engine = await bench.serve({ workflows: [order], activities: [charge] })
    const run = await failedOrder(engine)
    await run.retry()
    expect(await run.result()).toEqual(['reserved for 5', 'charged 5', 'shipped'])
    expect(calls).toEqual(['reserve', 'charge 5', 'charge 5', 'ship'])
    expect(new Set(keys).size).toBe(1)
    const record = await run.describe()
    expect([record.generation, record.status]).toEqual([2, 'completed'])
    expect(await rejection(run.retry())).toMatchObject({ code: 'RUN_ENDED' })
    expect((await historyOf(run))[0]).toMatchObject({ reason: 'retried', attempt: 2 })
  })

  test('V9: reset goes back to a step, and everything after it is done once more', async () => {
    const engine = await bench.serve({ workflows: [order], activities: [charge] })
    declines = false
    const run = await engine.start(order, 7)
    await run.result()
    await run.reset({ step: 'charge' })
    expect(await run.result()).toEqual(['reserved for 7', 'charged 7', 'shipped'])
    expect(calls).toEqual(['reserve', 'charge 7', 'ship', 'charge 7', 'ship'])
    // It is another charge, and has another key.
    expect(new Set(keys).size).toBe(2)
    expect(await rejection(run.reset({ step: 'refund' }))).toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('activity:charge#1'),
    })
  })

  test('V9: only a run at rest is reset or retried', async () => {
    const waiting = workflow('waiting', async (ctx) => ctx.wait(go))
    const engine = await bench.serve({ workflows: [waiting] })
    const run = await engine.start(waiting)
    await waitsFor(run, 'signal')
    expect(await rejection(run.retry())).toMatchObject({ code: 'RUN_NOT_AT_REST' })
    expect(await rejection(run.reset({ step: 'go' }))).toMatchObject({ code: 'RUN_NOT_AT_REST' })
    await run.terminate('done with it')
    expect(await rejection(run.result())).toBeInstanceOf(RunError)
    await run.retry()
    await run.signal(go, 'again')
    expect(await run.result()).toBe('again')
  })

  test('V9: two people who retry at once start it once', async () => {
    const engine = await bench.serve({ workflows: [order], activities: [charge] })
    const run = await failedOrder(engine)
    const other = (await bench.engine()).get(run.runId)
    const outcomes = await Promise.allSettled([run.retry(), other.retry()])
    expect(outcomes.some(({ status }) => status === 'fulfilled')).toBe(true)
    await run.result()
    expect(calls.filter((call) => call === 'charge 5')).toHaveLength(2)
    expect(calls.filter((call) => call === 'ship')).toHaveLength(1)
  })

  test('a fork shares the past of a run up to a step, with another input or other results, and leaves it as it is', async () => {
    const engine = await bench.serve({ workflows: [order], activities: [charge] })
    declines = false
    const run = await engine.start(order, 9, { attributes: { region: 'eu' } })
    await run.result()
    const before = await historyOf(run)
    const paid = await run.fork({ step: 'charge', results: { charge: 'paid by phone' } })
    expect(await paid.result()).toEqual(['reserved for 9', 'paid by phone', 'shipped'])
    const cheaper = await run.fork({ step: 'charge', input: 3 })
    expect(await cheaper.result()).toEqual(['reserved for 9', 'charged 3', 'shipped'])
    const whatIf = await run.fork({ step: 'ship', results: { reserve: 'reserved by hand' } })
    expect(await whatIf.result()).toEqual(['reserved by hand', 'charged 9', 'shipped'])
    expect(calls).toEqual(['reserve', 'charge 9', 'ship', 'ship', 'charge 3', 'ship', 'ship'])
    expect(await historyOf(run)).toEqual(before)
    expect(new Set([run.runId, paid.runId, cheaper.runId, whatIf.runId]).size).toBe(4)
    expect((await paid.describe()).attributes).toEqual({ region: 'eu' })
    expect((await historyOf(paid))[1]).toMatchObject({ reason: 'forked', forkedFrom: run.runId })
  })

  test('V11: a paused run finishes its running steps, stays paused, keeps its messages, and says why', async () => {
    const gate = new Gate()
    const slow = workflow('slow', async (ctx) => {
      const first = await ctx.run('first', () => gate.opened.then(() => 'done'))
      const word = await ctx.wait(go)
      return `${first}, ${word}`
    })
    const engine = await bench.serve({ workflows: [slow] })
    const run = await engine.start(slow)
    await waitsFor(run, 'activity')
    await run.pause('looking into it')
    gate.open()
    await paused(run)
    expect(await run.why()).toMatchObject({ reason: 'paused', note: 'looking into it' })
    const steps = (await historyOf(run)).map(({ type }) => type)
    expect(steps).toContain('StepCompleted')
    await run.signal(go, 'then go')
    // Another build does not take it up: a pause was requested.
    await bench.serve({ workflows: [slow], build: 'another' })
    expect((await run.describe()).status).toBe('paused')
    await run.resume()
    expect(await run.result()).toBe('done, then go')
  })

  test('V11: a run that is to begin later does not begin earlier because it was paused and resumed', async () => {
    const later = workflow('later', async () => 'begun')
    const engine = await bench.serve({ workflows: [later] })
    const run = await engine.start(later, undefined, { delay: '1h' })
    await run.pause()
    await run.resume()
    expect(await run.why()).toMatchObject({ reason: 'timer' })
    expect((await run.describe()).status).toBe('pending')
    await run.terminate('enough')
  })

  test('V11: a paused run can be cancelled', async () => {
    const waiting = workflow('waiting', async (ctx) => ctx.wait(go))
    const engine = await bench.serve({ workflows: [waiting] })
    const run = await engine.start(waiting)
    await waitsFor(run, 'signal')
    await run.pause()
    await paused(run)
    await run.cancel('no longer needed')
    expect(await rejection(run.result())).toMatchObject({ name: 'CancelledError' })
  })

  test('resume with an edit settles a step by hand, and history says so', async () => {
    const engine = await bench.serve({ workflows: [order] })
    const run = await engine.start(order, 2)
    await waitsFor(run, 'noWorker')
    await run.resume({ step: 'charge', result: 'paid in cash', note: 'the machine was broken' })
    expect(await run.result()).toEqual(['reserved for 2', 'paid in cash', 'shipped'])
    const settled = (await historyOf(run)).find(({ step }) => step === 'activity:charge#1')
    expect(settled).toBeDefined()
    const byHand = (await historyOf(run)).flatMap((event) => ('byHand' in event ? [event.byHand] : []))
    expect(byHand).toEqual(['the machine was broken'])
  })

  test('V10: many runs are paused, resumed and retried at once, up to a limit', async () => {
    const engine = await bench.serve({ workflows: [order], activities: [charge] })
    const runs = await engine.startMany(
      order,
      [1, 2, 3, 4].map((input) => ({ input, attributes: { lot: 'a' } })),
    )
    for (const run of runs) await rejection(run.result())
    declines = false
    const lot = { attributes: { lot: 'a' } }
    const first = await engine.batch(lot, { limit: 3 }).retry()
    expect(first).toEqual({ matched: 3, done: 3, failures: [] })
    expect(await engine.batch(lot, { limit: 10 }).retry()).toMatchObject({ matched: 1, done: 1 })
    for (const run of runs) expect(await run.result()).toContain('shipped')
    const waiting = workflow('waiting', async (ctx) => ctx.wait(go))
    const other = await bench.serve({ workflows: [waiting] })
    const more = await other.startMany(waiting, [{}, {}])
    for (const run of more) await waitsFor(run, 'signal')
    const batch = other.batch({ workflow: waiting }, { limit: 5, reason: 'maintenance' })
    expect(await batch.pause()).toMatchObject({ done: 2 })
    for (const run of more) await paused(run)
    expect(await batch.resume()).toMatchObject({ done: 2 })
    expect(await batch.signal(go, 'on')).toMatchObject({ done: 2 })
    for (const run of more) expect(await run.result()).toBe('on')
  })

  test('R19: every attempt of a step that is retried with its run has the key of the first', async () => {
    const seen: string[] = []
    let good = false
    const flaky = workflow('flaky', async (ctx) => {
      const retry = { maxAttempts: 2, initial: '60ms' } as const
      return ctx.run('charge', { retry }, (step) => {
        seen.push(step.idempotencyKey)
        if (!good || step.attempt === 1) throw new Error('down')
        return 'charged'
      })
    })
    const engine = await bench.serve({ workflows: [flaky] })
    const run = await engine.start(flaky)
    await rejection(run.result())
    good = true
    await run.retry()
    expect(await run.result()).toBe('charged')
    expect(seen).toHaveLength(4)
    expect(new Set(seen).size).toBe(1)
  })

  test('V9: a paused run goes back to a step without losing time', async () => {
    const lost: string[] = []
    const waiting = workflow('waiting', async (ctx) => {
      const first = await ctx.run('first', () => 'first')
      return `${first}, ${await ctx.wait(go)}`
    })
    const engine = await bench.serve({ workflows: [waiting] })
    engine.on('lease.lost', ({ runId }) => lost.push(runId))
    const run = await engine.start(waiting)
    await waitsFor(run, 'signal')
    await run.pause()
    await paused(run)
    await run.reset({ step: 'first' })
    await run.signal(go, 'again')
    expect(await run.result()).toBe('first, again')
    expect(lost).toEqual([])
    expect((await run.describe()).generation).toBe(2)
  })

  test('a step that nobody waits for cannot be settled by hand', async () => {
    const engine = await bench.serve({ workflows: [order] })
    const run = await engine.start(order, 2)
    await waitsFor(run, 'noWorker')
    const edit = { step: 'refund', result: 1, note: 'a slip' }
    expect(await rejection(run.resume(edit))).toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('activity:charge#1'),
    })
    await run.terminate('done')
  })
})

test('resume with an edit is right about a run that ends as soon as it has the edit', async () => {
  let ended: Promise<unknown> = Promise.resolve()
  const store = wrapped(new MemoryStore({ clock: systemClock }), (method, call) => async (...args) => {
    const answer = await call(...args)
    if (method === 'post') await ended
    return answer
  })
  const world = { clock: systemClock, random: systemRandom }
  const engine = new EngineOf(store, registryOf({ workflows: [order] }), {}, world)
  try {
    engine.work({ signals: false })
    const run = await engine.start(order, 2)
    await waitsFor(run, 'noWorker')
    ended = run.result()
    await run.resume({ step: 'charge', result: 'in cash', note: 'by hand' })
    expect(await ended).toEqual(['reserved for 2', 'in cash', 'shipped'])
  } finally {
    await engine.close()
  }
})
