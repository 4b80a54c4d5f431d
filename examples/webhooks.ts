// A callback from a program that knows nothing of pawl but a token, and messages that start the run they are for.
import assert from 'node:assert/strict'
import { open, PawlError, signal, TIMEOUT, update, workflow } from 'pawl'

// What would be sent to the supplier, and what the supplier sends back.
const sent = Promise.withResolvers<string>()

const purchase = workflow('purchase', async (ctx, what: string) => {
  const answer = ctx.webhook<{ ok: boolean }>('supplier')
  await ctx.run('ask the supplier', () => sent.resolve(answer.token))
  const said = await ctx.wait(answer, { timeout: '2d' })
  if (said === TIMEOUT) return `no answer about ${what}`
  return said.ok ? `${what} is on its way` : `no ${what}`
})

const add = signal<string>('add')
const total = update<void, number>('total')
const basket = workflow('basket', async (ctx, owner: string) => {
  const items: string[] = []
  ctx.on(add, (item) => void items.push(item))
  ctx.on(total, () => items.length)
  await ctx.wait(() => items.includes('that is all'))
  return `${owner}: ${items.join(', ')}`
})

const pawl = await open('sqlite:./pawl.db', { workflows: [purchase, basket] })
pawl.work()

const run = await pawl.start(purchase, 'paint')
const token = await sent.promise
// In earnest this is in the handler of an HTTP request, in any process that has the store open.
await pawl.resolve(token, { ok: true })
await pawl.resolve(token, { ok: true }) // the same answer again is fine
const other = await pawl.resolve(token, { ok: false }).catch((error: unknown) => error)
const ordered = await run.result()
console.log(ordered, other instanceof PawlError && other.code)

// The first webhook starts the basket; all others find it.
const to = { input: 'Ada', workflowId: 'basket-of-Ada' }
for (const payload of ['pen', 'ink']) await pawl.signalWithStart(basket, { ...to, signal: add, payload })
const { run: filled, result: count } = await pawl.updateWithStart(basket, { ...to, update: total })
await filled.signal(add, 'that is all')
const bought = await filled.result()
console.log(count, bought)
await pawl.close()

assert.equal(ordered, 'paint is on its way')
assert.ok(other instanceof PawlError && other.code === 'TOKEN_INVALID')
assert.deepEqual([count, bought], [2, 'Ada: pen, ink, that is all'])
