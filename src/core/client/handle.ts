// Handles: a handle knows only the ids of its run; every answer is read from the store.

import { defined } from '../base/defined.ts'
import { checkOptions, type Described } from '../base/described.ts'
import { digestPayload } from '../base/digest.ts'
import { PawlError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { checkKnownId, checkKnownName } from '../base/names.ts'
import { formatDuration, type Instant, milliseconds } from '../base/time.ts'
import { decode, encode, type Payload } from '../base/value.ts'
import type { Query, RunRef, Signal, Update } from '../definitions/context.ts'
import type { Args } from '../definitions/contract.ts'
import { checkPayload } from '../definitions/messages.ts'
import { type Stream, streamName } from '../definitions/stream.ts'
import { encodeMessage } from '../kernel/codec.ts'
import type { Event } from '../kernel/event.ts'
import { decodeExtras } from '../kernel/extras.ts'
import { isStop, type Message, type Stop } from '../kernel/message.ts'
import { RunState } from '../kernel/run.ts'
import type { Posted, RunSnapshot, Wakes } from '../stores/store.ts'
import { notAtRest, notEnded, notFound, refuseMoved, triggerUnread, unknownUntilRead } from './errors.ts'
import { eventsOf, hasTaken, type Load, lastSeq, pagesOf, triggerOf, turnStart, turnsOf } from './history.ts'
import { discardedId, signalId, updateId } from './ids.ts'
import { checkStepNames, checkSteps } from './migration.ts'
import type { HistoryEvent } from './public-history.ts'
import { publicEvents, publicStart } from './public-history.ts'
import { RunMissing } from './results.ts'
import { type ForkOptions, Rewinding } from './rewinding.ts'
import {
  type Edit,
  editOptions,
  forkOptions,
  type HandleHost,
  historyOptions,
  type Migration,
  messageOptions,
  migrationOptions,
  type RunHandle,
  resetOptions,
  resultOptions,
  type StartedRun,
  stepsOptions,
  viewOptions,
  type WaitOptions,
} from './run-handle.ts'
import { answerOf, type RunRecord, recordOf, resultOf } from './run-record.ts'
import { itemsOf, type StepRecord, stepsOf } from './steps.ts'
import { validity } from './stream-validity.ts'
import {
  newsIn,
  newsOf,
  type StreamItem,
  type StreamNews,
  type StreamOptions,
  type StreamPart,
  type StreamRecord,
  streamOptions,
} from './streams.ts'
import { type Timeline, timelineOf } from './timeline.ts'
import { callerOf } from './tracing.ts'
import { isUnclaimed, nothingKnown, type Why, whyOf } from './why.ts'

/** A generation as it was after one of its events. */
interface View {
  readonly events: readonly Event[]
  readonly from: Instant
  readonly now: Instant
}

/** @internal */
export class Handle<out Out> implements RunHandle<Out> {
  readonly #host: HandleHost
  readonly #ref: RunRef
  readonly #load: Load
  #runId: string | undefined
  #workflowId: string | undefined

  constructor(host: HandleHost, ref: RunRef, known: { runId?: string; workflowId?: string } = {}) {
    this.#host = host
    this.#load = (asks) => host.load(asks)
    this.#ref = ref
    this.#runId = typeof ref === 'string' ? ref : known.runId
    this.#workflowId = typeof ref === 'string' ? known.workflowId : ref.workflowId
  }

  get runId(): string {
    return this.#runId ?? unknownUntilRead('runId')
  }

  get workflowId(): string {
    return this.#workflowId ?? unknownUntilRead('workflowId')
  }

  async result(options: WaitOptions = {}): Promise<Out> {
    checkOptions(resultOptions, options, { of: 'result' })
    return this.#waiting('ended', options, async (runId, signal) => {
      const ended = await this.#host.wait(runId, signal).catch((error: unknown) => {
        throw error instanceof RunMissing ? notFound(this.#ref) : error
      })
      return resultOf(runId, ended, this.#workflowId) as Out
    })
  }

  async describe(): Promise<RunRecord> {
    return recordOf(await this.#snapshot())
  }

  async why(): Promise<Why> {
    const run = await this.#snapshot()
    const { runId } = run.head
    const [tasks, sessions] = await this.#host.load([{ type: 'tasks', runId }, { type: 'sessions' }])
    const known = run.session !== undefined || isUnclaimed(run) ? await this.#host.known(run.head.name) : nothingKnown
    const turns = run.endedAt === undefined || run.status === 'failed' ? await turnsOf(this.#load, run.head) : []
    return whyOf({
      run,
      id: typeof this.#ref === 'string' ? runId : this.#ref.workflowId,
      turns,
      tasks: tasks?.type === 'tasks' ? tasks.tasks : [],
      sessions: sessions?.type === 'sessions' ? sessions.sessions : [],
      ...known,
    })
  }

  async *history(options: Described<typeof historyOptions> = {}): AsyncIterable<HistoryEvent> {
    checkOptions(historyOptions, options, { of: 'history' })
    const run = await this.#snapshot()
    const { runId, generation: newest } = run.head
    const { generation = newest, before = Number.MAX_SAFE_INTEGER, last } = options
    const isWanted = ({ step, type }: HistoryEvent): boolean =>
      (options.step ?? step) === step && (options.type ?? type) === type
    const start = publicStart(run)
    const of = { runId, generation }
    const end = last === undefined ? 0 : Math.min(before - 1, await lastSeq(this.#load, of))
    const after = Math.max(options.after ?? -1, last === undefined ? -1 : end - last)
    if (after < 0 && before > 0 && generation === 1 && isWanted(start)) yield start
    const from = after <= 0 ? 0 : await turnStart(this.#load, of, after)
    for await (const page of pagesOf(this.#load, of, from)) {
      for (const event of page.flatMap(publicEvents)) {
        if (event.seq >= before) return
        if (event.seq > after && isWanted(event)) yield event
      }
    }
  }

  async steps(options: Described<typeof stepsOptions> = {}): Promise<readonly StepRecord[]> {
    checkOptions(stepsOptions, options, { of: 'steps' })
    const { list } = options
    const { events, now } = await this.#view(options)
    return list === undefined ? stepsOf(events, now) : itemsOf(events, list, now)
  }

  async timeline(view: Described<typeof viewOptions> = {}): Promise<Timeline> {
    checkOptions(viewOptions, view, { of: 'timeline' })
    const { events, from, now } = await this.#view(view)
    return timelineOf(events, from, now)
  }

  /** The events of a generation up to one of them. What is not the present ends with its last event. */
  async #view({ generation, at = Number.MAX_SAFE_INTEGER }: Described<typeof viewOptions>): Promise<View> {
    const { head, now } = await this.#snapshot()
    const { runId, createdAt, generation: newest } = head
    const of = generation ?? newest
    const all = await eventsOf(this.#load, { runId, generation: of })
    const events = all.slice(0, at)
    const from = of === 1 ? createdAt : (all[0]?.at ?? createdAt)
    const isPresent = of === newest && events.length === all.length
    return { events, from, now: isPresent ? now : (events.at(-1)?.at ?? from) }
  }

  async *stream<Chunk>(stream: Stream<Chunk>, options: StreamOptions = {}): AsyncIterable<StreamItem<Chunk>> {
    checkOptions(streamOptions, options, { of: 'stream' })
    const of = { stream: streamName('run.stream', stream), from: options.from ?? 0, signal: options.signal }
    const { runId } = (await this.#snapshot()).head
    for await (const { items } of newsOf(this.#host.streams, { runId, ...of })) {
      for (const { payload, ...item } of items) yield { ...item, chunk: decode(payload) as Chunk }
    }
  }

  async streamed<Chunk>(stream: Stream<Chunk>): Promise<readonly Chunk[]> {
    const of = { runId: await this.#resolve(), stream: streamName('run.streamed', stream) }
    const parts: StreamPart[] = []
    const items: StreamNews['items'][number][] = []
    for (let from = 0; ; ) {
      const ask = { ...of, from, parts: parts.length, batches: limits.streamPageBatches }
      const [loaded] = await this.#host.load([{ type: 'stream', ...ask }])
      if (loaded?.type !== 'stream' || !loaded.page) throw notFound(this.#ref)
      const news = newsIn(loaded.page, parts, from)
      items.push(...news.items)
      from = news.next
      if (from >= loaded.page.items) break
    }
    const isValid = validity(parts)
    return items.filter(({ part }) => isValid(part.number)).map(({ payload }) => decode(payload) as Chunk)
  }

  async streams(): Promise<readonly StreamRecord[]> {
    const [loaded] = await this.#host.load([{ type: 'streams', runId: await this.#resolve() }])
    if (loaded?.type !== 'streams' || !loaded.streams) throw notFound(this.#ref)
    return loaded.streams
  }

  async signal<Payload>(
    signal: Signal<Payload>,
    ...args: Args<NoInfer<Payload>, Described<typeof messageOptions>>
  ): Promise<void> {
    const [given, options = {}] = args
    checkOptions(messageOptions, options, { of: 'signal' })
    const { name } = signal
    await checkPayload(signal, given)
    const payload = encode(given, `the payload of signal '${name}'`)
    const { messageId } = options
    const id = messageId === undefined ? this.#host.newId() : signalId(messageId)
    await this.#post({ type: 'signal', id, name, payload, ...callerOf(options) })
  }

  async query<In, R>(query: Query<In, R>, ...args: Args<NoInfer<In>, never>): Promise<R> {
    const { name } = query
    const payload = encode(args[0], `the payload of query '${name}'`)
    const run = await this.#snapshot()
    refuseMoved(run)
    const { head } = run
    const turns = await turnsOf(this.#load, head)
    return decode(await this.#host.queryRun({ head, turns, name, payload })) as R
  }

  async update<In, R>(
    update: Update<In, R>,
    ...args: Args<In, Described<typeof messageOptions> & WaitOptions>
  ): Promise<R> {
    const [given, options = {}] = args
    checkOptions({ ...messageOptions, ...resultOptions }, options, { of: 'update' })
    const { name } = update
    const payload = encode(given, `the payload of update '${name}'`)
    const messageId = options.messageId ?? this.#host.newId()
    const id = updateId(messageId)
    await this.#post({ type: 'update', id, name, payload, ...callerOf(options) })
    return (await this.awaitUpdate(messageId, options, name)) as R
  }

  /** Waits for the answer to an update that was sent before. */
  async awaitUpdate(messageId: string, options?: WaitOptions, name = ''): Promise<unknown> {
    const id = updateId(messageId)
    const searched = { upTo: 0 }
    return this.#waiting(
      `answered update '${name}', which its code may not handle,`,
      options,
      async (_runId, signal) => {
        let pauseMs: number = limits.updatePollMsMin
        for (;;) {
          const answer = await this.#answer(id, searched)
          if (answer) return answer.value
          const ms = pauseMs
          await this.#host.waits.untilNextLook(() => this.#host.pause(ms, signal), signal)
          signal.throwIfAborted()
          pauseMs = Math.min(pauseMs * 2, limits.resultPollMsMax)
        }
      },
    )
  }

  async #waiting<T>(
    what: string,
    { signal, timeout }: WaitOptions = {},
    wait: (runId: string, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const timeoutMs = timeout === undefined ? undefined : milliseconds(timeout, 'timeout')
    const runId = await this.#resolve()
    return this.#host.waits.during(
      runId,
      { signal, timeoutMs },
      (stop) => wait(runId, stop),
      async () => notEnded(runId, `has not ${what} within ${formatDuration(timeoutMs ?? 0)}`, await this.why()),
    )
  }

  async updateResult<R>(_update: Update<never, R>, messageId: string): Promise<{ readonly value: R } | undefined> {
    const answer = await this.#answer(updateId(messageId))
    return answer && { value: answer.value as R }
  }

  // A run that ended without an answer never gives one, unless it ended after its history was read.
  async #answer(id: string, searched = { upTo: 0 }): Promise<{ readonly value: unknown } | undefined> {
    const run = await this.#snapshot()
    refuseMoved(run)
    const { runId, generation: newest } = run.head
    // The answer may be in an earlier generation. Those are searched once: they change only if the store fails over to a
    // copy that lacks their last writes, so the search that ends without an answer begins with the oldest again.
    const from = searched.upTo
    const oldest = Math.max(from, newest - limits.generationsKept) + 1
    for (let generation = oldest; generation <= newest; generation++) {
      const answer = answerOf(await eventsOf(this.#load, { runId, generation }), id)
      if (answer) return answer
    }
    searched.upTo = newest - 1
    if (run.endedAt === undefined) return undefined
    // A store that failed over meanwhile may have lost the end of the run; the run then ends, and answers, again.
    const now = await this.#snapshot()
    if (from > 0 || now.endedAt === undefined || now.head.generation !== newest) {
      searched.upTo = 0
      return undefined
    }
    throw new PawlError('RUN_ENDED', `run ${runId} ended before it answered the update.`)
  }

  async cancel(reason?: string): Promise<void> {
    await this.#stop(defined({ type: 'cancel', id: `cancel:${this.#host.newId()}`, reason }))
  }

  async terminate(reason: string): Promise<void> {
    await this.#stop({ type: 'terminate', id: `terminate:${this.#host.newId()}`, reason })
  }

  // The message is durable, and the worker that claims the run carries it out. A run that no worker holds, and whose
  // code need not run, is ended here: a session may look alive although its worker was killed.
  async #stop(stop: Stop): Promise<void> {
    await this.#post(stop)
    try {
      const run = await this.#snapshot()
      if (run.endedAt !== undefined || run.session !== undefined) return
      if (stop.type === 'cancel' && run.status !== 'pending') return
      const turns = await turnsOf(this.#load, run.head)
      await this.#host.endUnclaimed({ run, turns, stop })
    } catch (error) {
      if (!(error instanceof PawlError)) throw error
    }
  }

  async pause(note?: string): Promise<void> {
    const id = `pause:${this.#host.newId()}`
    await this.#post(defined({ type: 'pause', id, note }))
  }

  async resume(edit?: Edit): Promise<void> {
    if (edit !== undefined) checkOptions(editOptions, edit, { of: 'resume' })
    const settled = edit && (await this.#settle(edit))
    // Sent even if the run is not paused now, because it may be paused at any moment; the store decides in the write.
    const id = `resume:${this.#host.newId()}`
    // The edit may already have let the run end.
    await this.#post({ type: 'resume', id }, { resumes: true }, settled)
  }

  async #settle({ step, result, note }: Edit): Promise<string> {
    await this.#checkOpen(step)
    const value = encode(result, `the result of step '${step}'`)
    const id = `settle:${this.#host.newId()}`
    await this.#post({ type: 'settle', id, step, value, note })
    return id
  }

  // Refuses a step that is not in progress, so that a typo is not reported as success.
  async #checkOpen(step: string): Promise<void> {
    const { head } = await this.#snapshot()
    const { open } = RunState.of(await eventsOf(this.#load, head))
    const steps = [...open].flatMap(([key, each]) => (each.type === 'step' ? [[key, each.name]] : []))
    if (steps.some((names) => names.includes(step))) return
    const known = steps.map(([key]) => key).join(', ') || 'none'
    const message = `run ${head.runId} has no step '${step}' in progress; expected one of: ${known}.`
    throw new PawlError('INPUT_INVALID', message)
  }

  async discardMessage(messageId: string, note?: string): Promise<void> {
    const given = checkKnownId(messageId, 'a message id')
    const run = await this.#snapshot()
    const message = run.endedAt === undefined ? discardedId(run, given) : given
    const id = `discard:${this.#host.newId()}`
    await this.#post(defined({ type: 'discard', id, message, note }), { resumes: true })
  }

  async trigger(given?: unknown): Promise<void> {
    const { head } = await this.#snapshot()
    if (!decodeExtras(head.extras).pending) {
      const message = `run ${head.runId} cannot be triggered: it was started without \`pending\`.`
      throw new PawlError('INPUT_INVALID', message)
    }
    const input = given === undefined ? {} : { input: encode(given, 'the input of the run') }
    const before = await triggerOf(this.#load, head.runId)
    if (before) return checkTriggered(head.runId, before, input)
    const message = { type: 'trigger', id: 'trigger', ...input } as const
    const outcome = await this.#post(message, { urgent: true })
    if (outcome === 'duplicate') return this.#checkFirst(head.runId, input)
    // A worker may have read another trigger between the two calls. It would drop this one.
    const first = await triggerOf(this.#load, head.runId)
    if (first) checkTriggered(head.runId, first, input)
  }

  // There was a trigger before, perhaps from an earlier try of this call. The history shows it once a worker read it.
  async #checkFirst(runId: string, input: { readonly input?: Payload }): Promise<void> {
    let waitedMs = 0
    for (let pauseMs: number = limits.updatePollMsMin; ; pauseMs *= 2) {
      const first = await triggerOf(this.#load, runId)
      if (first) return checkTriggered(runId, first, input)
      if ((waitedMs += pauseMs) > limits.resultPollMsMax) throw triggerUnread(runId)
      await this.#host.pause(pauseMs)
    }
  }

  async migrate(to: Migration): Promise<void> {
    checkOptions(migrationOptions, to, { of: 'migrate' })
    const { definitionHash, steps = {} } = to
    const hash = checkKnownName(definitionHash, 'definitionHash')
    const { head } = await this.#snapshot()
    checkStepNames(steps)
    const events = await eventsOf(this.#load, head)
    checkSteps(events, steps)
    const id = `migrate:${head.runId}:${this.#host.newId()}`
    await this.#post({ type: 'migrate', id, hash, steps: { ...steps } }, { urgent: true })
  }

  async retry(): Promise<void> {
    const { run, rewinding } = await this.#rewinding()
    if (run.endedAt === undefined) {
      if (run.paused) return this.resume()
      throw notAtRest(run, 'retried')
    }
    if (run.status === 'completed') {
      const message = `run ${run.head.runId} has completed, so there is nothing to retry. Reset or fork it instead.`
      throw new PawlError('RUN_ENDED', message)
    }
    await rewinding.retry()
  }

  async reset(to: { readonly step: string }): Promise<void> {
    checkOptions(resetOptions, to, { of: 'reset' })
    const { step } = to
    const { run, rewinding } = await this.#rewinding()
    if (run.endedAt === undefined && !run.paused) throw notAtRest(run, 'reset')
    await rewinding.reset(step)
  }

  async fork(from: ForkOptions): Promise<RunHandle<Out>> {
    checkOptions(forkOptions, from, { of: 'fork' })
    const { rewinding } = await this.#rewinding()
    return new Handle<Out>(this.#host, await rewinding.fork(from))
  }

  async #rewinding(): Promise<{ run: RunSnapshot; rewinding: Rewinding }> {
    const run = await this.#snapshot()
    refuseMoved(run)
    const turns = await turnsOf(this.#load, run.head)
    return { run, rewinding: new Rewinding(this.#host, { run, turns }) }
  }

  /** Throws if the run has ended, unless it has consumed this message, or the message `before`, in an earlier try. */
  async #post(message: Message, wakes?: Wakes, before?: string): Promise<Posted['outcome']> {
    encodeMessage(message)
    const runId = await this.#resolve()
    const { outcome } = await this.#host.post(runId, message, wakes ?? (isStop(message) ? { urgent: true } : {}))
    if (outcome === 'missing') throw notFound(this.#ref)
    if (outcome === 'closed') refuseMoved(await this.#snapshot())
    if (outcome === 'closed' && !isStop(message)) {
      // The run may have consumed this very message, and the answer to that call was lost.
      for (const id of before === undefined ? [message.id] : [message.id, before])
        if (await hasTaken(this.#load, runId, id)) return 'duplicate'
      throw new PawlError('RUN_ENDED', `run ${runId} has ended, so it receives no more messages.`)
    }
    return outcome
  }

  async #snapshot(): Promise<RunSnapshot> {
    const runId = await this.#resolve()
    const [loaded] = await this.#host.load([{ type: 'run', runId }])
    if (loaded?.type !== 'run' || !loaded.run) throw notFound(this.#ref)
    this.#workflowId = loaded.run.head.workflowId
    return loaded.run
  }

  async #resolve(): Promise<string> {
    if (typeof this.#ref === 'string') return this.#ref
    if (this.#runId !== undefined) return this.#runId
    const [loaded] = await this.#host.load([{ type: 'named', workflowId: this.#ref.workflowId }])
    if (loaded?.type !== 'named' || loaded.runId === undefined) throw notFound(this.#ref)
    this.#runId = loaded.runId
    return loaded.runId
  }
}

/** The handle of a run that was just started. @internal */
export class StartedHandle<out Out> extends Handle<Out> implements StartedRun<Out> {
  readonly isNew: boolean
  declare readonly alongside?: string

  constructor(host: HandleHost, runId: string, known: { workflowId: string; isNew: boolean; alongside?: string }) {
    super(host, runId, known)
    this.isNew = known.isNew
    if (known.alongside !== undefined) this.alongside = known.alongside
  }
}

/** A run is triggered once: the same trigger again changes nothing, another one is refused. */
function checkTriggered(
  runId: string,
  { input: known }: Extract<Event, { type: 'RunTriggered' }>,
  { input }: { readonly input?: Payload },
): void {
  const digest = (each: Payload | undefined): string | undefined => each && digestPayload(each)
  if (digest(known) === digest(input)) return
  const message = `run ${runId} was triggered before, with another input. Start another run for this input.`
  throw new PawlError('RUN_ALREADY_EXISTS', message, { details: { runId } })
}
