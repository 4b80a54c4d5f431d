// The index of requests: what the code of a run has asked for and not been answered. Everything that reads a history
// folds it by this one rule: a request is settled by an event with its key; a wait is settled by a signal of its name.
import { assert, unreachable } from '../base/assert.ts'
import type { Failure } from '../base/failure.ts'
import { type Instant, NEVER } from '../base/time.ts'
import type { Payload } from '../base/value.ts'
import type { Event, EventWith, OnCancel, OnClose, StepKind } from './event.ts'
import { isShielded } from './ids.ts'
import { Signals } from './signals.ts'

export type OpenRequest = OpenStep | OpenTimer | OpenWait | OpenChild

export interface OpenStep {
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
  /** Absent once an attempt has started. */
  startBy?: Instant
  readonly closeBy?: Instant
  readonly onCancel?: OnCancel
  /** It was cancelled and the code waits for its end: the attempt in progress is the last. */
  stopping?: true
}

interface OpenTimer {
  readonly type: 'timer'
  readonly until: Instant
}

export interface OpenWait {
  readonly type: 'wait'
  readonly name: string
  readonly until?: Instant
  /** Not for a signal: the code itself looks whether the condition holds. */
  readonly condition?: true
}

interface OpenChild {
  readonly type: 'child'
  readonly name: string
  readonly child: string
  readonly onClose?: OnClose
  readonly onCancel?: OnCancel
  stopping?: true
}

/** How a request stopped being open. A wait that timed out has `fired`; a condition that came true was `met`. */
export type Settling = 'completed' | 'failed' | 'fired' | 'signalled' | 'met' | 'cancelled'

/** Hears of every request that is opened and settled, in the order of the events. */
export interface RequestWatcher {
  opened?(key: string, request: OpenRequest, event: Event): void
  settled(key: string, request: OpenRequest, how: Settling, event: Event): void
}

export class RequestIndex {
  /** In the order in which they were opened. */
  readonly open = new Map<string, OpenRequest>()
  /** Some request was cancelled whose end the code waits for. */
  hasStopped = false
  /** Keys of requests that had a due time when they were opened or tried again, in that order. */
  readonly #timed = new Set<string>()
  readonly #watcher: RequestWatcher | undefined
  #signals: Signals<string, undefined> | undefined
  /** Waits that got a signal. */
  #signalled: Map<string, OpenWait> | undefined

  constructor(watcher?: RequestWatcher) {
    this.#watcher = watcher
  }

  apply(event: EventWith<'request'>): void {
    switch (event.type) {
      case 'StepStarted':
        return this.#open(event.key, openStep(event), event)
      case 'TimerStarted':
        return this.#open(event.key, { type: 'timer', until: event.until }, event)
      case 'ChildStarted': {
        const { key, name, child, onClose, onCancel } = event
        const marks = { ...(onClose && { onClose }), ...(onCancel && { onCancel }) }
        return this.#open(key, { type: 'child', name, child, ...marks }, event)
      }
      case 'WaitStarted':
        return this.#wait(event)
      case 'SignalReceived':
        return this.#receive(event.name, event)
      case 'StepBegun':
        delete this.#step(event.key).startBy
        return
      case 'StepQueued':
        return this.#queue(event.key)
      case 'StepRetried':
        return this.#retry(event)
      case 'StepCompleted':
      case 'ChildCompleted':
        return this.#settle(event.key, 'completed', event)
      case 'StepFailed':
      case 'ChildFailed':
        return this.#settle(event.key, 'failed', event)
      case 'TimerFired':
        return this.#settle(event.key, 'fired', event)
      case 'CalledOff':
        for (const key of event.keys) this.#cancel(key, event)
        return
      case 'CancelRequested':
        for (const [key, request] of this.open)
          if (!isShielded(key) && !this.#stop(request)) this.#close(key, request, 'cancelled', event)
        return
      default:
        return unreachable(event)
    }
  }

  /** The earliest time at which something is due without any message; of steps, only those that `counts`. */
  wakeAt(counts: (key: string) => boolean = () => true): Instant | undefined {
    let earliest: Instant | undefined
    for (const [key, request, due] of this.timed()) {
      if (request.type === 'step' && !counts(key)) continue
      if (earliest === undefined || due < earliest) earliest = due
    }
    return earliest
  }

  /** Open requests with a due time. Every turn asks, and of thousands of steps hardly any has one. */
  *timed(): Generator<[string, OpenRequest, Instant]> {
    for (const key of this.#timed) {
      const request = this.open.get(key)
      const due = request && dueAt(request)
      if (due === undefined) this.#timed.delete(key)
      else if (request) yield [key, request, due]
    }
  }

  /** Whether cancelling this request would change anything. */
  canCancel(key: string): boolean {
    return this.open.has(key) || this.#signalled?.has(key) === true
  }

  #open(key: string, request: OpenRequest, event: Event): void {
    assert(!this.open.has(key), `a key is requested once: ${key}`)
    this.open.set(key, request)
    this.#timed.delete(key)
    if (dueAt(request) !== undefined) this.#timed.add(key)
    this.#watcher?.opened?.(key, request, event)
  }

  #settle(key: string, how: Settling, event: Event): void {
    const request = this.open.get(key)
    assert(request, `${event.type} settles an open request: ${key}`)
    this.#close(key, request, how, event)
  }

  #close(key: string, request: OpenRequest, how: Settling, event: Event): void {
    this.open.delete(key)
    if (request.type === 'wait' && how !== 'signalled') this.#signals?.forget(key, request.name)
    this.#watcher?.settled(key, request, how, event)
  }

  #step(key: string): OpenStep {
    const step = this.open.get(key)
    assert(step?.type === 'step', `only an open step starts, waits or is tried again: ${key}`)
    return step
  }

  #queue(key: string): void {
    const step = this.#step(key)
    assert(!step.queued, `a step is queued once: ${key}`)
    step.queued = true
    step.left = false
    delete step.retryAt
  }

  #retry(event: Extract<Event, { type: 'StepRetried' }>): void {
    const step = this.#step(event.key)
    step.failed = event.attempt
    step.retryAt = event.until
    step.failure = event.failure
    step.left = event.left === true
    if (step.left) step.queued = false
    this.#timed.add(event.key)
  }

  // The code may have cancelled a wait before it saw the signal that the wait got: that signal is for the next wait.
  #cancel(key: string, event: Extract<Event, { type: 'CalledOff' }>): void {
    const request = this.open.get(key)
    if (request && this.#stop(request)) return
    if (request) return this.#settle(key, event.met?.includes(key) ? 'met' : 'cancelled', event)
    const wait = this.#signalled?.get(key)
    assert(wait, `a request is open, or its signal not seen yet, when it is cancelled: ${key}`)
    this.#signalled?.delete(key)
    this.#receive(wait.name, event)
  }

  // A request whose end the code waits for stays open.
  #stop(request: OpenRequest): boolean {
    if (!awaitsEnd(request)) return false
    this.hasStopped = true
    request.stopping = true
    if (request.type === 'step') delete request.retryAt
    return true
  }

  #wait(event: Extract<Event, { type: 'WaitStarted' }>): void {
    const { key, name, until, condition } = event
    const marks = { ...(until !== undefined && { until }), ...(condition && { condition }) }
    const wait: OpenWait = { type: 'wait', name, ...marks }
    this.#open(key, wait, event)
    if (condition) return
    this.#signals ??= new Signals()
    if (this.#signals.await(name, key)) this.#signal(key, wait, event)
  }

  #receive(name: string, event: Event): void {
    this.#signals ??= new Signals()
    const key = this.#signals.receive(name, undefined)
    const wait = key === undefined ? undefined : this.open.get(key)
    if (key !== undefined && wait?.type === 'wait') this.#signal(key, wait, event)
  }

  #signal(key: string, wait: OpenWait, event: Event): void {
    this.#signalled ??= new Map()
    this.#signalled.set(key, wait)
    this.#close(key, wait, 'signalled', event)
  }
}

/** Whether the code waits for the end of what was cancelled: then the request stays open, and is not tried again. */
export function awaitsEnd(request: OpenRequest): request is OpenStep | OpenChild {
  return (request.type === 'step' || request.type === 'child') && request.onCancel === 'wait'
}

export function dueAt(request: OpenRequest): Instant | undefined {
  switch (request.type) {
    case 'timer':
    case 'wait':
      return request.until
    case 'step': {
      const never = Number.POSITIVE_INFINITY
      const again = request.queued ? never : (request.retryAt ?? never)
      const due = Math.min(again, request.startBy ?? never, request.closeBy ?? never)
      return due >= NEVER ? undefined : due
    }
    case 'child':
      return undefined
    default:
      return unreachable(request)
  }
}

function openStep(event: Extract<Event, { type: 'StepStarted' }>): OpenStep {
  const { kind, name, input, queued, startBy, closeBy, onCancel } = event
  return {
    type: 'step',
    kind,
    name,
    ...(input && { input }),
    queued: queued === true,
    failed: 0,
    ...(startBy !== undefined && { startBy }),
    ...(closeBy !== undefined && { closeBy }),
    ...(onCancel && { onCancel }),
  }
}
