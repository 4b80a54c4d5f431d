// A run and the fold from its events to where it stands. The fold is the only reader of history besides
// deciders: what is open, what may wake it, why it waits. It refuses a history that could not have happened.
import { assert, unreachable } from './assert.ts'
import type { Ending, Event, HistoryEvent, Instant, StepKind } from './event.ts'
import { isEnding } from './event.ts'
import type { Failure } from './failure.ts'
import { isShielded } from './key.ts'
import type { Payload } from './value.ts'

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
  readonly memo?: Payload
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
      readonly queued: boolean
      /** Attempts whose failure is recorded. */
      failed: number
      retryAt?: Instant
      failure?: Failure
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
      readonly abandoned: boolean
    }

export type OpenStep = Extract<Open, { type: 'step' }>

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
  #messageIds: Set<string> | undefined
  cancelled = false
  ending: Ending | undefined
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
    assert(this.ending === undefined, 'nothing happens to a run that has ended')
    assert(event.at >= this.at, 'time in a history does not run backwards')
    this.seq++
    this.at = event.at
    this.#fold(event)
    return { ...event, seq: this.seq }
  }

  /** The earliest time at which something is due without any message; of steps, only those that `counts`. */
  wakeAt(counts: (key: string) => boolean = () => true): Instant | undefined {
    let earliest: Instant | undefined
    for (const [key, open] of this.open) {
      if (open.type === 'step' && !counts(key)) continue
      const due = dueAt(open)
      if (due !== undefined && (earliest === undefined || due < earliest)) earliest = due
    }
    return earliest
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
        })
      case 'TimerStarted':
        return this.#ask(event.key, { type: 'timer', until: event.until })
      case 'ChildStarted': {
        const abandoned = event.abandoned === true
        return this.#ask(event.key, {
          type: 'child',
          name: event.name,
          child: event.child,
          abandoned,
        })
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
      case 'CalledOff':
        for (const key of event.keys) this.#callOff(key)
        return
      case 'Patched':
      case 'MessageSent':
        return
      case 'CancelRequested':
        assert(!this.cancelled, 'a run is cancelled once')
        this.#know(event.id)
        this.cancelled = true
        for (const key of this.open.keys()) if (!isShielded(key)) this.open.delete(key)
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
  }

  #retry(event: Extract<Event, { type: 'StepRetried' }>): void {
    const step = this.open.get(event.key)
    assert(step?.type === 'step', `only an open step is retried: ${event.key}`)
    step.failed = event.attempt
    step.retryAt = event.until
    step.failure = event.failure
  }

  /** Whether calling this off would change anything. */
  canCallOff(key: string): boolean {
    return this.open.has(key) || this.#satisfied?.has(key) === true
  }

  // The code may have let go of a wait before it saw the signal that went to it here: then that is for the next.
  #callOff(key: string): void {
    if (this.open.delete(key)) return
    const name = this.#satisfied?.get(key)
    assert(name !== undefined, `only what is open, or not seen yet, is called off: ${key}`)
    this.#satisfied?.delete(key)
    this.#receive(name)
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

export function dueAt(open: Open): Instant | undefined {
  switch (open.type) {
    case 'timer':
    case 'wait':
      return open.until
    case 'step':
      return open.queued ? undefined : open.retryAt
    case 'child':
      return undefined
    default:
      return unreachable(open)
  }
}
