// One turn: messages, results and due timers become events; a decider answers them with commands; the commands become
// events, too. Pure: the caller hands in everything it needs and does everything it returns.
import { assert, unreachable } from '../base/assert.ts'
import type { Instant } from '../base/time.ts'
import { type AttributeChanges, foundBy } from './attributes.ts'
import type { Command, ContinueRun, Receiver, RunStep, SendMessage, StartChild, WriteStream } from './command.ts'
import {
  answered,
  becauseOf,
  childEnded,
  childEvent,
  endingOf,
  lastAttempt,
  lateStep,
  type Outgoing,
  type Stopped,
  stepEnded,
  stopChild,
} from './endings.ts'
import type { Ending, Event, EventBody, HistoryEvent } from './event.ts'
import { childId, isShielded } from './ids.ts'
import { endingBy, type Message, type StepOutcome, type Stop, TERMINATED } from './message.ts'
import { awaitsEnd } from './requests.ts'
import { type Head, type RunState } from './run.ts'
import { runSpanOf, traceOf, traceparentText } from './trace.ts'

/** The outcome of an attempt that ran in the worker that holds the run. */
export type LocalResult =
  | { readonly type: 'ended'; readonly key: string; readonly outcome: StepOutcome }
  | {
      readonly type: 'retry'
      readonly key: string
      readonly attempt: number
      readonly failure: Extract<Event, { type: 'StepRetried' }>['failure']
      readonly until: Instant
      readonly left?: true
    }

/** What a turn writes to a stream; without an item, the stream is closed. */
export interface WrittenItem {
  readonly stream: string
  readonly item?: WriteStream['item'] & object
  /** Items that the code wrote before. */
  readonly keep: number
}

export interface TurnEnd {
  readonly event: HistoryEvent
  /** The first events of the next generation, if there is one. */
  readonly beginning?: readonly HistoryEvent[]
  readonly outgoing: readonly Outgoing[]
  readonly dropped: readonly string[]
}

type Receivers = ReadonlyMap<string, Receiver>
const NO_RECEIVERS: Receivers = new Map()

export class Turn {
  /** Whether a replay from the start would decide everything in this turn the same way. */
  derivable = true
  readonly events: HistoryEvent[] = []
  readonly consumed: string[] = []
  readonly outgoing: Outgoing[] = []
  /** Steps requested in this turn, in order. */
  readonly steps: RunStep[] = []
  /** Keys of steps that started in the holder and move to the task queue with this turn. */
  readonly queued: string[] = []
  /** Keys of queued steps whose tasks are deleted. */
  readonly dropped: string[] = []
  ending: Ending | undefined
  continuation: ContinueRun | undefined
  attributes: AttributeChanges | undefined
  /** Items that the code wrote, and streams that it or a step closed. */
  streams: WrittenItem[] | undefined
  #receivers: Receivers = NO_RECEIVERS
  readonly #head: Head
  readonly #state: RunState
  readonly #now: Instant

  constructor(head: Head, state: RunState, now: Instant) {
    this.#head = head
    this.#state = state
    this.#now = Math.max(now, state.at)
  }

  /**
   * Messages in the order the store accepted them. Known ids, and answers to requests that are not open, are dropped.
   */
  receive(messages: readonly Message[]): void {
    for (const message of messages) {
      this.consumed.push(message.id)
      const event = this.#eventOf(message)
      if (event) this.#happen(event)
    }
  }

  settle(results: readonly LocalResult[]): void {
    for (const result of results) {
      if (!this.#state.open.has(result.key)) continue
      const open = this.#state.open.get(result.key)
      const isStopping = open?.type === 'step' && open.stopping
      if (isStopping && open.queued) this.dropped.push(result.key)
      if (result.type === 'ended') this.#happen(this.#ended(result.key, result.outcome))
      else if (isStopping) this.#happen(lastAttempt(result))
      else {
        const { key, attempt, failure, until, left } = result
        const event = { type: 'StepRetried', key, attempt, failure, until } as const
        this.#happen({ ...event, ...(left && { left }) })
      }
    }
  }

  /**
   * Timers and timeouts that are due, in the order of their times. A message that came in the same turn was consumed
   * first. `begun` are queued steps with a started attempt.
   */
  fireDue(begun?: ReadonlySet<string>): void {
    for (const key of begun ?? []) this.#happen({ type: 'StepBegun', key })
    const due: { readonly until: Instant; readonly body: EventBody; readonly queued?: true }[] = []
    for (const [key, open] of this.#state.requests.timed()) {
      if (open.type === 'step') {
        const late = lateStep(key, open, this.#now)
        if (late) due.push(late)
      } else if (open.type !== 'child' && open.until !== undefined && open.until <= this.#now)
        due.push({ until: open.until, body: { type: 'TimerFired', key } })
    }
    due.sort((a, b) => a.until - b.until)
    for (const { body } of due) this.#happen(body)
    for (const { body, queued } of due) if (queued && 'key' in body) this.dropped.push(body.key)
  }

  /** Moves open steps that have no attempt in progress to the task queue. */
  queue(keys: readonly string[]): void {
    for (const key of keys) {
      const step = this.#state.open.get(key)
      assert(step?.type === 'step', `only an open step is queued: ${key}`)
      this.#happen({ type: 'StepQueued', key, attempt: step.failed + 1 })
      this.queued.push(key)
    }
  }

  /** `receivers` are the runs that messages go to, by the keys of the requests. */
  command(commands: readonly Command[], queued: (step: RunStep) => boolean, receivers: Receivers = NO_RECEIVERS): void {
    this.#receivers = receivers
    for (const command of commands) {
      assert(!this.ending && !this.continuation, 'a decider asks for nothing after the end')
      this.#command(command, queued)
    }
  }

  /**
   * The ending as the last event, and what leaves with it. Changes nothing, so that messages which arrive meanwhile can
   * still be received and the turn closed again.
   */
  close(): TurnEnd {
    if (this.continuation) return this.#passOn(this.continuation)
    assert(this.ending !== undefined, 'a turn is closed by its ending')
    const terminated = this.ending.type === 'RunFailed' && this.ending.failure.type === TERMINATED
    const stop = terminated ? 'terminate' : 'cancel'
    const { outgoing, dropped } = this.#cancelRequests(this.#state.open.keys(), 'ended', stop)
    const { parent } = this.#head
    if (parent) outgoing.push(childEnded(this.#head, parent, this.ending))
    const event = { ...this.ending, at: this.#now, seq: this.#state.seq + 1 }
    return { event, outgoing, dropped }
  }

  // What the next generation inherits. Open requests are cancelled, as if the run had ended.
  #passOn({ input, carried }: ContinueRun): TurnEnd {
    const at = this.#now
    const { outgoing, dropped } = this.#cancelRequests(this.#state.open.keys(), 'ended')
    const { messageIds } = this.#state
    const kept = messageIds.filter((id) => !carried.some((message) => message.id === id))
    const bodies: EventBody[] = [
      {
        type: 'GenerationBegan',
        reason: 'continued',
        input,
        parsed: null,
        messageIds: kept,
        ...this.#triggered,
        ...foundBy(this.#head.extras.attributes, this.#state.changes),
      },
      ...carried,
      ...this.#pauseCarried(),
    ]
    return {
      event: { type: 'RunContinued', at, seq: this.#state.seq + 1 },
      beginning: bodies.map((body, index) => ({ ...body, at, seq: index + 1 })),
      outgoing,
      dropped,
    }
  }

  // The execution timeout of all generations counts from here.
  get #triggered(): { readonly triggeredAt?: Instant } {
    const { pending, from } = this.#head.extras
    return pending && from !== undefined ? { triggeredAt: from } : {}
  }

  // A requested pause holds for the next generation, too.
  #pauseCarried(): EventBody[] {
    const { pausing } = this.#state
    return pausing ? [{ type: 'PauseRequested', id: `pause:of:${this.#head.generation}`, ...pausing }] : []
  }

  #happen(body: EventBody): void {
    this.derivable = false
    this.#record(body)
  }

  #record(body: EventBody): void {
    this.events.push(this.#state.apply({ ...this.#named(body), at: this.#now }))
  }

  #named(body: EventBody): EventBody {
    switch (body.type) {
      case 'StepCompleted':
      case 'StepFailed':
      case 'StepRetried':
      case 'StepQueued': {
        const step = this.#state.open.get(body.key)
        return step?.type === 'step' ? { ...body, name: step.name } : body
      }
      default:
        return body
    }
  }

  #eventOf(message: Message): EventBody | undefined {
    if (this.#state.knows(message.id)) return undefined
    switch (message.type) {
      case 'signal': {
        const { id, name, payload } = message
        return { type: 'SignalReceived', id, name, payload, ...senderOf(message) }
      }
      case 'update': {
        const { id, name, payload } = message
        return { type: 'UpdateReceived', id, name, payload, ...senderOf(message) }
      }
      case 'cancel':
        return this.#cancel(message)
      case 'terminate':
        this.ending ??= endingBy(message)
        return undefined
      case 'pause': {
        const { id, note } = message
        return { type: 'PauseRequested', id, ...(note !== undefined && { note }) }
      }
      case 'resume':
        return this.#state.pausing ? { type: 'ResumeRequested', id: message.id } : undefined
      case 'settle':
        return this.#settledByHand(message)
      case 'trigger': {
        const { id, input } = message
        if (this.#state.triggered) return undefined
        return { type: 'RunTriggered', id, ...(input && { input }) }
      }
      case 'migrate': {
        const { id, hash, steps } = message
        return { type: 'MigrationRequested', id, hash, steps }
      }
      case 'discard':
        return this.#discard(message)
      case 'nudge':
        return undefined
      case 'taskEnded':
        return this.#isOpen(message) ? this.#ended(message.key, message.outcome) : undefined
      case 'taskLeft':
        return this.#isOpen(message) ? this.#left(message) : undefined
      case 'complete':
        return this.#completed(message)
      case 'childEnded':
        return this.#isOpen(message) ? childEvent(message) : undefined
      default:
        return unreachable(message)
    }
  }

  // Only an attempt that completes its step closes streams.
  #ended(key: string, outcome: StepOutcome): EventBody {
    for (const stream of (outcome.ok && outcome.closes) || []) this.#write(stream)
    return stepEnded(key, outcome)
  }

  #write(stream: string, item?: WriteStream['item']): void {
    this.streams ??= []
    this.streams.push({ stream, keep: this.#state.written.get(stream) ?? 0, ...(item && { item }) })
  }

  // A message that could be read was consumed before the discard, because it came first.
  #discard({ id, message, note }: Extract<Message, { type: 'discard' }>): EventBody | undefined {
    if (this.#state.knows(message)) return undefined
    this.consumed.push(message)
    return { type: 'MessageDiscarded', id, message, ...(note !== undefined && { note }) }
  }

  #settledByHand(message: Extract<Message, { type: 'settle' }>): EventBody | undefined {
    const { id, step, value, note } = message
    for (const [key, open] of this.#state.open) {
      if (open.type !== 'step' || (key !== step && open.name !== step)) continue
      if (open.queued) this.dropped.push(key)
      return { type: 'StepCompleted', key, attempt: open.failed + 1, value, byHand: note, id }
    }
    return undefined
  }

  #left({ key, left }: Extract<Message, { type: 'taskLeft' }>): EventBody {
    const open = this.#state.open.get(key)
    if (open?.type === 'step' && open.stopping) return lastAttempt({ key, ...left })
    return { type: 'StepRetried', key, ...left, left: true }
  }

  // The completion may come before the body has left the step: then the rest of the attempt is not needed.
  #completed(message: Extract<Message, { type: 'complete' }>): EventBody | undefined {
    const { id, key, outcome } = message
    const open = this.#isOpen(message) ? this.#state.open.get(key) : undefined
    if (open?.type !== 'step') return undefined
    if (open.queued) this.dropped.push(key)
    const attempt = Math.max(1, open.left ? open.failed : open.failed + 1)
    if (outcome.ok) return { type: 'StepCompleted', key, attempt, value: outcome.value, id }
    const { failure } = outcome
    return { type: 'StepFailed', key, attempt, failure, reason: 'non-retryable', id }
  }

  // An answer to an earlier generation may carry a key that means something else now.
  #isOpen(message: { generation: number; key: string }): boolean {
    return message.generation === this.#head.generation && this.#state.open.has(message.key)
  }

  #cancel(message: Extract<Message, { type: 'cancel' }>): EventBody | undefined {
    if (this.#state.cancelled || this.ending) return undefined
    if (!this.#state.begun) this.ending = endingBy(message)
    const exposed = [...this.#state.open.keys()].filter((key) => !isShielded(key))
    const { outgoing, dropped } = this.#cancelRequests(exposed, 'cancelled', 'cancel', message.reason)
    this.outgoing.push(...outgoing)
    this.dropped.push(...dropped)
    const { id, reason } = message
    return { type: 'CancelRequested', id, ...(reason !== undefined && { reason }) }
  }

  // Stops children and queued steps of requests that are cancelled, or still open when the run ends.
  #cancelRequests(
    keys: Iterable<string>,
    why: Stopped,
    stop: Stop['type'] = 'cancel',
    reason?: string,
  ): { outgoing: Outgoing[]; dropped: string[] } {
    const outgoing: Outgoing[] = []
    const dropped: string[] = []
    for (const key of keys) {
      const open = this.#state.open.get(key)
      if (open?.type === 'child' && open.onClose !== 'abandon') {
        // A child is cancelled with its parent; when the parent ends, `onClose` decides.
        const how = why === 'ended' ? (open.onClose ?? stop) : stop
        outgoing.push(stopChild(this.#head, open.child, how, reason ?? becauseOf(why, this.#head)))
      } else if (open?.type === 'step' && open.queued) {
        // When the code waits for its end, the worker with the task is told by a note instead.
        if (why === 'ended' || !awaitsEnd(open)) dropped.push(key)
      }
    }
    return { outgoing, dropped }
  }

  #letGo(keys: readonly string[], met: readonly string[] = []): void {
    const known = keys.filter((key) => this.#state.requests.canCancel(key))
    if (known.length === 0) return
    const started = known.filter((key) => this.#isAwaited(key) || !this.#unstart(key))
    const { outgoing, dropped } = this.#cancelRequests(started, 'unneeded')
    this.outgoing.push(...outgoing)
    this.dropped.push(...dropped)
    const came = met.filter((key) => known.includes(key))
    this.#record({ type: 'CalledOff', keys: known, ...(came.length > 0 && { met: came }) })
  }

  #isAwaited(key: string): boolean {
    const open = this.#state.open.get(key)
    return open !== undefined && awaitsEnd(open)
  }

  // A child that is requested and cancelled in one turn is not started at all.
  #unstart(key: string): boolean {
    const index = this.outgoing.findIndex((each) => each.type === 'start' && each.command.key === key)
    if (index >= 0) this.outgoing.splice(index, 1)
    return index >= 0
  }

  #command(command: Command, queued: (step: RunStep) => boolean): void {
    switch (command.type) {
      case 'RunStep': {
        const { type: _, scheduleToStartMs, scheduleToCloseMs, ...step } = command
        this.steps.push(command)
        const later = (ms: number): Instant => this.#now + ms
        const isQueued = queued(command)
        return this.#record({
          type: 'StepStarted',
          ...step,
          ...(isQueued && { queued: true }),
          ...(isQueued && scheduleToStartMs !== undefined && { startBy: later(scheduleToStartMs) }),
          ...(scheduleToCloseMs !== undefined && { closeBy: later(scheduleToCloseMs) }),
        })
      }
      case 'SetTimer': {
        const { type: _, ...timer } = command
        return this.#record({ type: 'TimerStarted', ...timer })
      }
      case 'AwaitSignal': {
        const { type: _, ...wait } = command
        return this.#record({ type: 'WaitStarted', ...wait })
      }
      case 'StartChild':
        return this.#startChild(command)
      case 'SendMessage':
        return this.#send(command)
      case 'CancelRequests':
        return this.#letGo(command.keys, command.met)
      case 'MarkPatch':
        return this.#record({ type: 'Patched', id: command.id })
      case 'MakeToken':
        // The token is random, so a replay could not make it again.
        return this.#happen({ type: 'TokenMade', key: command.key, token: command.token })
      case 'SetAttributes': {
        const { type: _, ...set } = command
        this.attributes = { ...this.attributes, ...set.attributes }
        return this.#record({ type: 'AttributesSet', ...set })
      }
      case 'WriteStream': {
        const { key, after, past, stream, item } = command
        this.#write(stream, item)
        const marks = { ...(past && { past }), ...(item && { bytes: item.bytes }) }
        return this.#record({ type: 'StreamWritten', key, after, stream, ...marks })
      }
      case 'BeginCompensation':
      case 'EndCompensation': {
        const { type, ...mark } = command
        const began = type === 'BeginCompensation'
        return this.#record({ type: began ? 'CompensationBegan' : 'CompensationEnded', ...mark })
      }
      case 'Decide':
        return this.#record(command.decision)
      case 'ContinueRun':
        this.continuation = command
        return
      case 'AcceptUpdate':
        return this.#record({ type: 'UpdateAccepted', id: command.id })
      case 'AnswerUpdate':
        return this.#record(answered(command))
      case 'CompleteRun':
      case 'FailRun':
      case 'CancelRun':
        this.ending = endingOf(command)
        return
      default:
        return unreachable(command)
    }
  }

  #send({ key, after, past, to, message }: SendMessage): void {
    const { runId, generation } = this.#head
    const id = `from:${runId}:${generation}:${key}`
    const receiver = this.#receivers.get(key)
    const found = typeof to === 'string' ? to : receiver?.runId
    const ended = message.type === 'signal' && receiver?.hasEnded === true
    if (found !== undefined && !ended)
      this.outgoing.push({ type: 'post', runId: found, message: { ...message, id, ...this.#tracing(message) } })
    const name = message.type === 'signal' ? { name: message.name } : {}
    const marks = {
      ...name,
      ...(past && { past }),
      ...(found !== undefined && { to: found }),
      ...(ended && { ended: true as const }),
    }
    this.#record({ type: 'MessageSent', key, after, message: message.type, ...marks })
  }

  // Only a run whose caller records spans is likely to be recorded itself.
  #tracing({ type }: SendMessage['message']): { readonly traceparent?: string } {
    if (type !== 'signal' || this.#head.extras.trace?.caller === undefined) return {}
    return { traceparent: traceparentText(runSpanOf(traceOf(this.#head))) }
  }

  #startChild(command: StartChild): void {
    const { key, after, past, name, input, digest, onClose, onCancel } = command
    const child = childId(this.#head, key)
    this.outgoing.push({ type: 'start', command, runId: child })
    const marks = {
      ...(past && { past }),
      ...(onClose && { onClose }),
      ...(onCancel && { onCancel }),
    }
    this.#record({ type: 'ChildStarted', key, after, name, child, input, digest, ...marks })
  }
}

function senderOf({ traceparent }: { readonly traceparent?: string }): { readonly traceparent?: string } {
  return traceparent === undefined ? {} : { traceparent }
}
