// Checked by the compiler and never run: types flow from a definition to start, result, signal and the rest.
import {
  type Duration,
  type Engine,
  type Failure,
  type HistoryEvent,
  type OutputOf,
  open,
  type Page,
  PawlError,
  type RunHandle,
  type RunRecord,
  type StartedRun,
  type Status,
  type Why,
} from 'pawl'
import {
  approval,
  charge,
  checkout,
  counts,
  everything,
  loops,
  maybe,
  nudge,
  ping,
  report,
  sorted,
  tree,
  treeContract,
  unsized,
} from './definitions.ts'
import { type Equal, same } from './support.ts'

export async function positives(): Promise<void> {
  await using pawl = await open('sqlite:./pawl.db', {
    workflows: [checkout, report, maybe, tree, everything, loops],
    activities: [charge, ping, sorted],
    build: 'b1',
    listeners: [(each) => void (each.type === 'run.failed' && each.failure.message)],
  })
  same<Equal<typeof pawl, Engine>>(true)
  const worker = pawl.work({ queues: ['default'], concurrency: { workflows: 1 }, lease: '30s' })
  await worker.ready

  const run = await pawl.start(checkout, { id: 'A', cents: 1 }, { workflowId: 'w', delay: '1h' })
  same<Equal<typeof run, StartedRun<OutputOf<typeof checkout>>>>(true)
  const outcome = await run.result()
  if (outcome.status === 'paid') same<Equal<typeof outcome.payment.paymentId, string>>(true)
  await run.signal(approval, { approved: true }, { messageId: 'm' })
  await run.signal(nudge)
  await run.cancel('reason')

  same<Equal<Awaited<ReturnType<typeof pawl.execute<void, number>>>, number>>(true)
  const n = await pawl.execute(report)
  same<Equal<typeof n, number>>(true)
  await pawl.start(report, undefined, { reuse: 'allowIfFailed', priority: 5, memo: { a: [1] } })
  await pawl.start(maybe)
  await pawl.start(maybe, 5)
  await pawl.start(counts)
  await pawl.start(counts, 3)
  await pawl.start(unsized)
  await pawl.start(unsized, 3)
  const viaContract = await pawl.execute(treeContract, { depth: 3 })
  same<Equal<typeof viaContract, number>>(true)

  const many = await pawl.startMany(checkout, [
    { input: { id: 'A', cents: 1 }, idempotencyKey: 'a' },
    { input: { id: 'B', cents: 2 }, queue: 'slow' },
  ])
  same<Equal<typeof many, StartedRun<OutputOf<typeof checkout>>[]>>(true)
  await pawl.startMany(report, [{}, { delay: 5 }])

  const typed = pawl.get(checkout, { workflowId: 'w' })
  same<Equal<typeof typed, RunHandle<OutputOf<typeof checkout>>>>(true)
  const untyped = pawl.get('some id')
  same<Equal<typeof untyped, RunHandle<unknown>>>(true)

  const page = await pawl.list({ workflow: checkout, status: ['failed', 'paused'] }, { limit: 5 })
  same<Equal<typeof page, Page<RunRecord>>>(true)
  const [record] = page.items
  same<Equal<typeof record, RunRecord | undefined>>(true)
  if (record) same<Equal<typeof record.status, Status>>(true)
  for await (const entry of run.history({ after: 3 })) same<Equal<typeof entry, HistoryEvent>>(true)

  const off = pawl.on('activity.failed', (each) => {
    same<Equal<typeof each.willRetry, boolean>>(true)
    same<Equal<typeof each.failure, Failure>>(true)
  })
  off()
  await worker.drain('10s')
}

/** Every reason has its own facts, and a switch over them is complete. */
export function explain(why: Why): string | undefined {
  switch (why.reason) {
    case 'timer':
      return why.until.toISOString()
    case 'signal':
    case 'webhook':
      return `${why.name} ${why.until?.toISOString()}`
    case 'condition':
    case 'completion':
      return why.until?.toISOString()
    case 'child':
      return why.runId
    case 'activity':
      return `${why.step} ${why.attempt} ${why.worker}`
    case 'backoff':
      return why.failure.message
    case 'lease':
      return why.worker
    case 'noWorker':
      return why.type
    case 'paused':
      return why.failure?.message
    case 'ended':
      return why.status
    case 'ready':
    case 'pending':
    case 'moving':
      return why.suggestion
  }
}

// A URL that is not a literal is checked when it is opened.
export const fromEnvironment = open(process.env['DATABASE_URL'] ?? 'sqlite:./pawl.db')
export const durations: Duration[] = [5, '5ms', '1.5h', '10m', '1d', 'PT1M']

// ── what must not compile ──

export async function negatives(pawl: Engine, failure: Failure): Promise<void> {
  // @ts-expect-error wrong input
  await pawl.start(checkout, { id: 'A1' })
  // @ts-expect-error input missing
  await pawl.start(checkout)
  // @ts-expect-error input missing, though options are given
  await pawl.start(checkout, undefined, { workflowId: 'w' })
  // @ts-expect-error an input where there is none
  await pawl.start(report, 5)
  // @ts-expect-error wrong input of an activity on its own
  await pawl.start(charge, { id: 'A' })
  // @ts-expect-error an activity takes no signals
  await pawl.signalWithStart(charge, { input: { id: 'A', cents: 1 }, signal: approval })
  const run = await pawl.start(checkout, { id: 'A1', cents: 1 })
  // @ts-expect-error wrong signal payload
  await run.signal(approval, { approved: 1 })
  // @ts-expect-error payload missing
  await run.signal(approval)
  // @ts-expect-error a payload where there is none
  await run.signal(nudge, 5)
  // @ts-expect-error an activity is not a signal
  await run.signal(ping)
  const result = await run.result()
  // @ts-expect-error results keep their union
  void result.payment.paymentId
  // @ts-expect-error no such status of the result
  void (result.status === 'lost')
  // @ts-expect-error a contract without code cannot be registered
  await open('memory:', { workflows: [treeContract] })
  // @ts-expect-error an activity is not a workflow
  await open('memory:', { workflows: [charge] })
  // @ts-expect-error a workflow is not an activity
  await open('memory:', { activities: [checkout] })
  // @ts-expect-error unknown store
  await open('mysql://localhost')
  // @ts-expect-error a path is not a store URL
  await open('./pawl.db')
  // @ts-expect-error unknown reuse policy
  await pawl.start(report, undefined, { reuse: 'sometimes' })
  // @ts-expect-error a delay is a duration
  await pawl.start(report, undefined, { delay: 'soon' })
  // @ts-expect-error a time is a Date
  await pawl.start(report, undefined, { runAt: 5 })
  // @ts-expect-error no such status
  await pawl.list({ status: 'terminated' })
  // @ts-expect-error input missing in one of many
  await pawl.startMany(checkout, [{ input: { id: 'A', cents: 1 } }, { workflowId: 'w' }])
  // @ts-expect-error an unknown announcement
  pawl.on('run.exploded', () => {})
  // @ts-expect-error a lease is a duration
  pawl.work({ lease: 'forever' })
  // @ts-expect-error an unknown error code
  void (new PawlError('RUN_ENDED', '').code === 'OOPS')
  // @ts-expect-error a failure is data, and not changed
  failure.message = 'other'
  // @ts-expect-error a duration is not a word
  const duration: Duration = 'soon'
  // @ts-expect-error the result of an untyped handle is unknown
  const text: string = await pawl.get('id').result()
  void [duration, text]
}
