// A booking that does not work out, and is undone: newest first, whatever else goes wrong.
import assert from 'node:assert/strict'
import { activity, open, PermanentError, RunError, workflow } from 'pawl'

const booked = new Set<string>()
const book = activity('book', async (what: string, ctx) => {
  booked.add(what)
  return { what, booking: ctx.idempotencyKey.slice(-8) }
})
const undone: string[] = []
const cancel = activity('cancel', async ({ what }: { what: string; booking: string }) => {
  undone.push(what)
  if (what === 'hotel') throw new PermanentError('the hotel does not take it back')
  booked.delete(what)
})
const pay = activity('pay', async (cents: number) => {
  if (cents > 10_000) throw new PermanentError('the card was declined')
  return `paid ${cents}`
})

const trip = workflow('trip', (ctx, cents: number) =>
  ctx.saga(async (saga) => {
    for (const what of ['flight', 'hotel', 'car']) {
      const booking = await saga.run(book, what)
      saga.compensate((undo) => undo.run(cancel, booking))
    }
    return saga.run(pay, cents)
  }),
)

const pawl = await open('sqlite:./pawl.db', { workflows: [trip], activities: [book, cancel, pay] })
pawl.work()
const cheap = await pawl.execute(trip, 9_900)
console.log(cheap, [...booked]) // paid 9900 [ 'flight', 'hotel', 'car' ]
booked.clear()

const run = await pawl.start(trip, 99_000)
const error = await run.result().catch((reason: unknown) => reason)
assert.ok(error instanceof RunError)
// It failed as it did; what could not be undone is told beside that.
console.log(error.failure.cause?.message, [...booked]) // the card was declined [ 'hotel' ]
console.log(error.compensationFailures.map(({ cause }) => cause?.message))
console.log(undone) // newest first: [ 'car', 'hotel', 'flight' ]
await pawl.close()

assert.deepEqual([cheap, [...booked], undone], ['paid 9900', ['hotel'], ['car', 'hotel', 'flight']])
assert.equal(error.compensationFailures.length, 1)
