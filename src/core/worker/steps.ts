// The steps of a held run that run in this process. A step counts as running until its result is part of a turn, so
// that no second attempt begins in between.
import { CancelledError } from '../base/errors.ts'
import type { Failure } from '../base/failure.ts'
import type { Instant } from '../base/time.ts'
import type { StepPlan } from '../kernel/decider.ts'
import type { HistoryEvent } from '../kernel/event.ts'
import type { StepOutcome } from '../kernel/message.ts'
import type { OpenStep } from '../kernel/requests.ts'
import type { Head, RunState } from '../kernel/run.ts'
import { traceOf } from '../kernel/trace.ts'
import type { LocalResult, Turn } from '../kernel/turn.ts'
import type { Lease } from '../stores/store.ts'
import { Attempt, type AttemptEnd, stepWork } from './attempt.ts'
import type { WorkerContext } from './context.ts'
import type { Uncommitted } from './uncommitted.ts'
import type { Waker } from './waker.ts'

interface Running {
  readonly attempt: Attempt
  readonly step: OpenStep
  readonly plan: StepPlan
}

export class Steps {
  readonly #context: WorkerContext
  readonly #waker: Waker
  readonly #uncommitted: Uncommitted
  readonly #lease: Lease
  readonly #running = new Map<string, Running>()
  #results: LocalResult[] = []
  /** Whether bodies were begun whose end is not committed. */
  hasBegun = false

  constructor(context: WorkerContext, waker: Waker, uncommitted: Uncommitted, lease: Lease) {
    this.#lease = lease
    this.#context = context
    this.#waker = waker
    this.#uncommitted = uncommitted
  }

  get size(): number {
    return this.#running.size
  }

  /** Whether some body has not ended yet. */
  get areRunning(): boolean {
    const ended = new Set(this.#results.map(({ key }) => key))
    return this.keys.some((key) => !ended.has(key))
  }

  get hasResults(): boolean {
    return this.#results.length > 0
  }

  get keys(): string[] {
    return [...this.#running.keys()]
  }

  has(key: string): boolean {
    return this.#running.has(key)
  }

  /** Begins the next attempt at a step, unless it was cancelled or has none left. Nothing begins after the session. */
  begin(head: Head, key: string, step: OpenStep, plan: StepPlan): void {
    if (step.stopping) return this.endCancelled(key, step)
    if (isSpent(step, plan)) return this.#end(key, exhausted(step, step.failed, step.failure))
    if (!this.#context.session.alive) return
    const { runId, workflowId, generation, keysOf, chapter } = head
    const of = {
      runId,
      workflowId,
      generation,
      keysOf,
      chapter,
      key,
      name: step.name,
      attempt: step.failed + 1,
      retry: plan.retry,
      startToCloseMs: plan.startToCloseMs,
      heartbeatMs: plan.heartbeatMs,
      closeBy: step.closeBy,
      trace: traceOf(head),
      queue: plan.queue ?? head.queue,
      priority: plan.priority ?? head.priority,
      readyAt: this.#context.storeClock.now(),
      uncommitted: this.#uncommitted,
      lease: this.#lease,
    }
    const attempt = new Attempt(this.#context, of, stepWork(this.#context, of, plan, step.input))
    this.hasBegun = true
    this.#running.set(key, { attempt, step, plan })
    void attempt.result.then((end) => {
      if (this.#running.get(key)?.attempt === attempt) this.#results.push(this.#resultOf(key, end))
      this.#waker.wake()
    })
  }

  #resultOf(key: string, end: AttemptEnd): LocalResult {
    if (end.type === 'ended') return { type: 'ended', key, outcome: end.outcome }
    if (end.type === 'left') return { type: 'retry', key, ...end.left, left: true }
    const { attempt, failure, delayMs } = end
    const until = this.#context.storeClock.now() + delayMs
    return { type: 'retry', key, attempt, failure, until }
  }

  /** Ends a step that was cancelled and that no worker runs. */
  endCancelled(key: string, step: OpenStep): void {
    this.#end(key, cancelled(step.name, Math.max(1, step.failed)))
  }

  #end(key: string, outcome: StepOutcome): void {
    this.#results.push({ type: 'ended', key, outcome })
    this.#waker.wake()
  }

  /** Tells a body that its step was cancelled, and waits for its end. One that waits for a slot never begins. */
  cancel(key: string, reason: string): void {
    const running = this.#running.get(key)
    if (!running) return
    const { attempt, step } = running
    attempt.cancel(new CancelledError(reason))
    if (attempt.hasBegun) return
    this.#running.delete(key)
    this.#end(key, cancelled(step.name, attempt.of.attempt))
  }

  takeResults(): LocalResult[] {
    const results = this.#results
    if (results.length === 0) return results
    this.#results = []
    for (const { key } of results) this.#running.delete(key)
    return results
  }

  /** All results that were taken so far are committed. */
  committed(): void {
    this.hasBegun = this.#running.size > 0
  }

  /** Aborts bodies whose results are not needed any more, and forgets them. */
  stop(reason: string, keys: readonly string[] = this.keys): void {
    for (const key of keys) {
      const running = this.#running.get(key)
      this.#running.delete(key)
      running?.attempt.abort(new CancelledError(reason))
    }
  }

  /** Aborts all bodies and does not wait for them. Each that has begun has used an attempt. */
  cutOff(reason: string): void {
    const ended = new Set(this.#results.map(({ key }) => key))
    const now = this.#context.storeClock.now()
    for (const [key, { attempt, step, plan }] of [...this.#running]) {
      if (ended.has(key)) continue
      attempt.abort(new CancelledError(reason))
      if (attempt.hasBegun) this.#results.push(interrupted(key, step, plan, attempt.of.attempt, reason, now))
      else this.#running.delete(key)
    }
    this.#waker.wake()
  }

  /**
   * Aborts the steps this turn cancelled: those its events name, or, after the run was cancelled, every unshielded one.
   */
  stopCancelled({ events }: Turn, state: RunState): void {
    if (this.#running.size === 0) return
    const isCancelled = events.some(({ type }) => type === 'CancelRequested')
    const keys = isCancelled ? this.keys : events.flatMap(keysIn)
    const reason = state.cancelled ? 'the run was cancelled' : 'the run no longer waits for it'
    this.stop(
      reason,
      keys.filter((key) => !state.open.has(key)),
    )
    for (const key of keys) {
      const open = state.open.get(key)
      if (open?.type === 'step' && open.stopping) this.cancel(key, reason)
    }
  }
}

function keysIn(event: HistoryEvent): readonly string[] {
  if (event.type === 'CalledOff') return event.keys
  return 'key' in event ? [event.key] : []
}

/** An attempt that was cut off by the end of its worker: it has failed, like any other that did. */
export function interrupted(
  key: string,
  step: OpenStep,
  plan: StepPlan,
  attempt: number,
  reason: string,
  now: Instant,
): LocalResult {
  const message = `attempt ${attempt} of step '${step.name}' was cut off: ${reason}`
  const failure: Failure = { type: 'WorkerDied', message, retryable: true }
  if (attempt >= plan.retry.maxAttempts) return { type: 'ended', key, outcome: exhausted(step, attempt, failure) }
  return { type: 'retry', key, attempt, failure, until: now }
}

/** How a step ends that was cancelled, if its body does not end it. */
export function cancelled(name: string, attempt: number): StepOutcome {
  const message = `step '${name}' was cancelled`
  const failure: Failure = { type: 'CancelledError', message, retryable: false }
  return { ok: false, attempt, failure, reason: 'non-retryable' }
}

function exhausted(step: OpenStep, attempt: number, last: Failure | undefined): StepOutcome {
  const message = `step '${step.name}' has used up its ${attempt} attempts`
  const failure: Failure = last ?? { type: 'WorkerDied', message, retryable: true }
  return { ok: false, attempt, failure, reason: step.left ? 'timeout' : 'exhausted' }
}

/**
 * Whether no attempt is left: all were made, or the last one was left to be completed from outside and must not be
 * repeated.
 */
export function isSpent({ failed, left, failure }: OpenStep, { retry }: StepPlan): boolean {
  return failed >= retry.maxAttempts || (left === true && failure?.retryable === false)
}
