// A run and the fold from its events to where it stands. The fold is the only reader of history besides
// deciders: what is open, what may wake it, why it waits. It refuses a history that could not have happened.
import { assert, unreachable } from '../base/assert.ts'
import type { Failure } from '../base/failure.ts'
import type { Instant } from '../base/instant.ts'
import { NEVER } from '../base/instant.ts'
import { limits } from '../base/limits.ts'
import type { Payload } from '../base/value.ts'
import type { AttributeChanges } from './attributes.ts'
import { begins } from './begun.ts'
import type {
  Compensated,
  Decision,
  Ending,
  Event,
  HistoryEvent,
  OnCancel,
  OnClose,
  Passage,
  StepKind,
} from './event.ts'
import { isEnding } from './event.ts'
import type { Extras } from './extras.ts'
import { isShielded } from './key.ts'

/** Where a run stands. */
export type Status =
  | 'pending'
  | 'running'
  | 'waiting'
  | 'paused'
  | 'compensating'
  | 'completed'
  | 'failed'
  | 'cancelled'
export type EndedStatus = Extract<Status, 'completed' | 'failed' | 'cancelled'>

/** What a run was born with. It never changes. */
export interface Head {
  readonly runId: string
  readonly name: string
  readonly workflowId: string
  readonly queue: string
  readonly priority: number
  readonly generation: number
  readonly createdAt: Instant
  readonly input: Payload
  readonly extras: Extras
  /** The generation that idempotency keys name; its own when absent. */
  readonly keysOf?: number
  /** How often it has been begun because it had failed; 1 when absent. */
  readonly attempt?: number
  readonly parent?: ParentLink
}

export interface ParentLink {
  readonly runId: string
  readonly generation: number
  readonly key: string
}

export type Open =
  | {
      readonly type: 'step'
      readonly kind: StepKind
      readonly name: string
      readonly input?: Payload
      queued: boolean
      /** Attempts whose failure is recorded. */
      failed: number
      retryAt?: Instant
      failure?: Failure
      /** Its body left it to be completed from outside, by the time it would be tried again. */
      left?: boolean
      /** Absent once somebody has begun with it. */
      startBy?: Instant
      readonly closeBy?: Instant
      readonly onCancel?: OnCancel
      /** It was cancelled, and the code waits for its end: the attempt in progress is the last. */
      stopping?: true
    }
  | { readonly type: 'timer'; readonly until: Instant }
  | {
      readonly type: 'wait'
      readonly name: string
      readonly until?: Instant
      readonly condition?: true
    }
  | {
      readonly type: 'child'
      readonly name: string
      readonly child: string
      readonly onClose?: OnClose
      readonly onCancel?: OnCancel
      stopping?: true
    }

export type OpenStep = Extract<Open, { type: 'step' }>

/** Events that are about the run as a whole. */
type Whole =
  | 'CalledOff'
  | 'Patched'
  | 'TokenMade'
  | 'AttributesSet'
  | 'MessageSent'
  | 'PauseRequested'
  | 'ResumeRequested'
  | 'CancelRequested'
  | 'RunTriggered'
  | 'MigrationRequested'
  | 'MessageDiscarded'
  | Compensated['type']
  | Decision['type']
  | Passage['type']
  | Ending['type']

export function statusOf(ending: Ending): EndedStatus {
  switch (ending.type) {
    case 'RunCompleted':
      return 'completed'
    case 'RunFailed':
      return 'failed'
    case 'RunCancelled':
      return 'cancelled'
    default:
      return unreachable(ending)
  }
}

export class RunState {
  seq = 0
  at: Instant = 0
  /** What was asked for and is not settled, in the order it was asked for. */
  readonly open = new Map<string, Open>()
  /** Keys of what had something due by time when it was asked for, or tried again, in that order. */
  readonly #timed = new Set<string>()
  #messageIds: Set<string> | undefined
  cancelled = false
  begun = false
  ending: Ending | undefined
  /** This generation is over, and another has begun. */
  continued = false
  /** Somebody wants it to rest, and what they said about it. */
  pausing: { readonly note?: string } | undefined
  /** Something was cancelled whose end the code waits for. */
  hasStopped = false
  /** How many parts of its code undo what they did. */
  compensations = 0
  /** It was created to wait for this, and it has come; or it has begun before, in an earlier generation. */
  triggered = false
  /** What its code has changed of what it is found by, in this generation. */
  changes: AttributeChanges | undefined
  /** When this generation began. */
  beganAt: Instant | undefined
  /** Waits that a signal went to, and its name. */
  #satisfied: Map<string, string> | undefined
  /** Signals nobody has waited for yet, counted by name. */
  #unclaimed: Map<string, number> | undefined

  static of(events: readonly Event[]): RunState {
    const state = new RunState()
    for (const event of events) state.apply(event)
    return state
  }

  apply(event: Event): HistoryEvent {
    assert(this.ending === undefined && !this.continued, 'nothing happens to a run that has ended')
    assert(event.at >= this.at, 'time in a history does not run backwards')
    this.seq++
    this.at = event.at
    this.beganAt ??= (event.type === 'GenerationBegan' ? event.beganAt : undefined) ?? event.at
    this.begun ||= begins(event)
    this.#fold(event)
    return { ...event, seq: this.seq }
  }

  /** The earliest time at which something is due without any message; of steps, only those that `counts`. */
  wakeAt(counts: (key: string) => boolean = () => true): Instant | undefined {
    let earliest: Instant | undefined
    for (const [key, open, due] of this.timed()) {
      if (open.type === 'step' && !counts(key)) continue
      if (earliest === undefined || due < earliest) earliest = due
    }
    return earliest
  }

  /** What is open and has something due by time. Of thousands of steps hardly any has, and every turn asks. */
  *timed(): Generator<[string, Open, Instant]> {
    for (const key of this.#timed) {
      const open = this.open.get(key)
      const due = open && dueAt(open)
      if (due === undefined) this.#timed.delete(key)
      else if (open) yield [key, open, due]
    }
  }

  #fold(event: Event): void {
    switch (event.type) {
      case 'StepStarted':
        return this.#ask(event.key, {
          type: 'step',
          kind: event.kind,
          name: event.name,
          ...(event.input && { input: event.input }),
          queued: event.queued === true,
          failed: 0,
          ...(event.startBy !== undefined && { startBy: event.startBy }),
          ...(event.closeBy !== undefined && { closeBy: event.closeBy }),
          ...(event.onCancel && { onCancel: event.onCancel }),
        })
      case 'StepBegun':
        return this.#begun(event.key)
      case 'StepQueued':
        return this.#queue(event.key)
      case 'TimerStarted':
        return this.#ask(event.key, { type: 'timer', until: event.until })
      case 'ChildStarted': {
        const { key, name, child, onClose, onCancel } = event
        const marks = { ...(onClose && { onClose }), ...(onCancel && { onCancel }) }
        return this.#ask(key, { type: 'child', name, child, ...marks })
      }
      case 'WaitStarted':
        return this.#await(event)
      case 'UpdateReceived':
        return this.#know(event.id)
      case 'UpdateAccepted':
      case 'UpdateCompleted':
      case 'UpdateFailed':
        return
      case 'SignalReceived':
        this.#know(event.id)
        return this.#receive(event.name)
      case 'StepRetried':
        return this.#retry(event)
      case 'StepCompleted':
      case 'StepFailed':
      case 'TimerFired':
      case 'ChildCompleted':
      case 'ChildFailed':
        assert(this.open.delete(event.key), `${event.type} settles something open: ${event.key}`)
        return
      default:
        return this.#foldRest(event)
    }
  }

  // What is about the run as a whole.
  #foldRest(event: Extract<Event, { type: Whole }>): void {
    switch (event.type) {
      case 'CalledOff':
        for (const key of event.keys) this.#callOff(key)
        return
      case 'Patched':
      case 'TokenMade':
      case 'MessageSent':
      case 'DefinitionTaken':
      case 'StepSkipped':
      case 'StepRefused':
      case 'ListTaken':
      case 'StateMoved':
        return
      case 'AttributesSet':
        this.changes = { ...this.changes, ...event.attributes }
        return
      case 'CompensationBegan':
        this.compensations++
        return
      case 'CompensationEnded':
        this.compensations--
        return
      case 'RunTriggered':
        this.#know(event.id)
        // A generation that goes on with this began when it says so itself.
        if (!this.triggered) this.beganAt = event.at
        this.triggered = true
        return
      case 'MigrationRequested':
        return this.#know(event.id)
      case 'MessageDiscarded':
        this.#know(event.id)
        return this.#know(event.message)
      case 'PauseRequested':
        this.#know(event.id)
        this.pausing = event.note === undefined ? {} : { note: event.note }
        return
      case 'ResumeRequested':
        this.#know(event.id)
        this.pausing = undefined
        return
      case 'GenerationBegan':
        assert(this.seq === 1, 'a generation begins at its beginning')
        this.triggered = true
        for (const id of event.messageIds ?? []) this.#know(id)
        return
      case 'RunContinued':
        this.continued = true
        return
      case 'CancelRequested':
        assert(!this.cancelled, 'a run is cancelled once')
        this.#know(event.id)
        this.cancelled = true
        this.pausing = undefined
        for (const [key, open] of this.open)
          if (!isShielded(key) && !this.#stop(open)) this.open.delete(key)
        return
      case 'RunCompleted':
      case 'RunFailed':
      case 'RunCancelled':
        assert(isEnding(event), 'an ending ends')
        this.ending = event
        return
      default:
        return unreachable(event)
    }
  }

  /** The newest ids of messages that were taken, as many as are worth remembering. */
  get messageIds(): readonly string[] {
    return [...(this.#messageIds ?? [])].slice(-limits.messageIdsKept)
  }

  /** Whether a message of this id was taken before. */
  knows(messageId: string): boolean {
    return this.#messageIds?.has(messageId) === true
  }

  // Most runs get no message at all.
  #know(messageId: string): void {
    this.#messageIds ??= new Set()
    this.#messageIds.add(messageId)
  }

  #ask(key: string, open: Open): void {
    assert(!this.open.has(key), `a key is asked for once: ${key}`)
    this.open.set(key, open)
    this.#timed.delete(key)
    if (dueAt(open) !== undefined) this.#timed.add(key)
  }

  #begun(key: string): void {
    const step = this.open.get(key)
    assert(step?.type === 'step', `only an open step is begun: ${key}`)
    delete step.startBy
  }

  #queue(key: string): void {
    const step = this.open.get(key)
    assert(step?.type === 'step' && !step.queued, `only a step that is not queued is: ${key}`)
    step.queued = true
    step.left = false
    delete step.retryAt
  }

  #retry(event: Extract<Event, { type: 'StepRetried' }>): void {
    const step = this.open.get(event.key)
    assert(step?.type === 'step', `only an open step is retried: ${event.key}`)
    step.failed = event.attempt
    step.retryAt = event.until
    step.failure = event.failure
    step.left = event.left === true
    if (step.left) step.queued = false
    this.#timed.add(event.key)
  }

  /** Whether calling this off would change anything. */
  canCallOff(key: string): boolean {
    return this.open.has(key) || this.#satisfied?.has(key) === true
  }

  // The code may have let go of a wait before it saw the signal that went to it here: then that is for the next.
  #callOff(key: string): void {
    const open = this.open.get(key)
    if ((open && this.#stop(open)) || this.open.delete(key)) return
    const name = this.#satisfied?.get(key)
    assert(name !== undefined, `only what is open, or not seen yet, is called off: ${key}`)
    this.#satisfied?.delete(key)
    this.#receive(name)
  }

  // It stays open if the code waits for its end.
  #stop(open: Open): boolean {
    if (!awaitsEnd(open)) return false
    this.hasStopped = true
    open.stopping = true
    if (open.type === 'step') delete open.retryAt
    return true
  }

  #satisfy(key: string, name: string): void {
    this.#satisfied ??= new Map()
    this.#satisfied.set(key, name)
  }

  // A signal goes to the oldest open wait for its name; one that nobody waits for is kept for the next.
  #await(event: Extract<Event, { type: 'WaitStarted' }>): void {
    const { key, name, until, condition } = event
    const unclaimed = condition ? 0 : (this.#unclaimed?.get(name) ?? 0)
    if (unclaimed > 0) {
      this.#unclaimed?.set(name, unclaimed - 1)
      this.#satisfy(key, name)
    } else {
      const marks = { ...(until !== undefined && { until }), ...(condition && { condition }) }
      this.#ask(key, { type: 'wait', name, ...marks })
    }
  }

  #receive(name: string): void {
    for (const [key, open] of this.open) {
      if (open.type !== 'wait' || open.name !== name || open.condition) continue
      this.open.delete(key)
      this.#satisfy(key, name)
      return
    }
    this.#unclaimed ??= new Map()
    this.#unclaimed.set(name, (this.#unclaimed.get(name) ?? 0) + 1)
  }
}

/** Whether the code waits for the end of what was cancelled: then it stays open, and is not tried again. */
export function awaitsEnd(open: Open): open is Extract<Open, { onCancel?: OnCancel }> {
  return (open.type === 'step' || open.type === 'child') && open.onCancel === 'wait'
}

export function dueAt(open: Open): Instant | undefined {
  switch (open.type) {
    case 'timer':
    case 'wait':
      return open.until
    case 'step': {
      const never = Number.POSITIVE_INFINITY
      const again = open.queued ? never : (open.retryAt ?? never)
      const due = Math.min(again, open.startBy ?? never, open.closeBy ?? never)
      return due >= NEVER ? undefined : due
    }
    case 'child':
      return undefined
    default:
      return unreachable(open)
  }
}
