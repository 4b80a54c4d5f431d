// What an operator does: find runs, mend what failed, go back to a step, try something else from there, clean up.
import assert from 'node:assert/strict'
import { setTimeout as later } from 'node:timers/promises'
import { activity, open, type RunHandle, workflow } from 'pawl'

let bankIsDown = true
const keys: string[] = []
const charge = activity('charge', { retry: 'none' }, async (cents: number, ctx) => {
  keys.push(ctx.idempotencyKey)
  if (bankIsDown) throw new Error('the bank is down')
  return `charged ${cents}`
})
const order = workflow('order', async (ctx, cents: number) => {
  const charged = await ctx.run(charge, cents)
  ctx.setAttributes({ charged: true })
  await ctx.sleep(cents < 500 ? '10ms' : '1h')
  return charged
})

const pawl = await open('sqlite:./pawl.db', { workflows: [order], activities: [charge] })
pawl.work()
const reaches = async (run: RunHandle<unknown>, status: string): Promise<void> => {
  while ((await run.describe()).status !== status) await later(20)
}
for (const cents of [5, 50, 500]) {
  const attributes = { cents, region: cents < 500 ? 'eu' : 'us' }
  const run = await pawl.start(order, cents, { workflowId: `order-${cents}`, attributes })
  await reaches(run, 'failed')
}

// Found by what they are: all of it must hold.
const wanted = { region: 'eu', cents: { gte: 10 } }
const { items } = await pawl.list({ workflow: order, status: 'failed', attributes: wanted })
const found = items.map(({ workflowId }) => workflowId)
console.log(found, items[0]?.failure?.message)

// The bank is back. A retry goes on under the same idempotency key; a reset is another charge.
bankIsDown = false
const [run, slow] = [pawl.get({ workflowId: 'order-50' }), pawl.get({ workflowId: 'order-500' })]
await run.retry()
console.log(await run.result(), keys.at(-1) === keys[1])
await run.reset({ step: 'charge' })
console.log(await run.result(), keys.at(-1) === keys[1], (await run.describe()).generation)
// A fork is another run with the same past up to a step, here as if it had been paid in cash.
const cash = await run.fork({ step: 'charge', results: { charge: 'paid in cash' } })
console.log(await cash.result(), cash.runId !== run.runId)

await slow.retry()
await reaches(slow, 'waiting')
await slow.pause('asking the customer')
await reaches(slow, 'paused')
console.log(await slow.why())
await slow.resume()
const batch = await pawl.batch({ workflow: order }, { limit: 100, reason: 'closing' }).cancel()
await reaches(slow, 'cancelled')
console.log(batch, await pawl.count({ attributes: { charged: true } }))
await pawl.close()

assert.deepEqual(found, ['order-50'])
assert.deepEqual([keys[1] === keys[3], new Set(keys).size, batch.done], [true, 4, 1])
