// The workflows of `pawl dev --demo`: a shop at night. Orders wait for approvals, a bank does not always answer, trips
// are undone, and regions are settled by a schedule.
import { PermanentError, RetryableError } from '../../core/base/errors.ts'
import { sleep, systemClock } from '../../core/runtime/clock.ts'
import { type ActivityContext, activity, graph, query, signal, TIMEOUT, workflow } from '../../index.ts'

export interface SampleOrder {
  readonly number: number
  readonly cents: number
  readonly region: string
}

/** Orders above this wait longer for a person. */
export const APPROVAL_CENTS = 10_000

export const approval = signal<{ readonly by: string }>('approval')
const stage = query<void, string>('stage')

function takes(ms: number, stop?: AbortSignal): Promise<void> {
  return sleep(systemClock, ms, stop)
}

export const orders = graph<SampleOrder>('order_fulfilment')
  .step('validate', async ({ input }) => {
    await takes(200)
    if (input.number % 17 === 0) throw new PermanentError(`order ${input.number} has no address`)
    return { cents: input.cents }
  })
  .step('reserve', { after: ['validate'] }, async ({ input }) => {
    await takes(600)
    return { shelf: `${input.region}-${input.number % 40}` }
  })
  .compensate(async () => takes(300))
  .step('charge', { after: ['validate'], retry: { maxAttempts: 3, initial: '1s' } }, async ({ input, attempt }) => {
    await takes(900)
    if (input.number % 7 === 0) throw new PermanentError('the card was declined', { details: { code: 'declined' } })
    if (input.number % 3 === 0 && attempt < 2) throw new RetryableError('the bank did not answer', { after: '2s' })
    return { receipt: `R-${input.number}` }
  })
  .compensate(async () => takes(400))
  .wait('approval', { after: ['reserve', 'charge'], timeout: '1h' }, approval)
  .step('ship', { after: ['approval', 'reserve'], delay: '2s' }, async ({ input, results }) => {
    await takes(1_200)
    if (results.approval === TIMEOUT) throw new PermanentError('nobody approved the order in time')
    return { parcel: `P-${input.number}` }
  })
  .output(({ results }) => results.ship)

const book = activity('book', async (what: string, ctx: ActivityContext) => {
  await takes(700, ctx.signal)
  return { what, booking: `${what}-${ctx.idempotencyKey.slice(-4)}` }
})
const cancelBooking = activity('cancel_booking', async (_: string, ctx: ActivityContext) => takes(500, ctx.signal))
const pay = activity('pay', async (trip: { readonly number: number }, ctx: ActivityContext) => {
  await takes(800, ctx.signal)
  if (trip.number % 3 === 0) throw new PermanentError('the card was declined')
  return `R-${trip.number}`
})

export const trips = workflow('trip_booking', async (ctx, trip: { readonly number: number }) => {
  let at = 'booking'
  ctx.on(stage, () => at)
  return ctx.saga(async (saga) => {
    const flight = await saga.run(book, 'flight')
    saga.compensate((undo) => undo.run(cancelBooking, flight.booking, { key: 'cancel-flight' }))
    const hotel = await saga.run(book, 'hotel', { key: 'hotel' })
    saga.compensate((undo) => undo.run(cancelBooking, hotel.booking, { key: 'cancel-hotel' }))
    at = 'paying'
    return saga.run(pay, trip)
  })
})

const sum = activity('sum_region', async (region: string, ctx: ActivityContext) => {
  await takes(1_000, ctx.signal)
  return { region, orders: 12 }
})
const region = workflow('settle_region', async (ctx, name: string) => ctx.run(sum, name))

export const settlement = workflow('settlement', async (ctx) => {
  const all = ['eu', 'us', 'asia'].map((name) => ctx.child(region, name, { key: name }))
  ctx.setAttributes({ regions: all.length })
  return Promise.all(all)
})

/** Waits for days: something to look at that does not move. */
export const reminders = workflow('subscription_reminder', async (ctx, customer: string) => {
  for (let month = 1; month <= 3; month++) {
    await ctx.sleep('30d')
    await ctx.run('send_reminder', { key: `reminder-${month}` }, () => `reminder ${month} to ${customer}`)
  }
})

/** Two versions of a graph as data: the second one asks for more, and pays. */
export const parcels = [
  {
    name: 'parcel',
    parameters: { city: { type: 'string', required: true } },
    nodes: [{ id: 'book', handler: 'book' }],
  },
  {
    name: 'parcel',
    parameters: {
      city: { type: 'string', required: true, description: 'where it goes' },
      express: { type: 'boolean', default: false },
    },
    nodes: [
      { id: 'book', handler: 'book' },
      { id: 'pay', handler: 'pay', after: ['book'] },
    ],
  },
] as const

export const samples = {
  workflows: [orders, trips, settlement, region, reminders],
  activities: [book, cancelBooking, pay, sum],
} as const
