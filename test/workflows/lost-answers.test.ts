// A client that gets no answer asks again; what it is told then may be about a run that has gone on meanwhile.
import { signal, update, workflow } from 'pawl'
import { afterEach, expect, test } from 'vitest'
import { unavailable } from '../../src/core/runtime/availability.ts'
import { systemClock } from '../../src/core/runtime/clock.ts'
import { systemRandom } from '../../src/core/runtime/random.ts'
import { MemoryStore } from '../../src/core/stores/memory/store.ts'
import type { Store } from '../../src/core/stores/store.ts'
import { asItIs, wrapped } from '../../src/core/stores/wrapped.ts'
import { Engine, registryOf } from '../../src/engine.ts'
import { rejection, until } from './each-store.ts'

const add = signal<number>('add')
const deposit = update<number, number>('deposit')

const quick = workflow('quick', async (ctx) => ctx.wait(add))
const renewed = workflow('renewed', async (ctx, round: number) => {
  const n = round === 1 ? await ctx.wait(add) : round
  if (round < 3) ctx.continueAsNew(round + 1)
  return n
})
const account = workflow('account', async (ctx) => {
  let balance = 0
  ctx.on(deposit, (n) => (balance += n))
  await ctx.wait(() => balance > 0)
  return balance
})

const engines: Engine[] = []
afterEach(() => Promise.all(engines.splice(0).map((engine) => engine.close())))

/** The answer to the first call of this kind comes only when the run has ended, and gets lost. */
async function world(loses: 'create' | 'post' = 'create'): Promise<Engine> {
  const store = new MemoryStore({ clock: systemClock })
  let calls = 0
  const late = async <T>(answer: Promise<T>, about: readonly { runId: string }[]): Promise<T> => {
    const answered = await answer
    if (++calls > 1) return answered
    const asks = about.map(({ runId }) => ({ type: 'run', runId }) as const)
    await until(
      () => store.load(asks),
      (all) => all.every((each) => each.type === 'run' && each.run?.endedAt !== undefined),
    )
    throw unavailable('no answer', 'it is lost')
  }
  const losing = wrapped(store, asItIs, {
    ...(loses === 'create' && { create: (runs) => late(store.create(runs), runs) }),
    ...(loses === 'post' && { post: (posts) => late(store.post(posts), posts) }),
  })
  const options = { workflows: [quick, renewed, account] }
  const random = systemRandom
  const served = new Engine(store, registryOf(options), options, { clock: systemClock, random })
  const engine = new Engine(losing, registryOf({}), {}, { clock: systemClock, random })
  engines.push(engine, served)
  await served.work({ signals: false }).ready
  return engine
}

test('a signal that was delivered with its start is not said to have come too late', async () => {
  const engine = await world()
  const run = await engine.signalWithStart(quick, { signal: add, payload: 7 })
  expect(await run.result()).toBe(7)
})

test('nor one that was taken before the run continued as new', async () => {
  const engine = await world()
  const run = await engine.signalWithStart(renewed, { input: 1, signal: add, payload: 7 })
  expect(await run.result()).toBe(3)
})

test('an update that was answered is answered', async () => {
  const engine = await world()
  const { run, result } = await engine.updateWithStart(account, { update: deposit, payload: 5 })
  expect([result, await run.result()]).toEqual([5, 5])
})

test('a signal for the ended run of an earlier call is refused', async () => {
  const engine = await world()
  const begin = { idempotencyKey: 'k', signal: add, payload: 7 } as const
  await engine.signalWithStart(quick, begin)
  expect(await rejection(engine.signalWithStart(quick, begin))).toMatchObject({ code: 'RUN_ENDED' })
})

test('a signal the run has taken before it ended is not said to have come too late', async () => {
  const engine = await world('post')
  const run = await engine.start(quick)
  await run.signal(add, 7)
  expect(await run.result()).toBe(7)
  expect(await rejection(run.signal(add, 8))).toMatchObject({ code: 'RUN_ENDED' })
})

test('nor is a trigger that a run has taken; another one is refused', async () => {
  const engine = await world('post')
  const run = await engine.start(renewed, 2, { pending: true })
  await run.trigger(3)
  expect(await run.result()).toBe(3)
  await run.trigger(3)
  expect(await rejection(run.trigger(2))).toMatchObject({ code: 'RUN_ALREADY_EXISTS' })
})

test('a trigger that comes just after another one was read is refused', async () => {
  const store = new MemoryStore({ clock: systemClock })
  const engineOn = (seam: Store): Engine => {
    const engine = new Engine(
      seam,
      registryOf({ workflows: [quick] }),
      {},
      { clock: systemClock, random: systemRandom },
    )
    engines.push(engine)
    return engine
  }
  const served = engineOn(store)
  await served.work().ready
  const started = await served.start(quick, undefined, { pending: true })
  const held = wrapped(store, asItIs, {
    post: async (posts) => {
      await started.trigger(3)
      await until(
        () => started.describe(),
        ({ status }) => status === 'waiting',
      )
      return store.post(posts)
    },
  })
  const late = engineOn(held).get(started.runId)
  expect(await rejection(late.trigger(2))).toMatchObject({ code: 'RUN_ALREADY_EXISTS' })
})
