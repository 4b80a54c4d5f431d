// The workflow of the demo: an order, as a shop would write it, except that every body writes to the ledger and takes
// long enough to watch.

import { appendFileSync, readFileSync } from 'node:fs'
import { RetryableError } from '../../core/base/errors.ts'
import { sleep, systemClock } from '../../core/runtime/clock.ts'
import { type ActivityContext, activity, signal, workflow } from '../../index.ts'

export interface Order {
  readonly id: string
  readonly cents: number
}

export interface Shipped {
  readonly order: string
  readonly paid: string
  readonly parcel: string
  readonly approvedBy: string
}

/** What the client of the demo knows: a contract and a signal, no code. */
export const order = workflow.declare<Order, Shipped>('order')
export const approval = signal<{ readonly by: string }>('approval')

/** The step during which the worker is killed. */
export const interrupted = 'pack_parcel'

/** All steps of the run in order, so that the display can show those that are still to come. */
export const plan = [
  { name: 'check_stock', what: 'activity', hasBody: true },
  { name: 'reserve_items', what: 'activity', hasBody: true },
  { name: 'quote_shipping', what: 'activity, beside it', hasBody: true },
  { name: 'charge_card', what: 'activity, fails the first time', hasBody: true },
  { name: interrupted, what: 'activity', hasBody: true },
  { name: 'approval', what: 'wait for a signal', hasBody: false },
  { name: 'sleep', what: 'for 1 s', hasBody: false },
  { name: 'send_receipt', what: 'inline step', hasBody: true },
] as const

export function orderDefinitions(ledger: string) {
  const body = async (step: string, ms: number, ctx: ActivityContext): Promise<void> => {
    writeLedger(ledger, { step, attempt: ctx.attempt, pid: process.pid })
    await sleep(systemClock, ms, ctx.signal)
  }
  const checkStock = activity('check_stock', (_: string, ctx) => body('check_stock', 700, ctx))
  const reserve = activity('reserve_items', (_: string, ctx) => body('reserve_items', 900, ctx))
  const quote = activity('quote_shipping', async (_: string, ctx) => {
    await body('quote_shipping', 600, ctx)
    return 490
  })
  const charge = activity('charge_card', async (cents: number, ctx) => {
    await body('charge_card', 600, ctx)
    if (ctx.attempt === 1) throw new RetryableError('the bank did not answer', { after: '600ms' })
    return `${(cents / 100).toFixed(2)} EUR`
  })
  const pack = activity(interrupted, async (id: string, ctx) => {
    await body(interrupted, 1000, ctx)
    return `parcel-${id}`
  })
  const definition = order.implement(async (ctx, { id, cents }) => {
    await ctx.run(checkStock, id)
    const [, shipping] = await Promise.all([ctx.run(reserve, id), ctx.run(quote, id)])
    const paid = await ctx.run(charge, cents + shipping)
    const parcel = await ctx.run(pack, id)
    const { by } = await ctx.wait(approval)
    await ctx.sleep('1s')
    await ctx.run('send_receipt', (step) => body('send_receipt', 600, step))
    return { order: id, paid, parcel, approvedBy: by }
  })
  return { workflows: [definition], activities: [checkStock, reserve, quote, charge, pack] }
}

// A file that records which step bodies really ran. It is independent of pawl: the outside world of the demo.

export interface LedgerLine {
  readonly step: string
  readonly attempt: number
  readonly pid: number
}

export function writeLedger(file: string, line: LedgerLine): void {
  appendFileSync(file, `${JSON.stringify(line)}\n`)
}

export function readLedger(file: string): readonly LedgerLine[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  // After the last line break there is nothing, or a line that is being written.
  return lines.slice(0, -1).map((line) => JSON.parse(line) as LedgerLine)
}
