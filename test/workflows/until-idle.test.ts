// One call that works until nothing is due or its time is up, as a serverless function makes it.
import { activity, type Engine, open, signal, type Worked, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { unavailable } from '../../src/core/runtime/availability.ts'
import { systemClock } from '../../src/core/runtime/clock.ts'
import { systemRandom } from '../../src/core/runtime/random.ts'
import { MemoryStore } from '../../src/core/stores/memory/store.ts'
import { Engine as EngineOf, registryOf } from '../../src/engine.ts'
import { Gate, kinds, rejection, until, useStore } from './each-store.ts'

const go = signal<number>('go')
const add = activity('add', { retry: { initial: 10 } }, async (n: number, { attempt }) => {
  if (attempt === 1) throw new Error('the first attempt fails')
  return n + 1
})
const child = workflow('child', async (ctx, n: number) => ctx.run(add, n))
const order = workflow('order', async (ctx, n: number) => {
  const one = await ctx.run('one', () => n)
  await ctx.sleep(40)
  const two = await ctx.child(child, one)
  return two + (await ctx.wait(go))
})
const nap = workflow('nap', async (ctx, ms: number) => {
  await ctx.sleep(ms)
  return 'awake'
})
const code = { workflows: [order, child, nap], activities: [add] }

/** What every call must leave. */
async function expectNothingHeld(engine: Engine): Promise<void> {
  expect(await engine.workers()).toEqual([])
  expect(await engine.count({ status: 'running' })).toBe(0)
}

async function call(engine: Engine, options: Parameters<Engine['workUntilIdle']>[0] = {}): Promise<Worked> {
  return engine.workUntilIdle({ signals: false, for: '20s', ...options })
}

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('W14: a call does all that is due and becomes due, and the next one what came meanwhile', async () => {
    const engine = await bench.engine(code)
    expect(await call(engine)).toMatchObject({ ended: 'idle', runs: 0, steps: 0, turns: 0 })
    const run = await engine.start(order, 5)
    const first = await call(engine)
    expect(first).toMatchObject({ ended: 'idle', runs: 1, steps: 3 })
    expect(first.nextDue).toBeUndefined()
    await expectNothingHeld(engine)
    expect((await run.describe()).status).toBe('waiting')
    await run.signal(go, 10)
    expect(await call(engine)).toMatchObject({ ended: 'idle', runs: 1, steps: 0 })
    expect(await run.result()).toBe(16)
    await expectNothingHeld(engine)
  })

  test('W14: what is due after `linger` is for a later call, which the answer names', async () => {
    const engine = await bench.engine(code)
    const runs = await engine.startMany(nap, [{ input: 1_500 }, { input: 3_600_000 }])
    await call(engine, { linger: 0 })
    const found = await call(engine, { linger: 0 })
    expect(found).toMatchObject({ ended: 'idle', runs: 0 })
    const dueIn = (worked: Worked): number => Number(worked.nextDue) - Date.now()
    // The time of object storage has whole seconds.
    expect(dueIn(found)).toBeLessThan(2_500 * bench.slowness)
    const last = await call(engine, { linger: '10s' })
    expect(last).toMatchObject({ ended: 'idle', runs: 1 })
    expect(await runs[0]?.result()).toBe('awake')
    expect(dueIn(last)).toBeGreaterThan(3_500_000)
    expect(dueIn(last)).toBeLessThan(3_700_000)
    await expectNothingHeld(engine)
  })

  test('W14: a step that outlasts the call is cut off, counts as an attempt, and the next call has it again', async () => {
    const attempts: number[] = []
    const long = workflow('long', async (ctx) =>
      ctx.run('long', { retry: { maxAttempts: 2 } }, async (step) => {
        attempts.push(step.attempt)
        if (step.attempt === 1) await new Promise((resolve) => step.signal.addEventListener('abort', resolve))
        return step.attempt
      }),
    )
    const engine = await bench.engine({ workflows: [long] })
    const run = await engine.start(long)
    const first = await call(engine, { for: '800ms', grace: '100ms', lease: '5s' })
    expect(first).toMatchObject({ ended: 'time', runs: 0 })
    expect(first.ms).toBeLessThan(800 + 2_000 * bench.slowness)
    expect(Number(first.nextDue)).toBeLessThanOrEqual(Date.now())
    expect(await engine.workers()).toEqual([])
    expect(await call(engine)).toMatchObject({ ended: 'idle', runs: 1 })
    expect(await run.result()).toBe(2)
    expect(attempts).toEqual([1, 2])
  })

  test('W14: a call that is stopped returns at once, with its tasks in the queue', async () => {
    const begun = new Gate()
    const bodies: string[] = []
    const far = activity('far', { queue: 'far', retry: 'none' }, async (name: string) => {
      bodies.push(name)
      if (bodies.length > 1) return name
      begun.open()
      return new Promise<string>((resolve) => setTimeout(() => resolve(name), 100))
    })
    const both = workflow('both', async (ctx) => Promise.all([ctx.run(far, 'a'), ctx.run(far, 'b')]))
    const engine = await bench.engine({ workflows: [both], activities: [far] })
    const run = await engine.start(both)
    await call(engine)
    const stop = new AbortController()
    const options = { queues: ['far'], concurrency: 1, signal: stop.signal }
    const stopped = call(engine, options)
    await begun.opened
    stop.abort()
    expect(await stopped).toMatchObject({ ended: 'stopped', steps: 1, nextDue: expect.any(Date) })
    expect(bodies).toHaveLength(1)
    expect(await engine.workers()).toEqual([])
    expect(await call(engine, { queues: ['far', 'default'] })).toMatchObject({ ended: 'idle', steps: 1, runs: 1 })
    expect(await run.result()).toEqual(['a', 'b'])
    expect(bodies).toHaveLength(2)
  })

  test('W14: a worker that is alive keeps no call waiting', async () => {
    await bench.serve({ workflows: [] }, { lease: '3s' })
    const engine = await bench.engine(code)
    const { ended, ms } = await call(engine, { linger: 0 })
    expect(ended).toBe('idle')
    expect(ms).toBeLessThan(2_500 * bench.slowness)
  })
})

test('W14: what cannot work is refused', async () => {
  const engine = await open('memory:', code)
  const refused = { code: 'INPUT_INVALID' }
  expect(await rejection(engine.workUntilIdle({ for: 0 }))).toMatchObject(refused)
  expect(await rejection(engine.workUntilIdle({ for: '2h' }))).toMatchObject({
    message: expect.stringContaining('expected 500 ms to 1 h'),
  })
  expect(await rejection(engine.workUntilIdle({ for: '5s', grace: '5s' }))).toMatchObject(refused)
  await engine.close()
  expect(await rejection(engine.workUntilIdle())).toMatchObject({ code: 'WORKER_STOPPED' })
})

test('W14: a store that does not answer is an error; a lost answer at the end leaves nothing held', async () => {
  const store = new MemoryStore({ clock: systemClock })
  let fails: (call: string, isClose: boolean) => boolean = () => true
  const faulty = new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name, target)
      if (typeof method !== 'function') return method
      // Hints are no calls.
      if (name === 'wake' || name === 'close') return method.bind(target)
      return async (given: { readonly close?: true }) => {
        if (fails(String(name), given?.close === true)) throw unavailable('the store', 'it is away')
        return method.call(target, given)
      }
    },
  })
  const world = { clock: systemClock, random: systemRandom }
  const engine = new EngineOf(faulty, registryOf(code), { ...code, logger: { log: () => {} } }, world)
  expect(await rejection(call(engine, { for: '500ms' }))).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  let failures = 0
  fails = (name, isClose) => name === 'renew' && isClose && failures++ < 2
  expect(await call(engine)).toMatchObject({ ended: 'idle' })
  expect(failures).toBeGreaterThan(2)
  fails = () => false
  expect(
    await until(
      () => engine.workers(),
      (all) => all.length === 0,
    ),
  ).toEqual([])
  await engine.close()
})
