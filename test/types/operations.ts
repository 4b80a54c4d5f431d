// Checked by the compiler and never run: what is asked of runs, one by one and many at once.
import {
  ActivityError,
  type Attributes,
  type Batch,
  type BatchOutcome,
  CancelledError,
  type Engine,
  type Failure,
  type OutputOf,
  PawlError,
  RunError,
  type RunFilter,
  type RunGroup,
  type RunHandle,
  type Schedule,
  type StartedRun,
  type StartOptions,
} from 'pawl'
import { approval, checkout, nudge, report } from './definitions.ts'
import { account, deposit, lineAt, stage } from './messages.ts'
import { bill, billContract, reply, strict } from './schemas.ts'
import { type Equal, same } from './support.ts'

export async function asked(pawl: Engine): Promise<void> {
  const run = await pawl.start(account, { balance: 5 })
  same<Equal<Awaited<ReturnType<typeof run.result>>, number>>(true)
  const state = await run.query(stage)
  same<Equal<typeof state, 'open' | 'closed'>>(true)
  const line = await run.query(lineAt, 3)
  same<Equal<typeof line, string | undefined>>(true)
  const balance = await run.update(deposit, 100, { messageId: 'd1' })
  same<Equal<typeof balance, number>>(true)
  const early = await run.updateResult(deposit, 'd1')
  same<Equal<typeof early, { readonly value: number } | undefined>>(true)
  await run.signal(reply, { text: 'hello' })
  await pawl.resolve('token', { ok: true })
  await pawl.reject('token', 'too late')

  // A schema's contract starts what its code would be.
  await pawl.start(strict, { id: 'A' })
  const billed = await pawl.execute(billContract, { id: 'A' })
  same<Equal<typeof billed, OutputOf<typeof bill>>>(true)
}

export async function started(pawl: Engine): Promise<void> {
  const options: StartOptions = {
    workflowId: 'order-A1',
    reuse: 'terminateRunning',
    attributes: { region: 'eu', at: new Date(0), tags: ['a', 'b'] },
    memo: { by: 'ops' },
    runTimeout: '1d',
    executionTimeout: '52w',
    idempotencyKey: 'k',
  }
  const input = { id: 'B', cents: 5 }
  const told = { input, signal: approval, payload: { approved: true }, ...options }
  const run = await pawl.signalWithStart(checkout, told)
  same<Equal<typeof run, StartedRun<OutputOf<typeof checkout>>>>(true)
  await pawl.signalWithStart(report, { signal: nudge, messageId: 'm' })
  const done = await pawl.updateWithStart(account, {
    input: { balance: 0 },
    workflowId: 'account-1',
    update: deposit,
    payload: 5,
  })
  same<Equal<typeof done, { readonly run: StartedRun<number>; readonly result: number }>>(true)
}

export async function operated(pawl: Engine): Promise<void> {
  const run = pawl.get(checkout, { workflowId: 'order-A1' })
  await run.pause('looking')
  await run.resume()
  await run.resume({ step: 'charge', result: { paymentId: 'manual' }, note: 'paid by phone' })
  await run.retry()
  await run.reset({ step: 'charge' })
  await run.terminate('bad deploy')
  const fork = await run.fork({ step: 'charge', results: { charge: { paymentId: 'what-if' } } })
  same<Equal<typeof fork, RunHandle<OutputOf<typeof checkout>>>>(true)

  const filter: RunFilter = {
    workflow: checkout,
    status: ['failed', 'paused'],
    attributes: { region: 'eu', total: { gte: 3, lt: 10 }, at: { gt: new Date(0) } },
    startedAfter: new Date(0),
  }
  const { items } = await pawl.list(filter, { limit: 100 })
  for (const { attributes, failure } of items) {
    same<Equal<typeof attributes, Attributes>>(true)
    same<Equal<typeof failure, Failure | undefined>>(true)
  }
  same<Equal<Awaited<ReturnType<typeof pawl.count>>, number>>(true)
  const groups = await pawl.groups(filter, { by: 'reason', limit: 5 })
  same<Equal<typeof groups, readonly RunGroup[]>>(true)
  // @ts-expect-error runs are grouped by something
  await pawl.groups(filter)
  // @ts-expect-error no such group
  await pawl.groups(filter, { by: 'input' })
  const batch = pawl.batch({ workflow: 'checkout', status: 'failed' }, { limit: 500, reason: 'r' })
  same<Equal<typeof batch, Batch>>(true)
  const outcome = await batch.signal(approval, { approved: false })
  same<Equal<typeof outcome, BatchOutcome>>(true)
  const [first] = outcome.failures
  if (first) same<Equal<typeof first.code, string>>(true)
}

export async function scheduled(pawl: Engine): Promise<void> {
  const nightly = await pawl.schedules.set('nightly', {
    cron: '0 2 * * *',
    timeZone: 'Europe/Berlin',
    workflow: account,
    input: { balance: 0 },
    overlap: 'bufferOne',
    catchUp: 'one',
    jitter: '5m',
    run: { attributes: { region: 'eu' } },
  })
  same<Equal<typeof nightly, Schedule>>(true)
  await pawl.schedules.set('often', { every: '15m', workflow: report })
  await pawl.schedules.set('strict', { every: '1h', workflow: strict, input: { id: 'A' } })
  const run = await nightly.trigger()
  same<Equal<typeof run, RunHandle<unknown>>>(true)
  await pawl.schedules.set('many', {
    timings: [{ cron: '0 9 * * *', timeZone: 'Asia/Tokyo' }, { every: '7m' }],
    workflow: report,
    catchUp: 'all',
    catchUpWindow: '1h',
  })
  // What is read can be set again, and changed in part.
  const { plan } = await nightly.describe()
  await pawl.schedules.set('copy', { ...plan, catchUp: 'skip' })
  await nightly.update({ timeZone: null, jitter: '1m', run: { memo: null } })
  await nightly.update({ workflow: account, input: { balance: 1 } })
  await nightly.update({ input: { balance: 1 } })
  // @ts-expect-error the input is that of the new workflow
  await nightly.update({ workflow: account, input: { balance: 'none' } })
  // @ts-expect-error a pause is on or off
  await nightly.update({ paused: null })
  // @ts-expect-error an interval is not removed, but replaced
  await nightly.update({ every: null })
  // @ts-expect-error no list of lists
  await pawl.schedules.set('x', { timings: [{ timings: [{ every: '1h' }] }], workflow: report })
  // @ts-expect-error by cron or by interval, not by neither
  await pawl.schedules.set('x', { workflow: report })
  // @ts-expect-error the input is the workflow's
  await pawl.schedules.set('x', { every: '1h', workflow: account, input: { balance: 'none' } })
  // @ts-expect-error the input is needed if the workflow needs it
  await pawl.schedules.set('x', { every: '1h', workflow: account })
  // @ts-expect-error no such way to overlap
  await pawl.schedules.set('x', { every: '1h', workflow: report, overlap: 'queue' })
}

/** What is thrown is one of a few classes, and carries its failure as data. */
export function caught(error: unknown): string | undefined {
  if (error instanceof RunError) return `${error.failure.type} ${error.compensationFailures.length}`
  if (error instanceof ActivityError) return `${error.activity} ${error.attempts} ${error.reason}`
  if (error instanceof CancelledError) return error.reason
  if (error instanceof PawlError && error.code === 'OUTPUT_INVALID') return error.message
  return undefined
}

// ── what must not compile ──

export async function negatives(pawl: Engine): Promise<void> {
  const run = await pawl.start(account, { balance: 5 })
  // @ts-expect-error a signal is not a query
  await run.query(approval)
  // @ts-expect-error a query is not an update
  await run.update(stage)
  // @ts-expect-error wrong payload of a query
  await run.query(lineAt, 'three')
  // @ts-expect-error payload of an update missing
  await run.update(deposit)
  // @ts-expect-error a query has no message id
  await run.query(stage, undefined, { messageId: 'm' })
  // @ts-expect-error a schema's workflow is given what the schema accepts
  await pawl.start(strict, { cents: 1 })
  const input = { id: 'B', cents: 5 }
  // @ts-expect-error wrong payload with a start
  await pawl.signalWithStart(checkout, { input, signal: approval, payload: { approved: 'y' } })
  // @ts-expect-error payload missing with a start
  await pawl.signalWithStart(checkout, { input, signal: approval })
  // @ts-expect-error input missing with a start
  await pawl.signalWithStart(checkout, { signal: nudge })
  // @ts-expect-error a signal is no update
  await pawl.updateWithStart(account, { input: { balance: 0 }, update: nudge })
  // @ts-expect-error a batch needs a limit
  pawl.batch({ status: 'failed' })
  // @ts-expect-error wrong payload for many
  await pawl.batch({}, { limit: 1 }).signal(approval, { approved: 1 })
  await pawl.list({ attributes: { tags: 'a' } })
  // @ts-expect-error a list is found by one of its texts
  await pawl.list({ attributes: { tags: ['a'] } })
  // @ts-expect-error a start has nothing to remove
  await pawl.start(report, undefined, { attributes: { tags: null } })
  // @ts-expect-error attributes of a run are flat
  await pawl.start(report, undefined, { attributes: { nested: {} } })
  // @ts-expect-error an attribute is compared with a value
  await pawl.list({ attributes: { total: { above: 3 } } })
  // @ts-expect-error a signal is not what runs are found by
  await pawl.list({ workflow: approval })
  // @ts-expect-error to terminate needs a reason
  await run.terminate()
}
