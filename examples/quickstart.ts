// An order that waits for a person, and would go on waiting through crashes and deploys.
import assert from 'node:assert/strict'
import { activity, open, signal, TIMEOUT, workflow } from 'pawl'

const charge = activity('charge_card', async (order: { id: string; cents: number }, ctx) => {
  console.log(`charging ${order.cents} cents, idempotency key ${ctx.idempotencyKey}`)
  return `receipt-${order.id}`
})

const approval = signal<{ approved: boolean }>('approval')

const checkout = workflow('checkout', async (ctx, order: { id: string; cents: number }) => {
  const decision = await ctx.wait(approval, { timeout: '24h' })
  if (decision === TIMEOUT || !decision.approved) return { status: 'rejected' as const }
  const receipt = await ctx.run(charge, order)
  await ctx.sleep('1s')
  return { status: 'paid' as const, receipt }
})

const pawl = await open('sqlite:./pawl.db', { workflows: [checkout], activities: [charge] })
pawl.work()
const run = await pawl.start(checkout, { id: 'A1', cents: 1999 })
await run.signal(approval, { approved: true })
const result = await run.result()
console.log(result)
await pawl.close()

assert.deepEqual(result, { status: 'paid', receipt: 'receipt-A1' })
