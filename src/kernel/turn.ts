// One turn: messages, results and due timers become events, a decider answers them with commands, and the
// commands become events too. Pure: everything it needs is handed in, everything it wants done is handed back.
import { assert, unreachable } from './assert.ts'
import type { AnswerUpdate, Command, EndRun, RunStep, SendMessage, StartChild } from './command.ts'
import { deriveUuidNear } from './digest.ts'
import type { Ending, Event, EventBody, HistoryEvent, Instant } from './event.ts'
import { isShielded } from './key.ts'
import {
  type ChildOutcome,
  endingBy,
  type Message,
  type StepOutcome,
  type Stop,
  TERMINATED,
} from './message.ts'
import type { Head, RunState } from './run.ts'

/** What happened to a step body that ran where the run is held. */
export type LocalResult =
  | { readonly type: 'ended'; readonly key: string; readonly outcome: StepOutcome }
  | {
      readonly type: 'retry'
      readonly key: string
      readonly attempt: number
      readonly failure: Extract<Event, { type: 'StepRetried' }>['failure']
      readonly until: Instant
    }

/** What leaves the run with the commit: other runs to create, messages to other runs. */
export type Outgoing =
  | { readonly type: 'start'; readonly command: StartChild; readonly runId: string }
  | { readonly type: 'post'; readonly runId: string; readonly message: Message }

export interface Closing {
  readonly event: HistoryEvent
  readonly outgoing: readonly Outgoing[]
  readonly dropped: readonly string[]
}

export class Turn {
  /** Whether everything in this turn would come out the same if it were decided again from the start. */
  derivable = true
  readonly events: HistoryEvent[] = []
  readonly consumed: string[] = []
  readonly outgoing: Outgoing[] = []
  /** Steps asked for by this turn, in order. */
  readonly steps: RunStep[] = []
  /** Keys of queued steps that nobody needs any more. */
  readonly dropped: string[] = []
  ending: Ending | undefined
  readonly #head: Head
  readonly #state: RunState
  readonly #now: Instant

  constructor(head: Head, state: RunState, now: Instant) {
    this.#head = head
    this.#state = state
    this.#now = Math.max(now, state.at)
  }

  /** Messages in the order the store accepted them. Known ids and answers nobody waits for vanish. */
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
      if (result.type === 'ended') this.#happen(stepEnded(result.key, result.outcome))
      else {
        const { key, attempt, failure, until } = result
        this.#happen({ type: 'StepRetried', key, attempt, failure, until })
      }
    }
  }

  /** Timers and time-outs that are due, in the order of their times. A message that came in the same turn was taken first. */
  fireDue(): void {
    const due: { readonly key: string; readonly until: Instant }[] = []
    for (const [key, open] of this.#state.open) {
      if (open.type !== 'timer' && open.type !== 'wait') continue
      if (open.until !== undefined && open.until <= this.#now) due.push({ key, until: open.until })
    }
    due.sort((a, b) => a.until - b.until)
    for (const { key } of due) this.#happen({ type: 'TimerFired', key })
  }

  command(commands: readonly Command[], queued: (step: RunStep) => boolean): void {
    for (const command of commands) {
      assert(this.ending === undefined, 'a decider asks for nothing after the end')
      this.#command(command, queued)
    }
  }

  /**
   * The ending as the last event, and what it sends out. Changes nothing, so that messages which arrive
   * meanwhile can still be received and the turn closed again.
   */
  close(): Closing {
    assert(this.ending !== undefined, 'a turn is closed by its ending')
    const terminated = this.ending.type === 'RunFailed' && this.ending.failure.type === TERMINATED
    const stop = terminated ? 'terminate' : 'cancel'
    const { outgoing, dropped } = this.#callOff(this.#state.open.keys(), undefined, stop)
    const { parent } = this.#head
    if (parent) outgoing.push(childEnded(this.#head, parent, this.ending))
    const event = { ...this.ending, at: this.#now, seq: this.#state.seq + 1 }
    return { event, outgoing, dropped }
  }

  #happen(body: EventBody): void {
    this.derivable = false
    this.#record(body)
  }

  #record(body: EventBody): void {
    this.events.push(this.#state.apply({ ...body, at: this.#now }))
  }

  #eventOf(message: Message): EventBody | undefined {
    if (this.#state.knows(message.id)) return undefined
    switch (message.type) {
      case 'signal': {
        const { id, name, payload } = message
        return { type: 'SignalReceived', id, name, payload }
      }
      case 'update': {
        const { id, name, payload } = message
        return { type: 'UpdateReceived', id, name, payload }
      }
      case 'cancel':
        return this.#cancel(message)
      case 'terminate':
        this.ending ??= endingBy(message)
        return undefined
      case 'nudge':
        return undefined
      case 'taskEnded':
        return this.#isOpen(message) ? stepEnded(message.key, message.outcome) : undefined
      case 'childEnded':
        return this.#isOpen(message) ? childEvent(message) : undefined
      default:
        return unreachable(message)
    }
  }

  // An answer meant for an earlier generation may carry a key that means something else by now.
  #isOpen(message: { generation: number; key: string }): boolean {
    return message.generation === this.#head.generation && this.#state.open.has(message.key)
  }

  #cancel(message: Extract<Message, { type: 'cancel' }>): EventBody | undefined {
    if (this.#state.cancelled || this.ending) return undefined
    const exposed = [...this.#state.open.keys()].filter((key) => !isShielded(key))
    const { outgoing, dropped } = this.#callOff(exposed, message.reason)
    this.outgoing.push(...outgoing)
    this.dropped.push(...dropped)
    const { id, reason } = message
    return { type: 'CancelRequested', id, ...(reason !== undefined && { reason }) }
  }

  // Whatever is still open when a run ends or is cancelled is called off: children and queued steps.
  #callOff(
    keys: Iterable<string>,
    reason?: string,
    stop: Stop['type'] = 'cancel',
  ): { outgoing: Outgoing[]; dropped: string[] } {
    const outgoing: Outgoing[] = []
    const dropped: string[] = []
    for (const key of keys) {
      const open = this.#state.open.get(key)
      if (open?.type === 'child' && !open.abandoned)
        outgoing.push(stopChild(this.#head, open.child, stop, reason))
      else if (open?.type === 'step' && open.queued) dropped.push(key)
    }
    return { outgoing, dropped }
  }

  #letGo(keys: readonly string[]): void {
    const known = keys.filter((key) => this.#state.canCallOff(key))
    if (known.length === 0) return
    const started = known.filter((key) => !this.#unstart(key))
    const { outgoing, dropped } = this.#callOff(started, 'its parent no longer waits for it')
    this.outgoing.push(...outgoing)
    this.dropped.push(...dropped)
    this.#record({ type: 'CalledOff', keys: known })
  }

  // A child asked for and called off in one turn is not started at all.
  #unstart(key: string): boolean {
    const index = this.outgoing.findIndex(
      (each) => each.type === 'start' && each.command.key === key,
    )
    if (index >= 0) this.outgoing.splice(index, 1)
    return index >= 0
  }

  #command(command: Command, queued: (step: RunStep) => boolean): void {
    switch (command.type) {
      case 'RunStep': {
        const { type: _, ...step } = command
        this.steps.push(command)
        return this.#record({
          type: 'StepStarted',
          ...step,
          ...(queued(command) && { queued: true }),
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
      case 'CallOff':
        return this.#letGo(command.keys)
      case 'MarkPatch':
        return this.#record({ type: 'Patched', id: command.id })
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
    this.outgoing.push({ type: 'post', runId: to, message: { ...message, id } })
    const name = message.type === 'signal' ? { name: message.name } : {}
    const marks = { ...name, ...(past && { past }) }
    this.#record({ type: 'MessageSent', key, after, to, message: message.type, ...marks })
  }

  #startChild(command: StartChild): void {
    const { key, after, past, name, input, digest, abandoned } = command
    const child = childId(this.#head, key)
    this.outgoing.push({ type: 'start', command, runId: child })
    const marks = { ...(past && { past }), ...(abandoned && { abandoned }) }
    this.#record({ type: 'ChildStarted', key, after, name, child, input, digest, ...marks })
  }
}

/** The run a child is, known before it is started. */
export function childId(
  { runId, generation }: Pick<Head, 'runId' | 'generation'>,
  key: string,
): string {
  return deriveUuidNear(runId, 'child', runId, String(generation), key)
}

function stopChild(head: Head, runId: string, type: Stop['type'], reason?: string): Outgoing {
  const id = `parent:${head.runId}:${head.generation}`
  const because = reason ?? `its parent ${head.runId} ended`
  return { type: 'post', runId, message: { type, id, reason: because } }
}

function answered({ id, answer }: AnswerUpdate): EventBody {
  if (answer.ok) return { type: 'UpdateCompleted', id, value: answer.value }
  const { failure, rejected } = answer
  return { type: 'UpdateFailed', id, failure, ...(rejected && { rejected }) }
}

function stepEnded(key: string, outcome: StepOutcome): EventBody {
  if (outcome.ok)
    return { type: 'StepCompleted', key, attempt: outcome.attempt, value: outcome.value }
  const { attempt, failure, reason } = outcome
  return { type: 'StepFailed', key, attempt, failure, reason }
}

function childEvent(message: Extract<Message, { type: 'childEnded' }>): EventBody {
  const { key, child, outcome } = message
  return outcome.ok
    ? { type: 'ChildCompleted', key, value: outcome.value }
    : { type: 'ChildFailed', key, child, failure: outcome.failure }
}

function endingOf(command: EndRun): Ending {
  switch (command.type) {
    case 'CompleteRun':
      return { type: 'RunCompleted', value: command.value }
    case 'FailRun':
      return { type: 'RunFailed', failure: command.failure }
    case 'CancelRun':
      return {
        type: 'RunCancelled',
        ...(command.reason !== undefined && { reason: command.reason }),
      }
    default:
      return unreachable(command)
  }
}

function childEnded(head: Head, parent: NonNullable<Head['parent']>, ending: Ending): Outgoing {
  const { generation, key } = parent
  const message: Message = {
    type: 'childEnded',
    id: `child:${head.runId}`,
    generation,
    key,
    child: head.runId,
    outcome: outcomeOf(ending),
  }
  return { type: 'post', runId: parent.runId, message }
}

function outcomeOf(ending: Ending): ChildOutcome {
  switch (ending.type) {
    case 'RunCompleted':
      return { ok: true, value: ending.value }
    case 'RunFailed':
      return { ok: false, failure: ending.failure }
    case 'RunCancelled': {
      const message = ending.reason ?? 'the run was cancelled'
      return { ok: false, failure: { type: 'CancelledError', message, retryable: false } }
    }
    default:
      return unreachable(ending)
  }
}
