// An order as a graph: steps say what they come after, and what undoes them. One order goes well; the other cannot be
// shipped, so everything that was done for it is undone, newest first.
import assert from 'node:assert/strict'
import { graph, open, PermanentError, query, RunError, signal, TIMEOUT } from 'pawl'

interface Order {
  id: string
  cents: number
  items: string[]
  country: string
}

const approval = signal<{ approved: boolean; by: string }>('approval')
const story: string[] = []
const tell = (order: Order, event: string): void => {
  story.push(event)
  console.log(`${order.id}  ${event}`)
}

const fulfilment = graph<Order>('order_fulfilment')
  .step('validate', ({ input }) => {
    if (input.items.length === 0) throw new PermanentError('an order without items')
    tell(input, 'is valid')
    return { total: input.cents * input.items.length }
  })
  // These two come after the same step, and so run at the same time.
  .step('reserve', { after: ['validate'] }, ({ input }) => {
    tell(input, `has ${input.items.length} items reserved`)
    return { shelf: `shelf of ${input.id}` }
  })
  .compensate(({ input, result }) => tell(input, `gives up the ${result.shelf}`))
  .step(
    'charge',
    { after: ['validate'], retry: { maxAttempts: 3, initial: '50ms' }, startToClose: '30s' },
    ({ input, results, attempt, idempotencyKey }) => {
      if (attempt === 1) throw new Error('the bank did not answer')
      // Every attempt has the same key, so the bank can tell that it is asked again.
      assert(idempotencyKey.endsWith('step:charge#1'))
      tell(input, `is charged ${results.validate.total} cents, at attempt ${attempt}`)
      return { receipt: `receipt-${input.id}` }
    },
  )
  .compensate(({ input, result }) => tell(input, `is refunded for ${result.receipt}`))
  .wait('approval', { after: ['reserve', 'charge'], timeout: '1h' }, approval)
  .step('decide', { after: ['approval'] }, ({ input, results }) => {
    if (results.approval === TIMEOUT || !results.approval.approved) throw new PermanentError('nobody approved it')
    tell(input, `is approved by ${results.approval.by}`)
  })
  .each('pack', { after: ['decide'], over: ({ input }) => input.items, parallel: 2 }, ({ input, item }) => {
    tell(input, `has its ${item} packed`)
    return `box with ${item}`
  })
  .step('ship', { after: ['pack'], delay: '200ms' }, ({ input, results }) => {
    if (input.country === 'Atlantis') throw new PermanentError('no ship goes to Atlantis')
    tell(input, `is shipped in ${results.pack.length} boxes`)
    return { tracking: `track-${input.id}` }
  })
  // Only if shipping failed; the run fails all the same.
  .step('apologise', { after: ['ship'], rule: 'oneFailed' }, ({ input }) => tell(input, 'comes with an apology'))
  .output(({ results }) => ({ ...results.charge, ...results.ship }))

const pawl = await open('sqlite:./pawl.db', { workflows: [fulfilment] })
pawl.work()
const good: Order = {
  id: 'ORD-1',
  cents: 999,
  items: ['kettle', 'cup', 'spoon'],
  country: 'Iceland',
}
const bad: Order = { ...good, id: 'ORD-2', items: ['trident'], country: 'Atlantis' }

const run = await pawl.start(fulfilment, good, { workflowId: good.id })
await run.signal(approval, { approved: true, by: 'Ada' })
const shipped = await run.result()
console.log(good.id, shipped, '\n')

story.length = 0
const other = await pawl.start(fulfilment, bad, { workflowId: bad.id })
await other.signal(approval, { approved: true, by: 'Grace' })
const error = await other.result().catch((reason: unknown) => reason)
console.log(bad.id, (await other.describe()).status, error instanceof RunError && error.message)
const steps = await other.query(query<void, { name: string; status: string }[]>('steps'))
console.log(steps.map(({ name, status }) => `${name} ${status}`).join(', '))
await pawl.close()

assert.deepEqual(shipped, { receipt: 'receipt-ORD-1', tracking: 'track-ORD-1' })
assert.deepEqual(story.slice(-3), [
  'comes with an apology',
  'is refunded for receipt-ORD-2',
  'gives up the shelf of ORD-2',
])
