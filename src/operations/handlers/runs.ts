// Operations on runs.
import { defined } from '../../core/base/defined.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { encode } from '../../core/base/value.ts'
import {
  type HistoryEvent,
  keyedRunId,
  OWN_WORKFLOWS,
  type Page,
  query,
  type RunHandle,
  type RunRecord,
  type StartedRun,
  type StartOptions,
  signal,
  update,
  updateId,
  workflow,
} from '../../core/index.ts'
import type { InputOf } from '../inputs.ts'
import type { HistogramBin, HistoryPage, Started, WhyOrError } from '../outputs.ts'
import type { OperationName, Scope } from '../routes.ts'
import { plainText } from '../wire.ts'
import { answerWithin, type Caller, type Handlers, outcomeOf, refOf, unfinished, waitOf } from './context.ts'

type RunOperation = Extract<OperationName, `runs.${string}`>

const accepted = { accepted: true } as const
const HISTOGRAM_BINS = 60
/** Answers are found by the id of their message: the name is only for types. */
const anyUpdate = update<never, unknown>('any')

function at({ engine }: Caller, run: string): RunHandle<unknown> {
  return engine.get(refOf(run))
}

// Their inputs are pawl's own, and only its own calls write them.
function contract(name: string) {
  if ((OWN_WORKFLOWS as readonly string[]).includes(name)) {
    const message = `'${name}' is a workflow of pawl's own; expected one of yours. Use the calls for schedules or batches.`
    throw new PawlError('INPUT_INVALID', message)
  }
  return workflow.declare<unknown, unknown>(name)
}

function started(run: StartedRun<unknown>, { name, key }: { name: string; key: string | undefined }): Started {
  const { runId, workflowId, isNew, alongside } = run
  const keyed = (key !== undefined && runId === keyedRunId(name, key)) || undefined
  return defined({ runId, workflowId, isNew, alongside, keyed })
}

export const runs: Handlers<RunOperation> = {
  'runs.list': listPage,
  'runs.count': async ({ atMost, ...filter }, { engine }) => {
    return { count: await engine.count(filter, atMost === undefined ? {} : { atMost }) }
  },
  'runs.groups': async ({ by, limit, ...filter }, { engine }) => {
    return { items: await engine.groups(filter, defined({ by, limit })) }
  },
  'runs.histogram': histogram,
  'runs.get': ({ run }, caller) => at(caller, run).describe(),
  'runs.why': ({ run }, caller) => at(caller, run).why(),
  'runs.whyMany': async ({ runs: all }, caller) => {
    return { items: await Promise.all(all.map((run) => whyOrError(run, caller))) }
  },
  'runs.history': historyPage,
  'runs.steps': async ({ run, ...view }, caller) => ({ items: await at(caller, run).steps(view) }),
  'runs.timeline': ({ run, ...view }, caller) => at(caller, run).timeline(view),
  'runs.result': ({ run, wait }, caller) => outcomeOf(at(caller, run), wait, caller.signal),
  'runs.query': async (question, caller) => {
    const { run, name, payload } = question
    if (!caller.query) return { result: await at(caller, run).query(query<unknown, unknown>(name), payload) }
    // The process with the code may have the runs of other namespaces, too: found here, the run is the caller's own.
    const { runId } = await at(caller, run).describe()
    return { result: await caller.query({ ...question, run: runId }) }
  },
  'runs.updateResult': async ({ run, messageId }, caller) => {
    const handle = at(caller, run)
    const answer = await handle.updateResult(anyUpdate, messageId)
    return answer ? { messageId, result: answer.value } : { messageId, ...unfinished(await handle.why()) }
  },
  'runs.export': (filter, { engine }) => engine.export(filter),
  'runs.start': async ({ workflow: name, input, wait, ...options }, { engine, signal: stop }) => {
    const run = await engine.start(contract(name), input, options)
    const known = started(run, { name, key: options.idempotencyKey })
    if (waitOf(wait) === undefined) return known
    return { ...known, outcome: await outcomeOf(run, wait, stop) }
  },
  'runs.startMany': async ({ workflow: name, runs: all }, { engine }) => {
    if (all.length > limits.batchElements) throw tooMany(all.length)
    const begun = await engine.startMany(contract(name), all)
    return { items: begun.map((run, index) => started(run, { name, key: all[index]?.idempotencyKey })) }
  },
  'runs.signalWithStart': async ({ workflow: name, signal: kind, ...request }, { engine }) => {
    const once = { ...request, ...startedOnce('signal', request) }
    const run = await engine.signalWithStart(contract(name), { ...once, signal: signal<unknown>(kind) })
    return started(run, { name, key: request.idempotencyKey })
  },
  'runs.updateWithStart': updateWithStart,
  'runs.signal': async ({ run, name, payload, ...options }, caller) => {
    await at(caller, run).signal(signal<unknown>(name), payload, options)
    return accepted
  },
  'runs.update': async ({ run, name, payload, messageId: own, wait, ...options }, caller) => {
    const messageId = own ?? caller.engine.host.newId()
    const given = { ...options, messageId, signal: caller.signal, timeout: waitOf(wait) ?? limits.requestWaitMsMax }
    const handle = at(caller, run)
    return answerWithin(messageId, () => handle.update(update<unknown, unknown>(name), payload, given))
  },
  'runs.trigger': async ({ run, input }, caller) => {
    await at(caller, run).trigger(input)
    return accepted
  },
  'runs.cancel': async ({ run, reason }, caller) => {
    await at(caller, run).cancel(reason)
    return accepted
  },
  'runs.terminate': async ({ run, reason }, caller) => {
    await at(caller, run).terminate(reason)
    return accepted
  },
  'runs.pause': async ({ run, note }, caller) => {
    await at(caller, run).pause(note)
    return accepted
  },
  'runs.resume': async ({ run, edit }, caller) => {
    await at(caller, run).resume(edit && { ...edit, step: edit.step ?? '', result: edit.result })
    return accepted
  },
  'runs.retry': async ({ run }, caller) => {
    await at(caller, run).retry()
    return accepted
  },
  'runs.reset': async ({ run, step }, caller) => {
    await at(caller, run).reset({ step })
    return accepted
  },
  'runs.fork': async ({ run, ...from }, caller) => {
    const fork = await at(caller, run).fork(from)
    return { runId: fork.runId }
  },
  'runs.migrate': async ({ run, ...to }, caller) => {
    await at(caller, run).migrate(to)
    return accepted
  },
  'runs.discard': async ({ run, messageId, note }, caller) => {
    await at(caller, run).discardMessage(messageId, note)
    return accepted
  },
}

/** The message id tells that a call is sent again, also if the run has no workflow id, or has ended meanwhile. */
function startedOnce(
  kind: 'signal' | 'update',
  { messageId, idempotencyKey }: StartOptions & { readonly messageId?: string },
): { readonly idempotencyKey?: string } {
  if (messageId === undefined || idempotencyKey !== undefined) return {}
  return { idempotencyKey: `${kind} ${messageId}` }
}

async function whyOrError(run: string, caller: Caller): Promise<WhyOrError> {
  try {
    return { run, why: await at(caller, run).why() }
  } catch (error) {
    if (!(error instanceof PawlError)) throw error
    return { run, error: { code: error.code, message: error.message } }
  }
}

/** Ends a page early if its runs are large: a thousand runs with large inputs would be no text that fits in memory. */
async function listPage(
  { limit = limits.listPageDefault, cursor, ...filter }: InputOf<'runs.list'>,
  { engine }: Caller,
): Promise<Page<RunRecord>> {
  const items: RunRecord[] = []
  let length = 0
  for (let next = cursor, most: number = limits.listPageDefault; ; ) {
    const wanted = Math.min(most, limit - items.length)
    const page = await engine.list(filter, defined({ limit: wanted, cursor: next }))
    items.push(...page.items)
    next = page.cursor
    if (next === undefined || items.length >= limit) return defined({ items, cursor: next })
    length += plainText(page.items).length
    if (length >= limits.answerPageLength) return { items, cursor: next }
    most = Math.max(1, Math.floor(((limits.answerPageLength - length) * items.length) / length))
  }
}

/** Fields of events that hold values of users. */
const PAYLOADS = ['input', 'result', 'payload', 'output', 'items', 'state', 'attributes']

async function historyPage(
  { run, generation, limit = limits.historyEventsShown, payloads = true, ...options }: InputOf<'runs.history'>,
  caller: Caller,
): Promise<HistoryPage> {
  const handle = at(caller, run)
  const read = generation ?? (await handle.describe()).generation
  const events: HistoryEvent[] = []
  let length = 0
  for await (const event of handle.history({ ...options, generation: read })) {
    const isFull = events.length === limit || length >= limits.answerPageLength
    if (isFull) return { generation: read, events, next: events.at(-1)?.seq ?? 0 }
    const shown = shownEvent(event, { payloads, scope: caller.scope })
    length += plainText(shown).length
    events.push(shown)
  }
  return { generation: read, events }
}

/** What a caller sees of an event. The token of a webhook is enough to settle it, which the scope 'read' may not. */
export function shownEvent(
  event: HistoryEvent,
  { payloads, scope }: { readonly payloads: boolean; readonly scope: Scope },
): HistoryEvent {
  if (event.type === 'TokenMade' && scope === 'read') return { ...event, token: '' }
  if (payloads) return event
  return Object.fromEntries(Object.entries(event).filter(([field]) => !PAYLOADS.includes(field))) as HistoryEvent
}

async function updateWithStart(
  { workflow: name, update: kind, messageId: own, wait, payload, input, ...options }: InputOf<'runs.updateWithStart'>,
  { engine, signal: stop }: Caller,
): Promise<Started & Awaited<ReturnType<typeof answerWithin>>> {
  const messageId = own ?? engine.host.newId()
  const message = {
    type: 'update',
    id: updateId(messageId),
    name: kind,
    payload: encode(payload, 'the payload'),
  } as const
  const once = { ...options, ...startedOnce('update', { ...options, ...defined({ messageId: own }) }) }
  const run = await engine.startWith(contract(name), input, once, message)
  const timeout = waitOf(wait) ?? limits.requestWaitMsMax
  const answer = await answerWithin(messageId, () => run.awaitUpdate(messageId, { timeout, signal: stop }))
  return { ...started(run, { name, key: options.idempotencyKey }), ...answer }
}

function tooMany(count: number): PawlError {
  const message = `${count} runs are too many for one call; expected at most ${limits.batchElements}. Make several calls.`
  return new PawlError('INPUT_INVALID', message)
}

/** Bins are counted one after the other, so that a chart takes no more of the store than one count. */
async function histogram(
  { startedAfter, startedBefore, bins = HISTOGRAM_BINS, ...filter }: InputOf<'runs.histogram'>,
  { engine, signal: stop }: Caller,
): Promise<{ readonly items: readonly HistogramBin[] }> {
  const [from, to] = [startedAfter.getTime(), startedBefore.getTime()]
  if (to <= from) {
    const message = 'startedBefore is not after startedAfter; expected a span of time. Exchange them.'
    throw new PawlError('INPUT_INVALID', message)
  }
  const edge = (index: number): Date => new Date(Math.round(from + ((to - from) * index) / bins))
  const items: HistogramBin[] = []
  for (let index = 0; index < bins; index++) {
    stop.throwIfAborted()
    const span = { startedAfter: edge(index), startedBefore: edge(index + 1) }
    const groups = await engine.groups({ ...filter, ...span }, { by: 'status' })
    const counts = Object.fromEntries(groups.map(({ key, count }) => [key, count]))
    items.push({ from: span.startedAfter, to: span.startedBefore, counts })
  }
  return { items }
}
