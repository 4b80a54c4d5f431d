// Checked by the compiler and never run: signals, queries, updates and webhooks, as the code of a run sees them.
import {
  type Attributes,
  type Context,
  type DurablePromise,
  type Engine,
  type OutputOf,
  type Query,
  query,
  type RunHandle,
  type Signal,
  signal,
  TIMEOUT,
  type Timeout,
  type Update,
  update,
  type Webhook,
  workflow,
} from 'pawl'
import { approval, checkout, nudge, ping, report } from './definitions.ts'
import { type Equal, type Order, same } from './support.ts'

export const stage = query<void, 'open' | 'closed'>('stage')
export const lineAt = query<number, string | undefined>('line')
export const deposit = update<number, number>('deposit')
const phase = query<void, { at: 'new' | 'old' }>('phase')
const shift = update<number, { at: 'new' | 'old' }>('shift')
same<Equal<typeof stage, Query<void, 'open' | 'closed'>>>(true)
same<Equal<typeof deposit, Update<number, number>>>(true)
const untyped = query('untyped')
same<Equal<typeof untyped, Query<void, unknown>>>(true)
const told = update('told')
same<Equal<typeof told, Update<void, void>>>(true)

// Handlers are typed by the message, and by nothing else: literals keep their types.
export const account = workflow(
  'account',
  { runTimeout: '1d', executionTimeout: '52w' },
  async (ctx, start: { balance: number }) => {
    let { balance } = start
    let closed = false
    ctx.on(stage, () => (closed ? 'closed' : 'open'))
    ctx.on(lineAt, (n) => (n > balance ? undefined : n.toFixed()))
    const positive = (cents: number): void => {
      if (cents <= 0) throw new RangeError('positive, please')
    }
    ctx.on(deposit, { validate: positive }, (cents) => (balance += cents))
    ctx.on(nudge, async (payload, own) => {
      same<Equal<typeof payload, void>>(true)
      same<Equal<typeof own, Context>>(true)
      await own.run(ping)
      closed = true
    })
    ctx.on(phase, () => ({ at: 'new' }))
    ctx.on(shift, { validate: (n) => void n.toFixed() }, async (n) => ({
      at: n > 1 ? 'new' : 'old',
    }))
    const ended = await ctx.wait(() => closed, { timeout: 'P7D' })
    same<Equal<typeof ended, true | Timeout>>(true)
    if (ended === TIMEOUT) return ctx.continueAsNew({ balance })
    const met = ctx.wait(() => closed)
    same<Equal<typeof met, DurablePromise<void>>>(true)
    await met
    return balance
  },
)
same<Equal<OutputOf<typeof account>, number>>(true)

// A child is a promise of its result, and can be spoken to; so can any other run.
export const parent = workflow('parent', async (ctx, order: Order) => {
  const child = ctx.child(account, { balance: 0 })
  const { runId } = await child.started
  same<Equal<typeof runId, string>>(true)
  await child.signal(nudge)
  child.cancel('enough')
  await ctx.signal({ workflowId: 'other' }, approval, { approved: true })
  await ctx.signal(runId, nudge)
  const open = ctx.bind(account, { parentClose: 'abandon' })
  const balance = await open({ balance: 1 }, { key: 'second' })
  same<Equal<typeof balance, number>>(true)
  const done = await ctx.child(checkout, order, { attributes: { region: 'eu' }, memo: { a: [1] } })
  return { done, sum: balance + (await child) }
})

export const agent = workflow('agent', async (ctx) => {
  const rows = await ctx.transaction('debit', (sql) => sql.query<{ id: number }>('select 1 id', []))
  same<Equal<typeof rows, readonly { id: number }[]>>(true)
  const hook = ctx.webhook<{ ok: boolean }>('callback')
  same<Equal<typeof hook, Webhook<{ ok: boolean }>>>(true)
  const answer = await ctx.wait(hook, { timeout: '1d' })
  same<Equal<typeof answer, { ok: boolean } | Timeout>>(true)
  same<Equal<ReturnType<typeof ctx.webhook>, Webhook<unknown>>>(true)
  if (ctx.patched('v2')) await ctx.run(ping)
  ctx.deprecatePatch('v1')
  ctx.setAttributes({ region: 'eu', total: rows.length, at: new Date(ctx.now()), paid: true })
  return answer === TIMEOUT ? rows.length : Number(answer.ok)
})

// ── what must not compile ──

workflow('negatives', async (ctx, order: Order) => {
  // @ts-expect-error a query is answered with its type
  ctx.on(stage, () => 'maybe')
  // @ts-expect-error a query is answered at once
  ctx.on(stage, async () => 'open')
  // @ts-expect-error an update is answered with its type
  ctx.on(deposit, () => 'text')
  // @ts-expect-error a validator sees the payload of the update
  ctx.on(deposit, { validate: (text: string) => void text }, (n) => n)
  // @ts-expect-error only updates are validated
  ctx.on(nudge, { validate: () => {} }, () => {})
  // @ts-expect-error an activity is no message
  ctx.on(ping, () => {})
  // @ts-expect-error a condition is looked at, and not waited for
  await ctx.wait(async () => true)
  // @ts-expect-error a query cannot be waited for
  await ctx.wait(stage)
  // @ts-expect-error wrong payload for another run
  await ctx.signal('run', approval, { approved: 'yes' })
  // @ts-expect-error payload missing
  await ctx.signal('run', approval)
  // @ts-expect-error wrong payload for a child
  await ctx.child(report).signal(approval, { approved: 1 })
  // @ts-expect-error the run begins again with its own input
  if (order.cents > 5) return ctx.continueAsNew({ balance: 1 })
  ctx.setAttributes({ region: null, tags: ['a', 'b'], none: [] })
  same<Equal<typeof ctx.info.attributes, Attributes>>(true)
  // @ts-expect-error null removes, undefined does nothing
  ctx.setAttributes({ region: undefined })
  // @ts-expect-error lists are of strings
  ctx.setAttributes({ tags: [1] })
  // @ts-expect-error attributes are flat
  ctx.setAttributes({ nested: { a: 1 } })
  // @ts-expect-error a transaction is of rows and values that a database has
  await ctx.transaction('t', (sql) => sql.query('select $1', [{}]))
  return undefined
})

// A helper does not know the input of the run it helps, so it cannot begin it again.
export function helper(ctx: Context): void {
  // @ts-expect-error there is no such input
  ctx.continueAsNew({ balance: 1 })
}

declare const wide: Signal<string | number>
// @ts-expect-error a signal of more is not a signal of less, nor the other way round
export const narrow: Signal<string> = wide

// api D4: what a signal carries is what it says, and not what a literal would widen to.
const decision = signal<'approve' | 'reject'>('decision')
const change = signal<{ kind: 'add' | 'remove' }>('change')
const asked = query<'a' | 'b', number>('asked')
export const sender = workflow('sender', async (ctx) => {
  await ctx.child(report).signal(decision, 'approve')
  await ctx.signal('run', change, { kind: 'add' })
  // @ts-expect-error it carries nothing else
  await ctx.signal('run', decision, 'later')
})
export async function send(run: RunHandle<unknown>, engine: Engine): Promise<number> {
  await run.signal(decision, 'reject')
  await engine.batch({}, { limit: 1 }).signal(change, { kind: 'remove' })
  // @ts-expect-error it carries nothing else
  await run.signal(change, { kind: 'swap' })
  return run.query(asked, 'a')
}
