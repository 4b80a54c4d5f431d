// A handle to a run on a server. Like a handle on a store, it keeps to the run that it found first.

import { defined } from '../core/base/defined.ts'
import { CancelledError, PawlError, RunError } from '../core/base/errors.ts'
import { errorOf } from '../core/base/failure.ts'
import { limits } from '../core/base/limits.ts'
import { checkKnownId, isUuid } from '../core/base/names.ts'
import { formatDuration, milliseconds } from '../core/base/time.ts'
import { decode } from '../core/base/value.ts'
import {
  type Args,
  checkPayload,
  type Edit,
  type ForkOptions,
  type Query,
  type Signal,
  type Stream,
  streamName,
  type Update,
  validity,
  type WaitOptions,
} from '../core/browser.ts'
import type {
  HistoryEvent,
  Migration,
  RunHandle,
  RunRecord,
  RunRef,
  StartedRun,
  StepRecord,
  StreamItem,
  StreamOptions,
  StreamPart,
  StreamRecord,
  Timeline,
  Why,
} from '../core/index.ts'
import type { InputOf } from '../operations/inputs.ts'
import type { Outcome, OutputOf, Started } from '../operations/outputs.ts'
import type { CallName } from '../operations/routes.ts'
import type { Connection } from './connection.ts'
import { notEnded } from './errors.ts'
import { liveEvents } from './events.ts'

type Unfinished = { readonly why: Why; readonly text: string }
type RunCall = { [N in CallName]: InputOf<N> extends { readonly run: string } ? N : never }[CallName]
type MessageOptions = { readonly messageId?: string; readonly traceparent?: string }

/** @internal */
export class RemoteRun<out Out> implements RunHandle<Out> {
  readonly #server: Connection
  readonly #ref: RunRef
  #runId: string | undefined
  #workflowId: string | undefined

  constructor(server: Connection, ref: RunRef, known: { readonly workflowId?: string } = {}) {
    checkRef(ref)
    this.#server = server
    this.#ref = ref
    this.#runId = typeof ref === 'string' ? ref : undefined
    this.#workflowId = typeof ref === 'string' ? known.workflowId : ref.workflowId
  }

  get runId(): string {
    return this.#runId ?? unknownUntilRead('runId')
  }

  get workflowId(): string {
    return this.#workflowId ?? unknownUntilRead('workflowId')
  }

  async result(options: WaitOptions = {}): Promise<Out> {
    return this.#waiting('has not ended', options, async (run, wait) => {
      const { signal } = options
      const outcome = await this.#server.call('runs.result', { run, wait }, { signal, waitMs: wait })
      return outcome.status === 'live' ? outcome : { value: resultOf(outcome, this.#workflowId) as Out }
    })
  }

  async describe(): Promise<RunRecord> {
    return this.#read(await this.#find())
  }

  async why(): Promise<Why> {
    await this.#find()
    // By the id that the caller knows, because the suggestions name it.
    const run = typeof this.#ref === 'string' ? this.#ref : `w:${this.#ref.workflowId}`
    return this.#server.call('runs.why', { run })
  }

  async *history(options: Omit<InputOf<'runs.history'>, 'run'> = {}): AsyncIterable<HistoryEvent> {
    const run = await this.#find()
    let page = await this.#server.call('runs.history', { ...options, run })
    // The end may have moved since, so the next page begins after this one, and not so many events before the end.
    const { last: _, ...rest } = options
    for (;;) {
      yield* page.events
      const { generation, next: after } = page
      if (after === undefined) return
      page = await this.#server.call('runs.history', { ...rest, run, generation, after })
    }
  }

  async steps(options: Omit<InputOf<'runs.steps'>, 'run'> = {}): Promise<readonly StepRecord[]> {
    return (await this.#call('runs.steps', options)).items
  }

  timeline(options: Omit<InputOf<'runs.timeline'>, 'run'> = {}): Promise<Timeline> {
    return this.#call('runs.timeline', options)
  }

  async *stream<Chunk>(stream: Stream<Chunk>, options: StreamOptions = {}): AsyncIterable<StreamItem<Chunk>> {
    const name = streamName('run.stream', stream)
    const { from, signal } = options
    const parts: StreamPart[] = []
    const input = { run: await this.#find(), name, ...defined({ from }) }
    for await (const { event, data } of liveEvents(this.#server, 'live.stream', input, { signal })) {
      if (event === 'part') parts[data.number] = data
      if (event !== 'item') continue
      const { offset, chunk: json, notes } = data
      const part = parts[data.part]
      if (part) yield { offset, chunk: decode({ json, ...(notes && { notes }) }) as Chunk, part }
    }
  }

  async streamed<Chunk>(stream: Stream<Chunk>): Promise<readonly Chunk[]> {
    const of = { run: await this.#find(), name: streamName('run.streamed', stream) }
    const items: OutputOf<'streams.read'>['items'][number][] = []
    for (let from: number | undefined = 0; ; ) {
      const page: OutputOf<'streams.read'> = await this.#server.call('streams.read', { ...of, from })
      items.push(...page.items)
      from = page.next
      if (from !== undefined) continue
      const isValid = validity(page.parts)
      return items.filter(({ part }) => isValid(part)).map(({ chunk }) => chunk as Chunk)
    }
  }

  async streams(): Promise<readonly StreamRecord[]> {
    return (await this.#call('streams.list', {})).items
  }

  async signal<Payload>(signal: Signal<Payload>, ...args: Args<NoInfer<Payload>, MessageOptions>): Promise<void> {
    const [payload, options] = args
    await checkPayload(signal, payload)
    await this.#call('runs.signal', { ...options, name: signal.name, payload })
  }

  async query<Payload, R>(query: Query<Payload, R>, ...args: Args<NoInfer<Payload>, never>): Promise<R> {
    return (await this.#call('runs.query', { name: query.name, payload: args[0] })).result as R
  }

  async update<Payload, R>(
    update: Update<Payload, R>,
    ...args: Args<Payload, MessageOptions & WaitOptions>
  ): Promise<R> {
    const [payload, { messageId = this.#server.newId(), traceparent, ...options } = {}] = args
    const message = { payload, messageId, ...(traceparent !== undefined && { traceparent }) }
    return (await this.awaitUpdate(update.name, message, options)) as R
  }

  /** Sends the update, and again with the same id until it is answered. @internal */
  async awaitUpdate(
    name: string,
    message: { readonly payload: unknown; readonly messageId: string; readonly traceparent?: string },
    options: WaitOptions = {},
  ): Promise<unknown> {
    const what = `has not answered update '${name}', which its code may not handle,`
    return this.#waiting(what, options, async (run, wait) => {
      const { signal } = options
      const answer = await this.#server.call('runs.update', { run, name, ...message, wait }, { signal, waitMs: wait })
      return 'why' in answer ? answer : { value: answer.result }
    })
  }

  async updateResult<R>(_update: Update<never, R>, messageId: string): Promise<{ readonly value: R } | undefined> {
    const answer = await this.#call('runs.updateResult', { messageId })
    return 'why' in answer ? undefined : { value: answer.result as R }
  }

  async cancel(reason?: string): Promise<void> {
    await this.#call('runs.cancel', defined({ reason }))
  }

  async terminate(reason: string): Promise<void> {
    await this.#call('runs.terminate', { reason })
  }

  async pause(note?: string): Promise<void> {
    await this.#call('runs.pause', defined({ note }))
  }

  async resume(edit?: Edit): Promise<void> {
    await this.#call('runs.resume', defined({ edit }))
  }

  async discardMessage(messageId: string, note?: string): Promise<void> {
    await this.#call('runs.discard', defined({ messageId, note }))
  }

  async trigger(input?: unknown): Promise<void> {
    await this.#call('runs.trigger', { input })
  }

  async migrate(to: Migration): Promise<void> {
    await this.#call('runs.migrate', { ...to })
  }

  async retry(): Promise<void> {
    await this.#call('runs.retry', {})
  }

  async reset({ step }: { readonly step: string }): Promise<void> {
    await this.#call('runs.reset', { step })
  }

  async fork(from: ForkOptions): Promise<RunHandle<Out>> {
    const { runId } = await this.#call('runs.fork', { ...from })
    return new RemoteRun<Out>(this.#server, runId)
  }

  async #call<N extends RunCall>(name: N, input: Omit<InputOf<N>, 'run'>): Promise<OutputOf<N>> {
    const run = await this.#find()
    return this.#server.call(name, { ...input, run } as unknown as InputOf<N>)
  }

  /** Asks until there is a value or the time is over. One request waits for a part of it. */
  async #waiting<T>(
    what: string,
    { timeout }: WaitOptions,
    ask: (run: string, waitMs: number) => Promise<{ readonly value: T } | Unfinished>,
  ): Promise<T> {
    const { clock } = this.#server
    const mostMs = timeout === undefined ? Number.POSITIVE_INFINITY : milliseconds(timeout, 'timeout')
    const runId = await this.#find()
    const begun = clock.monotonic()
    for (;;) {
      const leftMs = mostMs - (clock.monotonic() - begun)
      const answer = await ask(runId, Math.max(1, Math.min(Math.ceil(leftMs), limits.longPollMs)))
      if ('value' in answer) return answer.value
      if (clock.monotonic() - begun < mostMs) continue
      const told = typeof this.#ref === 'string' ? answer : { ...answer, why: await this.why() }
      throw notEnded(runId, `${what} within ${formatDuration(mostMs)}`, told)
    }
  }

  async #find(): Promise<string> {
    return this.#runId ?? (await this.#read(`w:${this.workflowId}`)).runId
  }

  async #read(run: string): Promise<RunRecord> {
    const record = await this.#server.call('runs.get', { run })
    this.#runId ??= record.runId
    this.#workflowId = record.workflowId
    return record
  }
}

/** The handle that a start returns. @internal */
export class RemoteStartedRun<out Out> extends RemoteRun<Out> implements StartedRun<Out> {
  readonly isNew: boolean
  declare readonly alongside?: string

  /** With a key of the client's own, any run of that key was created by this call, perhaps by an earlier try of it. */
  constructor(server: Connection, { runId, workflowId, isNew, keyed, alongside }: Started, isOwnKey: boolean) {
    super(server, runId, { workflowId })
    this.isNew = isNew || (isOwnKey && keyed === true)
    if (alongside !== undefined) this.alongside = alongside
  }
}

function resultOf(outcome: Exclude<Outcome, { readonly status: 'live' }>, workflowId = outcome.runId): unknown {
  if (outcome.status === 'completed') return outcome.output
  if (outcome.status === 'cancelled') throw new CancelledError(outcome.reason)
  const { runId, failure, compensationFailures } = outcome
  const what = `run '${workflowId}'`
  throw new RunError({ failure, runId, compensationFailures, what }, { cause: errorOf(failure) })
}

function checkRef(ref: RunRef): void {
  if (typeof ref !== 'string') checkKnownId((ref as Partial<typeof ref> | undefined)?.workflowId, 'a workflow id')
  else if (!isUuid(ref)) {
    const todo = "For an id of your own use get({ workflowId: '…' })."
    throw new PawlError('RUN_ID_INVALID', `'${ref.slice(0, 60)}' is not a run id; expected a UUID. ${todo}`)
  }
}

function unknownUntilRead(property: string): never {
  throw new PawlError('INPUT_INVALID', `the ${property} of this handle is not known yet. Call describe() first.`)
}
