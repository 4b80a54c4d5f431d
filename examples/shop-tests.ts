// The tests of a small shop, with Node's own test runner: a day of waiting, retries, a saga, a schedule, a child for each item
// and a time limit. All of it in virtual time, so that the whole file takes less than two seconds.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { activity, PermanentError, RunError, signal, TIMEOUT, workflow } from 'pawl'
import { simulate, testEngine } from 'pawl/testing'

interface Order {
  readonly id: string
  readonly items: readonly string[]
}

const charge = activity('charge', { retry: { maxAttempts: 4 } }, async (id: string) => `receipt ${id}`)
const refund = activity('refund', async (receipt: string) => `refunded ${receipt}`)
const pack = activity('pack', { startToClose: '5m', retry: { maxAttempts: 2 } }, async (item: string) => item)
const approval = signal<boolean>('approval')

const ship = workflow('ship', async (ctx, item: string) => ctx.run(pack, item))
const order = workflow('order', async (ctx, { id, items }: Order) => {
  const approved = await ctx.wait(approval, { timeout: '24h' })
  if (approved === TIMEOUT || !approved) return 'rejected'
  return ctx.saga(async (saga) => {
    const receipt = await saga.run(charge, id)
    saga.compensate(async (undo) => undo.run(refund, receipt))
    await saga.map(items, { key: (item) => item }, async (each, item) => each.child(ship, item))
    return 'shipped'
  })
})
const report = workflow('report', async (ctx) => new Date(ctx.now()).toISOString())

const quiet = { log: () => {} }
const shop = { workflows: [order, ship, report], activities: [charge, refund, pack], logger: quiet }

await test('nobody approves within a day', async () => {
  await using engine = await testEngine(shop)
  assert.equal(await engine.execute(order, { id: 'A1', items: [] }), 'rejected')
})

await test('an order is charged once, although the card service is away for a while, and every item is shipped', async () => {
  await using engine = await testEngine(shop)
  const stub = engine.stub(charge, async (id) => {
    if (stub.calls.length < 3) throw new Error('try again later')
    return `receipt ${id}`
  })
  const packed = engine.stub(pack, async (item) => item)
  const run = await engine.start(order, { id: 'A1', items: ['hat', 'coat'] })
  await engine.clock.advance('23h')
  await run.signal(approval, true)
  assert.equal(await run.result(), 'shipped')
  assert.equal(stub.calls.length, 3)
  assert.deepEqual([...packed.calls].sort(), ['coat', 'hat'])
})

await test('what cannot be packed is paid back', async () => {
  await using engine = await testEngine(shop)
  engine.stub(pack, async (item) => {
    throw new PermanentError(`there is no ${item} left`)
  })
  const refunds = engine.stub(refund, async () => 'refunded')
  const run = await engine.start(order, { id: 'A1', items: ['hat'] })
  await run.signal(approval, true)
  await assert.rejects(run.result(), RunError)
  assert.deepEqual(refunds.calls, ['receipt A1'])
})

await test('a packer that takes too long is given up after the second try', async () => {
  await using engine = await testEngine(shop)
  const slow = engine.stub(pack, async (item) => {
    await engine.clock.sleep('1h')
    return item
  })
  await assert.rejects(engine.execute(ship, 'hat'), /took longer than 300000 ms/)
  assert.equal(slow.calls.length, 2)
})

await test('the report starts every night, in summer and in winter', async () => {
  await using engine = await testEngine(shop)
  await engine.clock.set(new Date('2027-03-26T12:00:00Z'))
  await engine.schedules.set('nightly', {
    cron: '0 2 * * *',
    timeZone: 'Europe/Berlin',
    workflow: report,
  })
  await engine.clock.advance('4d')
  const runs = await engine.list({ workflow: report })
  assert.equal(runs.items.length, 4)
})

await test('whatever crashes, an order is charged under one key', async () => {
  let keys = new Set<string>()
  const pays = activity('charge', async (id: string, ctx) => {
    keys.add(ctx.idempotencyKey)
    return `receipt ${id}`
  })
  // A worker that dies costs an attempt, so what must not fail for that has some to spare.
  const packs = activity('pack', async (item: string) => item)
  const futures = { ...shop, activities: [pays, refund, packs], seeds: 25 }
  await simulate(futures, async (engine) => {
    keys = new Set()
    const run = await engine.start(order, { id: 'A1', items: ['hat'] })
    await run.signal(approval, true)
    assert.equal(await run.result(), 'shipped')
    assert.equal(keys.size, 1)
  })
})
