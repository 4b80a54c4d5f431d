// A run and the fold from its events to where it stands: what is open, what may wake it, why it waits. The fold refuses
// a history that could not have happened.
import { assert, unreachable } from '../base/assert.ts'
import { limits } from '../base/limits.ts'
import type { Instant } from '../base/time.ts'
import type { Payload } from '../base/value.ts'
import type { AttributeChanges } from './attributes.ts'
import { type Ending, type Event, type EventWith, type HistoryEvent, hasTrait } from './event.ts'
import type { Extras } from './extras.ts'
import { type OpenRequest, RequestIndex } from './requests.ts'
import type { EndedStatus } from './status.ts'

export { ENDED, type EndedStatus, LIVE, RELEASED, type ReleasedStatus, type Status } from './status.ts'

/** What a run is created with. Only a new generation changes it. */
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
  /** The generation that was begun by the start or by continue-as-new last: its own when absent. */
  readonly chapter?: number
  /** 1 plus the number of retries; 1 when absent. */
  readonly attempt?: number
  readonly parent?: ParentLink
}

export interface ParentLink {
  readonly runId: string
  readonly generation: number
  readonly key: string
}

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
  readonly requests = new RequestIndex()
  #messageIds: Set<string> | undefined
  cancelled = false
  begun = false
  ending: Ending | undefined
  /** This generation has ended, and another has begun. */
  continued = false
  /** An operator has requested a pause, with this note. */
  pausing: { readonly note?: string } | undefined
  /** Compensations in progress. */
  compensations = 0
  /** A pending run was triggered, or an earlier generation has begun. */
  triggered = false
  /** Attributes that the code has changed in this generation. */
  changes: AttributeChanges | undefined
  /** Items that the code has written to streams in this generation, also those that it inherited. */
  readonly written = new Map<string, number>()
  /** When this generation began. */
  beganAt: Instant | undefined

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
    this.begun ||= !hasTrait(event, 'message')
    if (hasTrait(event, 'message')) this.#know(event.id)
    if (hasTrait(event, 'request')) this.requests.apply(event)
    if (hasTrait(event, 'run')) this.#fold(event)
    return { ...event, seq: this.seq }
  }

  /** Requests without an answer, in the order they were made. */
  get open(): ReadonlyMap<string, OpenRequest> {
    return this.requests.open
  }

  #fold(event: EventWith<'run'>): void {
    switch (event.type) {
      case 'AttributesSet':
        this.changes = { ...this.changes, ...event.attributes }
        return
      case 'StreamWritten':
        if (event.bytes !== undefined) this.written.set(event.stream, (this.written.get(event.stream) ?? 0) + 1)
        return
      case 'CompensationBegan':
        this.compensations++
        return
      case 'CompensationEnded':
        this.compensations--
        return
      case 'RunTriggered':
        // A generation that inherits this event says itself when it began.
        if (!this.triggered) this.beganAt = event.at
        this.triggered = true
        return
      case 'MessageDiscarded':
        return this.#know(event.message)
      case 'PauseRequested':
        this.pausing = event.note === undefined ? {} : { note: event.note }
        return
      case 'ResumeRequested':
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
        this.cancelled = true
        this.pausing = undefined
        return
      case 'RunCompleted':
      case 'RunFailed':
      case 'RunCancelled':
        this.ending = event
        return
      default:
        return unreachable(event)
    }
  }

  /** The newest ids of consumed messages, as many as are worth remembering. */
  get messageIds(): readonly string[] {
    return [...(this.#messageIds ?? [])].slice(-limits.messageIdsKept)
  }

  /** Whether a message of this id was consumed before. */
  knows(messageId: string): boolean {
    return this.#messageIds?.has(messageId) === true
  }

  // Most runs get no message at all.
  #know(messageId: string): void {
    this.#messageIds ??= new Set()
    this.#messageIds.add(messageId)
  }
}

/** When the run fails for lack of time, and by which of its limits. */
export function deadlineOf(
  { extras, createdAt }: Pick<Head, 'extras' | 'createdAt'>,
  { beganAt }: Pick<RunState, 'beganAt'>,
  now: Instant,
): { readonly at: Instant; readonly code: 'RUN_TIMEOUT' | 'EXECUTION_TIMEOUT' } | undefined {
  const { runTimeoutMs, executionTimeoutMs, delayMs = 0, from = createdAt + delayMs } = extras
  if (runTimeoutMs === undefined && executionTimeoutMs === undefined) return undefined
  const run = (beganAt ?? now) + (runTimeoutMs ?? Number.POSITIVE_INFINITY)
  const execution = from + (executionTimeoutMs ?? Number.POSITIVE_INFINITY)
  return run <= execution ? { at: run, code: 'RUN_TIMEOUT' } : { at: execution, code: 'EXECUTION_TIMEOUT' }
}
