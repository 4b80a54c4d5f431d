// A run that never has a long history: every few messages it continues as new, and nothing is lost in between.
import assert from 'node:assert/strict'
import { open, query, signal, workflow } from 'pawl'

interface Account {
  readonly cents: number
  readonly deposits: number
}

const deposit = signal<number>('deposit')
const close = signal('close')
const balance = query<void, number>('balance')

const account = workflow('account', async (ctx, { cents, deposits }: Account): Promise<Account> => {
  let now = cents
  let seen = deposits
  let closed = false
  ctx.on(balance, () => now)
  ctx.on(close, () => {
    closed = true
  })
  // Three deposits to a generation, so that there is something to see. In earnest: ctx.info.historyEvents > 5_000.
  while (seen - deposits < 3) {
    const next = await ctx.race({ cents: ctx.wait(deposit), closed: ctx.wait(() => closed) })
    if (next.winner === 'closed') return { cents: now, deposits: seen }
    now += next.value
    seen++
  }
  ctx.setAttributes({ cents: now })
  return ctx.continueAsNew({ cents: now, deposits: seen })
})

const pawl = await open('sqlite:./pawl.db', { workflows: [account] })
pawl.work()

const first = { cents: 0, deposits: 0 }
const run = await pawl.start(account, first, { workflowId: 'account-7', memo: { owner: 'Ada' } })
for (let n = 1; n <= 8; n++) await run.signal(deposit, n, { messageId: `slip-${n}` })
// The same slip once more. Its generation may be over; it is not taken again.
await run.signal(deposit, 1, { messageId: 'slip-1' })
await run.signal(close)
const result = await run.result()
console.log(result, await run.query(balance))

const { generation, workflowId, memo, attributes } = await run.describe()
console.log(`${workflowId} ended in generation ${generation}`, memo, attributes)
const past: string[] = []
for await (const { type } of run.history({ generation: 1 })) past.push(type)
console.log(`generation 1: ${past[0]} … ${past.at(-1)}`)
await pawl.close()

assert.deepEqual(result, { cents: 36, deposits: 8 })
assert.equal(generation, 3)
assert.deepEqual(attributes, { cents: 21 })
assert.deepEqual([past[0], past.at(-1)], ['RunStarted', 'RunContinued'])
