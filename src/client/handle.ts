// A remote control for one run. It holds no state but the run's name; every answer is read from the store.
import type { Query, RunRef, Signal, Update } from '../definitions/context.ts'
import type { Args } from '../definitions/contract.ts'
import { checkPayload } from '../definitions/messages.ts'
import { encodeMessage } from '../kernel/codec.ts'
import { PawlError } from '../kernel/errors.ts'
import { decodeExtras } from '../kernel/extras.ts'
import { limits } from '../kernel/limits.ts'
import { isStop, type Message } from '../kernel/message.ts'
import { checkKnownId, checkKnownName } from '../kernel/names.ts'
import { RunState } from '../kernel/run.ts'
import { decode, encode, type Payload } from '../kernel/value.ts'
import type { LoadAsk, Loaded, Posted, RunSnapshot, StoredTurn, Wakes } from '../stores/store.ts'
import {
  answerOf,
  checkSteps,
  checkTriggered,
  discardable,
  notFound,
  notYet,
  refuseMerging,
  refuseUnknown,
  resultOf,
  signalId,
  underWay,
  updateId,
} from './answers.ts'
import { eventsOf, hasTaken, type Load, pagesOf, triggerOf, turnsOf } from './history.ts'
import { entriesOf, type HistoryEntry, type RunRecord, recordOf, startEntry } from './record.ts'
import { type Ended, RunMissing } from './results.ts'
import { type ForkOptions, Rewinding, type RewindPorts } from './rewinding.ts'
import { isUnclaimed, nothingKnown, type Why, type WhyFacts, whyOf } from './why.ts'

interface Edit {
  readonly step: string
  readonly result: unknown
  readonly note: string
}

export interface RunHandle<out Out> {
  readonly runId: string
  readonly workflowId: string
  /** Waits for the end. Throws `RunError` or `CancelledError` if it is not a good one. */
  result(options?: { readonly signal?: AbortSignal }): Promise<Out>
  describe(): Promise<RunRecord>
  /** Why the run is not moving, and what would move it. */
  why(): Promise<Why>
  /** What happened, from the beginning of its newest generation, or of another. */
  history(options?: {
    readonly after?: number
    readonly generation?: number
  }): AsyncIterable<HistoryEntry>
  signal<Payload>(
    signal: Signal<Payload>,
    ...args: Args<NoInfer<Payload>, { readonly messageId?: string }>
  ): Promise<void>
  /** Asks the code of the run, which must be known here. Writes nothing, and works on runs that have ended. */
  query<Payload, R>(query: Query<Payload, R>, ...args: Args<NoInfer<Payload>, never>): Promise<R>
  /** Has the run do something, and waits for its answer. */
  update<Payload, R>(
    update: Update<Payload, R>,
    ...args: Args<Payload, { readonly messageId?: string; readonly signal?: AbortSignal }>
  ): Promise<R>
  /** The answer to an update sent before; `undefined` while there is none. */
  updateResult<R>(
    update: Update<never, R>,
    messageId: string,
  ): Promise<{ readonly value: R } | undefined>
  /** Asks the run, and its children, to stop. The code sees a `CancelledError` at its next await. */
  cancel(reason?: string): Promise<void>
  /** Ends the run, and its children, where they are: their code is not asked, and no clean-up of theirs runs. */
  terminate(reason: string): Promise<void>
  /** Has the run rest once the steps under way have ended. Messages wait; time goes on. */
  pause(note?: string): Promise<void>
  /** Has a paused run go on; with an edit, as if the step had ended with this result. */
  resume(edit?: Edit): Promise<void>
  /**
   * Drops a message that no worker can read, and that therefore keeps the run from going on; `why` names it. What it
   * said is lost. A message that can be read is taken, not dropped.
   */
  discardMessage(messageId: string, note?: string): Promise<void>
  /** Lets a run begin that was started with `pending`; with another input, if one is given. */
  trigger(input?: unknown): Promise<void>
  /** Has a graph go by another definition: steps under their new names, or skipped. */
  migrate(to: Migration): Promise<void>
  /** Has a run that failed or was cancelled go on where it failed. Steps that are recorded do not run again. */
  retry(): Promise<void>
  /** Has the run go back to a step, and do it and all after it once more. */
  reset(to: { readonly step: string }): Promise<void>
  /** Another run with the past of this one up to a step, which stays as it is. */
  fork(from: ForkOptions): Promise<RunHandle<Out>>
}

/** The definition to go by, and what became of steps: their new names, or `null` for those that are not to be done. */
export interface Migration {
  readonly definitionHash: string
  readonly steps?: Readonly<Record<string, string | null>>
}

/** What a handle needs of its client. */
export interface HandleHost extends RewindPorts {
  load(asks: readonly LoadAsk[]): Promise<readonly Loaded[]>
  post(runId: string, message: Message, wakes: Wakes): Promise<Posted>
  wait(runId: string, signal?: AbortSignal): Promise<Ended>
  inquire(question: {
    readonly head: RunSnapshot['head']
    readonly turns: readonly StoredTurn[]
    readonly name: string
    readonly payload: Payload
  }): Promise<Payload>
  pause(ms: number, signal?: AbortSignal): Promise<void>
  /** What the store knows of a workflow, and what was said about builds. */
  known(name: string): Promise<Pick<WhyFacts, 'submitted' | 'rollOut'>>
}

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
    return this.#runId ?? notYet('runId')
  }

  get workflowId(): string {
    return this.#workflowId ?? notYet('workflowId')
  }

  async result(options: { readonly signal?: AbortSignal } = {}): Promise<Out> {
    const runId = await this.#resolve()
    const ended = await this.#host.wait(runId, options.signal).catch((error: unknown) => {
      throw error instanceof RunMissing ? notFound(this.#ref) : error
    })
    return resultOf(runId, ended) as Out
  }

  async describe(): Promise<RunRecord> {
    return recordOf(await this.#snapshot())
  }

  async why(): Promise<Why> {
    const run = await this.#snapshot()
    const { runId } = run.head
    const [tasks, sessions] = await this.#host.load([
      { type: 'tasks', runId },
      { type: 'sessions' },
    ])
    // Who could take it matters only if nobody has.
    const known = isUnclaimed(run) ? await this.#host.known(run.head.name) : nothingKnown
    const turns = run.endedAt === undefined ? await turnsOf(this.#load, run.head) : []
    return whyOf({
      run,
      turns,
      tasks: tasks?.type === 'tasks' ? tasks.tasks : [],
      sessions: sessions?.type === 'sessions' ? sessions.sessions : [],
      ...known,
    })
  }

  async *history(
    options: { readonly after?: number; readonly generation?: number } = {},
  ): AsyncIterable<HistoryEntry> {
    const run = await this.#snapshot()
    const { runId, generation: newest } = run.head
    const { generation = newest } = options
    const after = options.after ?? -1
    if (after < 0 && generation === 1) yield startEntry(run)
    for await (const page of pagesOf(this.#load, { runId, generation }, Math.max(after, 0))) {
      for (const entry of page.flatMap(entriesOf)) if (entry.seq > after) yield entry
    }
  }

  async signal<Payload>(
    signal: Signal<Payload>,
    ...args: Args<NoInfer<Payload>, { readonly messageId?: string }>
  ): Promise<void> {
    const [given, options] = args
    const { name } = signal
    await checkPayload(signal, given)
    const payload = encode(given, `the payload of signal '${name}'`)
    const id = options?.messageId === undefined ? this.#host.newId() : signalId(options.messageId)
    await this.#post({ type: 'signal', id, name, payload })
  }

  async query<In, R>(query: Query<In, R>, ...args: Args<NoInfer<In>, never>): Promise<R> {
    const { name } = query
    const payload = encode(args[0], `the payload of query '${name}'`)
    const { head } = await this.#snapshot()
    const turns = await turnsOf(this.#load, head)
    return decode(await this.#host.inquire({ head, turns, name, payload })) as R
  }

  async update<In, R>(
    update: Update<In, R>,
    ...args: Args<In, { readonly messageId?: string; readonly signal?: AbortSignal }>
  ): Promise<R> {
    const [given, options] = args
    const { name } = update
    const payload = encode(given, `the payload of update '${name}'`)
    const messageId = options?.messageId ?? this.#host.newId()
    const id = updateId(messageId)
    await this.#post({ type: 'update', id, name, payload })
    return (await this.awaitUpdate(messageId, options?.signal)) as R
  }

  /** Waits for the answer to an update that was sent before. */
  async awaitUpdate(messageId: string, signal?: AbortSignal): Promise<unknown> {
    const id = updateId(messageId)
    const searched = { upTo: 0 }
    let pauseMs: number = limits.updatePollMsMin
    for (;;) {
      const answer = await this.#answer(id, searched)
      if (answer) return answer.value
      await this.#host.pause(pauseMs, signal)
      signal?.throwIfAborted()
      pauseMs = Math.min(pauseMs * 2, limits.resultPollMsMax)
    }
  }

  async updateResult<R>(
    _update: Update<never, R>,
    messageId: string,
  ): Promise<{ readonly value: R } | undefined> {
    const answer = await this.#answer(updateId(messageId))
    return answer && { value: answer.value as R }
  }

  // A run that ends without an answer will never give one; but its end may have come after the history was read.
  async #answer(
    id: string,
    searched = { upTo: 0 },
  ): Promise<{ readonly value: unknown } | undefined> {
    const run = await this.#snapshot()
    const { runId, generation: newest } = run.head
    // It may have been answered before the run continued as new. What is over is looked through once.
    const oldest = Math.max(searched.upTo, newest - limits.generationsKept) + 1
    for (let generation = oldest; generation <= newest; generation++) {
      const answer = answerOf(await eventsOf(this.#load, { runId, generation }), id)
      if (answer) return answer
    }
    searched.upTo = newest - 1
    if (run.endedAt === undefined) return undefined
    const message = `run ${runId} ended before it answered the update.`
    throw new PawlError('RUN_ENDED', message)
  }

  async cancel(reason?: string): Promise<void> {
    const id = `cancel:${this.#host.newId()}`
    await this.#post({ type: 'cancel', id, ...(reason !== undefined && { reason }) })
  }

  async terminate(reason: string): Promise<void> {
    await this.#post({ type: 'terminate', id: `terminate:${this.#host.newId()}`, reason })
  }

  async pause(note?: string): Promise<void> {
    const id = `pause:${this.#host.newId()}`
    await this.#post({ type: 'pause', id, ...(note !== undefined && { note }) })
  }

  async resume(edit?: Edit): Promise<void> {
    const settled = edit && (await this.#settle(edit))
    // The store decides in the write that takes the message whether the run is paused: it may become so at any moment.
    const id = `resume:${this.#host.newId()}`
    // A run that is not paused goes on with the edit alone, and may have ended by now.
    await this.#post({ type: 'resume', id }, { resumes: true }, settled)
  }

  async #settle({ step, result, note }: Edit): Promise<string> {
    await this.#checkOpen(step)
    const value = encode(result, `the result of step '${step}'`)
    const id = `settle:${this.#host.newId()}`
    await this.#post({ type: 'settle', id, step, value, note })
    return id
  }

  // What nobody waits for cannot be settled, and a slip of the pen should not look as if it had been.
  async #checkOpen(step: string): Promise<void> {
    const { head } = await this.#snapshot()
    const { open } = RunState.of(await eventsOf(this.#load, head))
    const steps = [...open].flatMap(([key, each]) =>
      each.type === 'step' ? [[key, each.name]] : [],
    )
    if (steps.some((names) => names.includes(step))) return
    const known = steps.map(([key]) => key).join(', ') || 'none'
    const message = `no step '${step}' of run ${head.runId} is open; open are: ${known}.`
    throw new PawlError('INPUT_INVALID', message)
  }

  async discardMessage(messageId: string, note?: string): Promise<void> {
    const given = checkKnownId(messageId, 'a message id')
    const run = await this.#snapshot()
    const message = run.endedAt === undefined ? discardable(run, given) : given
    const id = `discard:${this.#host.newId()}`
    const discard = { type: 'discard', id, message, ...(note !== undefined && { note }) } as const
    await this.#post(discard, { resumes: true })
  }

  async trigger(given?: unknown): Promise<void> {
    const { head } = await this.#snapshot()
    if (!decodeExtras(head.extras).pending) {
      const message = `run ${head.runId} does not wait to be triggered: it was started without \`pending\`.`
      throw new PawlError('INPUT_INVALID', message)
    }
    const input = given === undefined ? {} : { input: encode(given, 'the input of the run') }
    const before = await triggerOf(this.#load, head.runId)
    if (before) return checkTriggered(head.runId, before, input)
    await this.#post({ type: 'trigger', id: 'trigger', ...input }, { urgent: true })
  }

  async migrate({ definitionHash, steps = {} }: Migration): Promise<void> {
    const hash = checkKnownName(definitionHash, 'definitionHash')
    const { head } = await this.#snapshot()
    checkSteps(steps)
    const events = await eventsOf(this.#load, head)
    refuseUnknown(events, steps)
    refuseMerging(events, steps)
    const id = `migrate:${head.runId}:${this.#host.newId()}`
    await this.#post({ type: 'migrate', id, hash, steps: { ...steps } }, { urgent: true })
  }

  async retry(): Promise<void> {
    const { run, rewinding } = await this.#rewinding()
    if (run.endedAt === undefined) {
      if (run.paused) return this.resume()
      throw underWay(run, 'retried')
    }
    if (run.status === 'completed') {
      const message = `run ${run.head.runId} has completed; there is nothing to try again. Use reset({ step }) or fork({ step }).`
      throw new PawlError('RUN_ENDED', message)
    }
    await rewinding.retry()
  }

  async reset({ step }: { readonly step: string }): Promise<void> {
    const { run, rewinding } = await this.#rewinding()
    if (run.endedAt === undefined && !run.paused) throw underWay(run, 'reset')
    await rewinding.reset(step)
  }

  async fork(from: ForkOptions): Promise<RunHandle<Out>> {
    const { rewinding } = await this.#rewinding()
    return new Handle<Out>(this.#host, await rewinding.fork(from))
  }

  async #rewinding(): Promise<{ run: RunSnapshot; rewinding: Rewinding }> {
    const run = await this.#snapshot()
    const turns = await turnsOf(this.#load, run.head)
    return { run, rewinding: new Rewinding(this.#host, { run, turns }) }
  }

  /** A run that has ended takes no message, unless it has taken this one or the one `before` it. */
  async #post(message: Message, wakes?: Wakes, before?: string): Promise<void> {
    encodeMessage(message)
    const runId = await this.#resolve()
    const { outcome } = await this.#host.post(
      runId,
      message,
      wakes ?? (isStop(message) ? { urgent: true } : {}),
    )
    if (outcome === 'missing') throw notFound(this.#ref)
    if (outcome === 'closed' && !isStop(message)) {
      // It may have taken this very message, and the answer to that got lost.
      for (const id of before === undefined ? [message.id] : [message.id, before])
        if (await hasTaken(this.#load, runId, id)) return
      throw new PawlError('RUN_ENDED', `run ${runId} has ended; it takes no more messages.`)
    }
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
