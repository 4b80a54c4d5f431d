// Edge cases of testEngine: invalid calls, what a dead worker must not do, and time while a call waits.
import { afterEach, describe, expect, test } from 'vitest'
import { activity, PawlError, signal, TIMEOUT, update, workflow } from '../index.ts'
import { crashAtEveryAwait } from './crash-at-every-await.ts'
import { type TestEngine, type TestOptions, testEngine } from './test-engine.ts'

let engine: TestEngine
const open = async (options: TestOptions = {}): Promise<TestEngine> => {
  engine = await testEngine({ logger: { log: () => {} }, patience: 50, ...options })
  return engine
}
afterEach(() => engine.close())

const go = signal<void>('go')
const waits = workflow('waits', async (ctx) => ctx.wait(go))

describe('time', () => {
  test('does not pass for an update that has been answered', async () => {
    const bump = update<void, number>('bump')
    const long = workflow('long', async (ctx) => {
      let n = 0
      ctx.on(bump, () => ++n)
      await ctx.sleep('30d')
    })
    await open({ workflows: [long] })
    const run = await engine.start(long)
    await engine.idle()
    const begun = engine.clock.now()
    for (let n = 1; n <= 5; n++) expect(await run.update(bump)).toBe(n)
    expect(engine.clock.now()).toBe(begun)
  })

  test('is what the time limit of a wait is measured by', async () => {
    const naps = workflow('naps', async (ctx, ms: number) => ctx.sleep(ms))
    await open({ workflows: [naps, waits] })
    const quick = await engine.start(naps, 2_000)
    await quick.result({ timeout: '5s' })
    const begun = engine.clock.now()
    const late = await engine.start(naps, 60_000)
    await expect(late.result({ timeout: '5s' })).rejects.toMatchObject({ code: 'NOT_ENDED' })
    expect(engine.clock.now() - begun).toBe(5_000)
  })

  test('ends what no worker serves, where a limit is due', async () => {
    const nowhere = activity('nowhere', { queue: 'nobody' }, async () => 1)
    const limited = workflow('limited', async (ctx) => {
      const scope = await ctx.scope('part', { timeout: '1h' }, async (part) => part.run(nowhere))
      const late = ctx.run(nowhere, undefined, { scheduleToStart: '5m' })
      return [scope === TIMEOUT, await late.catch((error: Error) => error.message)]
    })
    await open({ workflows: [limited], activities: [nowhere], queues: ['default'] })
    expect(await engine.execute(limited)).toEqual([true, expect.stringMatching(/was not begun/)])
  })

  test('is not moved by the body of a worker that is dead', async () => {
    let began = 0
    const sleepy = activity('sleepy', async () => {
      began++
      await engine.clock.sleep('1s')
      await engine.clock.sleep('10d')
    })
    const flow = workflow('flow', async (ctx) => ctx.run(sleepy))
    await open({ workflows: [flow], activities: [sleepy] })
    await engine.start(flow)
    await engine.idle()
    await engine.crash()
    const now = engine.clock.now()
    await engine.clock.advance('2s')
    expect([began, engine.clock.now() - now]).toEqual([2, 2_000])
  })
})

test('a worker that was drained is not brought back by a crash; one that is added late is in time', async () => {
  await open({ workflows: [waits] })
  const run = await engine.start(waits, undefined, { queue: 'x' })
  const result = run.result()
  await engine.idle()
  const worker = engine.work({ queues: ['x'] })
  await engine.idle()
  expect((await run.why()).reason).toBe('signal')
  await worker.drain()
  await engine.crash()
  await run.signal(go)
  await engine.idle()
  expect((await run.describe()).status).toBe('waiting')
  engine.work({ queues: ['x'] })
  expect(await result).toBeUndefined()
})

test('crashes that were asked for end with what asked for them', async () => {
  const step = activity('step', async () => 1)
  const flow = workflow('flow', async (ctx) => ctx.run(step))
  await open({ workflows: [flow], activities: [step] })
  await crashAtEveryAwait(engine, flow)
  const stub = engine.stub(step, async () => 1)
  for (let n = 0; n < 5; n++) await engine.execute(flow)
  expect(stub.calls).toHaveLength(5)
})

test('a stub sees what the code gave, and is taken away alone', async () => {
  const tally = activity('tally', async (counts: { n: number }) => counts.n)
  const flow = workflow('flow', async (ctx) => ctx.run(tally, { n: 1 }))
  await open({ workflows: [flow], activities: [tally] })
  const first = engine.stub(tally, async (counts) => (counts.n += 100))
  await engine.execute(flow)
  expect(first.calls).toEqual([{ n: 1 }])
  engine.stub(tally, async () => 7)
  first.restore()
  expect(await engine.execute(flow)).toBe(7)
})

test('what makes no sense is refused, and what comes after the end', async () => {
  await open({ workflows: [waits] })
  const refused = (call: () => unknown): Promise<unknown> =>
    (async () => call())().then(
      () => 'accepted',
      (error: unknown) => (error instanceof PawlError ? error.code : error),
    )
  const unknown = activity.declare<void, void>('unknown')
  const calls = [
    () => engine.clock.set(new Date(Number.NaN)),
    () => engine.clock.set(new Date(0)),
    () => engine.clock.set('2030-01-01' as never),
    () => engine.clock.advance('abc' as never),
    () => engine.crashAtTurn(0, 'before'),
    () => engine.crashAtTurn(1, 'whenever' as never),
    () => engine.stub(unknown, 5 as never),
    () => engine.stub('name' as never, (async () => {}) as never),
  ]
  expect(await Promise.all(calls.map(refused))).toEqual(calls.map(() => 'INPUT_INVALID'))
  const run = await engine.start(waits)
  await engine.close()
  const late = [
    () => run.result(),
    () => engine.work(),
    () => engine.crash(),
    () => engine.away('1d'),
    () => engine.clock.advance('1d'),
  ]
  expect(await Promise.all(late.map(refused))).toEqual(late.map(() => 'WORKER_STOPPED'))
})
