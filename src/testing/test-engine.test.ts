import { afterEach, expect, test } from 'vitest'
import { compress, encrypt } from '../addons/codecs/index.ts'
import { activity, type Schema, signal, TIMEOUT, workflow } from '../index.ts'
import { type TestEngine, type TestOptions, testEngine } from './test-engine.ts'

const charge = activity('charge', async (cents: number) => ({ paid: cents }))
const approval = signal<boolean>('approval')
const order = workflow('order', async (ctx, cents: number) => {
  const approved = await ctx.wait(approval, { timeout: '24h' })
  if (approved === TIMEOUT) return 'timed out'
  await ctx.sleep('10m')
  const { paid } = await ctx.run(charge, cents)
  return `paid ${paid}`
})

let engine: TestEngine
const open = async (options: Partial<TestOptions> = {}): Promise<TestEngine> => {
  engine = await testEngine({ workflows: [order], activities: [charge], ...options })
  return engine
}
afterEach(() => engine.close())

test('waiting for a result lets time jump to what is due', async () => {
  const { clock } = await open()
  const begun = clock.now()
  const run = await engine.start(order, 5)
  expect(await run.result()).toBe('timed out')
  expect(clock.now() - begun).toBeGreaterThanOrEqual(24 * 3_600_000)
  expect(clock.now() - begun).toBeLessThan(25 * 3_600_000)
})

test('time stands still until the test moves it', async () => {
  const { clock } = await open({ skipTime: false })
  const run = await engine.start(order, 5)
  await run.signal(approval, true)
  await engine.idle()
  expect((await run.why()).reason).toBe('timer')
  await clock.advance('9m')
  expect((await run.why()).reason).toBe('timer')
  await clock.advance('1m')
  expect((await run.describe()).output).toBe('paid 5')
})

test('a stub answers for an activity, and can be taken away', async () => {
  await open()
  const stub = engine.stub(charge, async (cents) => ({ paid: cents * 100 }))
  const run = await engine.start(order, 5)
  await run.signal(approval, true)
  expect(await run.result()).toBe('paid 500')
  expect(stub.calls).toEqual([5])
  stub.restore()
  const next = await engine.start(order, 7)
  await next.signal(approval, true)
  expect(await next.result()).toBe('paid 7')
})

test('a crash loses nothing that was recorded', async () => {
  await open()
  const stub = engine.stub(charge, async (cents) => ({ paid: cents }))
  const run = await engine.start(order, 5)
  await run.signal(approval, true)
  await engine.idle()
  await engine.crash()
  expect(await run.result()).toBe('paid 5')
  await engine.crash()
  expect(stub.calls).toEqual([5])
})

test('the same program runs on SQLite', async () => {
  await open({ store: `sqlite:/tmp/pawl-test-engine-${process.pid}.db` })
  const run = await engine.start(order, 5)
  await run.signal(approval, true)
  expect(await run.result()).toBe('paid 5')
})

test('a stub stands in front of the schemas of its activity', async () => {
  const text: Schema<number, string> = {
    '~standard': { version: 1, vendor: 'test', validate: (n) => ({ value: String(n) }) },
  }
  const quote = activity('quote', { input: text }, async (given) => given)
  const quoted = workflow('quoted', async (ctx, n: number) => ctx.run(quote, n))
  await open({ workflows: [quoted], activities: [quote] })
  const stub = engine.stub(quote, (n) => n.toFixed(2))
  expect(await engine.execute(quoted, 5)).toBe('5.00')
  expect(stub.calls).toEqual([5])
  stub.restore()
  expect(await engine.execute(quoted, 5)).toBe('5')
})

test('code that cannot be replayed is found at once', async () => {
  let calls = 0
  const fickle = workflow('fickle', async (ctx) => {
    await ctx.run('first', () => 1)
    const name = calls++ === 0 ? 'second' : 'other'
    await ctx.run(name, () => 2)
    return 'done'
  })
  await open({ workflows: [fickle] })
  const run = await engine.start(fickle)
  await engine.idle()
  const why = await run.why()
  expect(why).toMatchObject({ reason: 'paused', failure: { code: 'DETERMINISM' } })
})

test('P12: bodies go through codecs, and time waits for them', async () => {
  const codecs = [compress({ above: 0 }), encrypt({ keys: { k1: new Uint8Array(32) }, current: 'k1' })]
  await open({ codecs })
  const run = await engine.start(order, 5)
  await engine.idle()
  expect(await run.why()).toMatchObject({ reason: 'signal' })
  await run.signal(approval, true)
  await engine.idle()
  await engine.crash()
  expect(await run.result()).toBe('paid 5')
})
