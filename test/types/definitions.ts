// Checked by the compiler and never run: what the types of definitions promise to those who use them.
import {
  type Activity,
  type ActivityContext,
  type AnyActivity,
  type AnyWorkflow,
  activity,
  type DurablePromise,
  type InputOf,
  type OutputOf,
  PermanentError,
  RetryableError,
  type RunInfo,
  type Signal,
  signal,
  TIMEOUT,
  type Timeout,
  typed,
  type Workflow,
  workflow,
} from 'pawl'
import { type Equal, type Order, same } from './support.ts'

// Whether runs stay with their build is said with the other options of a workflow, and is no text.
workflow('kept', { pin: true }, async () => {})
workflow.declare('free', { pin: false })
// @ts-expect-error: not 'PINNED'
workflow('pinned', { pin: 'PINNED' }, async () => {})

// Activities: input and output come from the function.
export const charge = activity('charge', { startToClose: '30s' }, async (order: Order) => ({
  paymentId: order.id,
}))
same<Equal<typeof charge, Activity<Order, { paymentId: string }>>>(true)
same<Equal<InputOf<typeof charge>, Order>>(true)
same<Equal<OutputOf<typeof charge>, { paymentId: string }>>(true)

export const ping = activity('ping', () => 'pong')
same<Equal<InputOf<typeof ping>, void>>(true)
same<Equal<OutputOf<typeof ping>, string>>(true)

const told = activity('told', async (n: number, ctx) => {
  same<Equal<typeof ctx, ActivityContext>>(true)
  same<Equal<typeof ctx.signal, AbortSignal>>(true)
  return n + ctx.attempt
})
same<Equal<ReturnType<typeof told.handler>, Promise<number>>>(true)

// A body resumes where the attempt before it was, and does some things once.
export const reindex = activity('reindex', { heartbeat: '1m' }, async (total: number, ctx) => {
  const last = ctx.lastHeartbeat<{ row: number }>()
  same<Equal<typeof last, { row: number } | undefined>>(true)
  if (total < 0) throw new PermanentError('negative', { details: { total } })
  if (ctx.attempt > ctx.maxAttempts) throw new RetryableError('later', { after: '5m' })
  ctx.heartbeat({ row: total })
  return ctx.runOnce('announce', () => total)
})
same<Equal<OutputOf<typeof reindex>, number>>(true)

// One for all names: nothing is known of what it takes and gives.
const anything = workflow.dynamic(async (ctx, input) => ({ name: ctx.info.name, input }))
same<Equal<typeof anything, AnyWorkflow>>(true)
const anyWork = activity.dynamic(async (name, input) => ({ name, input }))
same<Equal<typeof anyWork, AnyActivity>>(true)

// Literals keep their types where a contract fixes them.
export const sort = activity.declare<{ by: 'asc' | 'desc' }, { at: 'new' | 'old' }>('sort')
export const sorted = sort.implement(async ({ by }) => ({ at: by === 'asc' ? 'new' : 'old' }))
same<Equal<OutputOf<typeof sorted>, { at: 'new' | 'old' }>>(true)

// Signals.
export const approval = signal<{ approved: boolean }>('approval')
export const nudge = signal('nudge')
same<Equal<typeof nudge, Signal<void>>>(true)

// Workflows: a union of results is kept as it is.
export const checkout = workflow('checkout', async (ctx, order: Order) => {
  const payment = await ctx.run(charge, order)
  same<Equal<typeof payment, { paymentId: string }>>(true)
  const answer = await ctx.wait(approval, { timeout: '1h' })
  same<Equal<typeof answer, { approved: boolean } | Timeout>>(true)
  if (answer === TIMEOUT) return { status: 'late' as const }
  same<Equal<typeof answer, { approved: boolean }>>(true)
  return answer.approved ? { status: 'paid' as const, payment } : { status: 'refused' as const }
})
same<Equal<InputOf<typeof checkout>, Order>>(true)
same<Equal<OutputOf<typeof checkout>['status'], 'late' | 'paid' | 'refused'>>(true)

export const report = workflow('report', async (ctx) => ctx.now())
same<Equal<typeof report, Workflow<void, number>>>(true)

export const maybe = workflow('maybe', async (_ctx, n: number | undefined) => n ?? 0)
same<Equal<InputOf<typeof maybe>, number | undefined>>(true)

// A contract calls itself, and its implementation is held to it.
export const treeContract = workflow.declare<{ depth: number }, number>('tree')
export const tree = treeContract.implement(async (ctx, { depth }) => {
  if (depth === 0) return 1
  const below = await ctx.child(treeContract, { depth: depth - 1 })
  same<Equal<typeof below, number>>(true)
  return below + 1
})

export const everything = workflow('everything', async (ctx, order: Order) => {
  same<Equal<typeof ctx.info, RunInfo>>(true)
  const durable = ctx.run('inline', () => 1)
  same<Equal<typeof durable, DurablePromise<number>>>(true)
  const [a, b, c] = await Promise.all([
    ctx.run('sync', () => 'text'),
    ctx.run('async', { retry: 'none', startToClose: '5s' }, async (step) => step.attempt),
    ctx.child(checkout, order, { workflowId: 'w', parentClose: 'abandon' }),
  ])
  same<Equal<typeof a, string>>(true)
  same<Equal<typeof b, number>>(true)
  same<Equal<typeof c, OutputOf<typeof checkout>>>(true)
  const winner = await Promise.race([ctx.sleep('1s'), ctx.run(ping)])
  same<Equal<typeof winner, string | void>>(true)
  const [settled] = await Promise.allSettled([ctx.run(ping)])
  same<Equal<typeof settled, PromiseSettledResult<string>>>(true)
  const payload = await ctx.wait(approval)
  same<Equal<typeof payload, { approved: boolean }>>(true)
  const dice = await ctx.sideEffect(() => 6 as const)
  same<Equal<typeof dice, 6>>(true)
  await ctx.run(ping)
  await ctx.run(ping, undefined, { key: 'second', queue: 'heavy' })
  await ctx.child(report)
  await ctx.child(maybe)
  await ctx.sleepUntil(new Date(0))
  await ctx.sleep(5)
  const call = ctx.bind(charge, { retry: { maxAttempts: 3, initial: '1s', max: 'PT1M' } })
  const { paymentId } = await call(order, { key: 'bound' })
  same<Equal<typeof paymentId, string>>(true)
  same<Equal<ReturnType<typeof ctx.uuid>, string>>(true)
})

// A loop that feeds a result back infers with bind.
export const page = activity('page', async (_from: { cursor: string | null }) => ({
  next: null as string | null,
}))
export const loops = workflow('loops', async (ctx) => {
  const read = ctx.bind(page)
  let cursor: string | null = null
  do {
    const got = await read({ cursor })
    cursor = got.next
  } while (cursor !== null)
})

// ── what must not compile ──

workflow('negatives', async (ctx, order: Order) => {
  // @ts-expect-error wrong activity input
  await ctx.run(charge, { id: 'x' })
  // @ts-expect-error an activity that needs input needs it
  await ctx.run(charge)
  // @ts-expect-error a unit that is none
  await ctx.sleep('10 minutes')
  // @ts-expect-error years and months have no fixed length
  await ctx.sleep('P1Y')
  // @ts-expect-error a workflow is not an activity
  await ctx.run(checkout, order)
  // @ts-expect-error an activity is not a child
  await ctx.child(charge, order)
  // @ts-expect-error wrong child input
  await ctx.child(checkout, { id: 1 })
  // @ts-expect-error a child that needs input needs it
  await ctx.child(checkout)
  // @ts-expect-error the time-out must be handled
  const approved: boolean = (await ctx.wait(approval, { timeout: '1h' })).approved
  // @ts-expect-error an activity is not a signal
  await ctx.wait(ping)
  // @ts-expect-error a wait's time-out is a duration
  await ctx.wait(approval, { timeout: 'soon' })
  // @ts-expect-error no such retry preset
  await ctx.run(ping, undefined, { retry: 'sometimes' })
  // @ts-expect-error no such option
  await ctx.run(ping, undefined, { retires: 'none' })
  // @ts-expect-error steps are not skipped
  await ctx.run('step', { ifPast: 'skip' }, () => 1)
  // @ts-expect-error an inline step needs its function
  await ctx.run('step', { retry: 'none' })
  // @ts-expect-error the result of a step has its type
  const text: string = await ctx.run('step', () => 1)
  // @ts-expect-error no such way to close
  await ctx.child(report, undefined, { parentClose: 'keep' })
  // @ts-expect-error a bound call takes the activity's input
  await ctx.bind(charge)({ id: 5, cents: 1 })
  // @ts-expect-error info is not written to
  ctx.info.runId = 'other'
  // @ts-expect-error a log level that is none
  ctx.log.shout('hello')
  void [approved, text]
})

// @ts-expect-error an implementation keeps its contract
treeContract.implement(async (_ctx, { depth }) => `${depth}`)
// @ts-expect-error an activity keeps its contract
sort.implement(async () => ({ at: 'later' }))
// @ts-expect-error a workflow is asynchronous
workflow('hasty', () => 1)
// @ts-expect-error a queue has a name
activity('placed', { queue: 5 }, async () => 1)
// @ts-expect-error a function that takes two inputs is none
activity('double', async (_a: number, _b: number) => 1)
// @ts-expect-error the time between two signs of life is a duration
activity('silent', { heartbeat: 'often' }, async () => 1)
// @ts-expect-error a pause before the next attempt is a duration
export const later = new RetryableError('later', { after: 'soon' })
// @ts-expect-error of what comes by any name nothing is known
workflow.dynamic(async (_ctx, input) => input.length)

// api D8: an input that has a default, or is optional, may be left out. One without a type is unknown to the function.
export const counts = workflow('counts', async (ctx, n: number = 5) => {
  if (n > 5) return ctx.continueAsNew(n - 1)
  return n
})
same<Equal<typeof counts, Workflow<number | undefined, number>>>(true)
const sized = workflow('sized', { runTimeout: '1d' }, async (_ctx, { n = 5 }: { n?: number } = {}) => n)
same<Equal<typeof sized, Workflow<{ n?: number } | undefined, number>>>(true)
export const unsized = workflow('unsized', async (_ctx, n = 5) => n)
same<Equal<typeof unsized, Workflow<unknown, unknown>>>(true)
const optional = workflow('optional', async (_ctx, n?: number) => n)
same<Equal<typeof optional, Workflow<number | undefined, number | undefined>>>(true)
const doubles = activity('doubles', async (n: number = 5, ctx) => n * ctx.attempt)
same<Equal<typeof doubles, Activity<number | undefined, number>>>(true)
const undoubled = activity('undoubled', { retry: 'none' }, async (n = 5) => n)
same<Equal<typeof undoubled, Activity<unknown, unknown>>>(true)
const asked = activity('asked', { input: typed<{ n: number }>() }, async (of: { n: number } = { n: 1 }) => of.n)
same<Equal<typeof asked, Activity<{ n: number }, number>>>(true)
const explicit = workflow<string, number>('explicit', async (_ctx, n) => n.toFixed())
same<Equal<typeof explicit, Workflow<number, string>>>(true)
export const defaults = workflow('defaults', async (ctx) => {
  for (const each of [counts, unsized, optional]) await ctx.child(each, 3)
  await ctx.child(counts)
  await ctx.child(sized)
  await ctx.child(sized, { n: 3 })
  await ctx.child(unsized)
  await ctx.child(optional, undefined, { workflowId: 'w' })
  await ctx.run(doubles)
  await ctx.run(doubles, 3)
  await ctx.run(undoubled)
  await ctx.bind(doubles)()
  // @ts-expect-error the default has a type
  await ctx.child(counts, 'three')
  // @ts-expect-error the default has a type
  await ctx.run(doubles, 'three')
  // @ts-expect-error what the schema accepts is given
  await ctx.run(asked)
})
