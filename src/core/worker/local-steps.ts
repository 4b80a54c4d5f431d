// The step bodies of one run that run in this process, and what came of them. A step counts as running until its
// result is part of a turn, so that nobody begins it again in between.

import { CancelledError } from '../base/errors.ts'
import type { Failure } from '../base/failure.ts'
import type { Instant } from '../base/instant.ts'
import type { StepPlan } from '../kernel/decider.ts'
import type { StepOutcome } from '../kernel/message.ts'
import type { OpenStep } from '../kernel/requests.ts'
import type { LocalResult } from '../kernel/turn.ts'

export interface RunningStep {
  readonly result: Promise<LocalResult>
  /** Whether the body has been called, or still stands in line for a slot. */
  readonly begun: () => boolean
  /** Nobody waits for it any more. */
  readonly abort: (reason: Error) => void
  /** It was cancelled, and its end is waited for. */
  readonly cancel: (reason: Error) => void
}

interface Running extends RunningStep {
  readonly step: OpenStep
  readonly plan: StepPlan
  readonly attempt: number
}

/** Starts a body; nothing begins once the session is dead. */
export type Begin = (
  key: string,
  step: OpenStep,
  plan: StepPlan,
  attempt: number,
) => RunningStep | undefined

export class LocalSteps {
  readonly #running = new Map<string, Running>()
  readonly #begin: Begin
  readonly #onResult: () => void
  #results: LocalResult[] = []
  /** Whether bodies were begun of whose end nothing is durable. */
  hasBegun = false

  constructor(begin: Begin, onResult: () => void) {
    this.#begin = begin
    this.#onResult = onResult
  }

  get size(): number {
    return this.#running.size
  }

  /** Whether some body has not ended yet. */
  get underWay(): boolean {
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

  begin(key: string, step: OpenStep, plan: StepPlan): void {
    const attempt = step.failed + 1
    if (step.stopping) return this.giveUp(key, step)
    if (isSpent(step, plan)) return this.#over(key, givenUp(step, attempt - 1, step.failure))
    const running = this.#begin(key, step, plan, attempt)
    if (!running) return
    this.hasBegun = true
    this.#running.set(key, { ...running, step, plan, attempt })
    void running.result.then((result) => {
      if (this.#running.get(key)?.result === running.result) this.#results.push(result)
      this.#onResult()
    })
  }

  /** A step that was cancelled, and that no worker has begun, or goes on with. */
  giveUp(key: string, step: OpenStep): void {
    this.#over(key, cancelled(step.name, Math.max(1, step.failed)))
  }

  #over(key: string, outcome: StepOutcome): void {
    this.#results.push({ type: 'ended', key, outcome })
    this.#onResult()
  }

  /** Tells a step that it was cancelled, and waits for its end. One that has not begun never does. */
  cancel(key: string, reason: string): void {
    const running = this.#running.get(key)
    if (!running) return
    running.cancel(new CancelledError(reason))
    if (running.begun()) return
    this.#running.delete(key)
    this.#over(key, cancelled(running.step.name, running.attempt))
  }

  takeResults(): LocalResult[] {
    const results = this.#results
    this.#results = []
    for (const { key } of results) this.#running.delete(key)
    return results
  }

  /** All results that were taken so far are durable. */
  settle(): void {
    this.hasBegun = this.#running.size > 0
  }

  /** Tells steps that nobody waits for any more, and forgets them. */
  stop(reason: string, keys: readonly string[] = this.keys): void {
    for (const key of keys) {
      const step = this.#running.get(key)
      this.#running.delete(key)
      step?.abort(new CancelledError(reason))
    }
  }

  /** Waits no longer. A body that was begun has used up its attempt; one that stood in line has not. */
  cutOff(reason: string, now: Instant): void {
    const ended = new Set(this.#results.map(({ key }) => key))
    for (const [key, running] of [...this.#running]) {
      if (ended.has(key)) continue
      running.abort(new CancelledError(reason))
      const { step, plan, attempt } = running
      if (running.begun()) this.#results.push(interrupted(key, step, plan, attempt, reason, now))
      else this.#running.delete(key)
    }
    this.#onResult()
  }
}

/** What an attempt that was cut off by the end of its worker counts as: a failure, like any other. */
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
  if (attempt >= plan.retry.maxAttempts) {
    return { type: 'ended', key, outcome: givenUp(step, attempt, failure) }
  }
  return { type: 'retry', key, attempt, failure, until: now }
}

/** How a step ends that was cancelled and whose body does not end it. */
export function cancelled(name: string, attempt: number): StepOutcome {
  const message = `step '${name}' was cancelled`
  const failure: Failure = { type: 'CancelledError', message, retryable: false }
  return { ok: false, attempt, failure, reason: 'non-retryable' }
}

function givenUp(step: OpenStep, attempt: number, last: Failure | undefined): StepOutcome {
  const message = `step '${step.name}' has used up its ${attempt} attempts`
  const failure: Failure = last ?? { type: 'WorkerDied', message, retryable: true }
  return { ok: false, attempt, failure, reason: step.left ? 'timeout' : 'exhausted' }
}

/** Whether no attempt is left: all were made, or the last one, which was left to others, must not be made again. */
export function isSpent({ failed, left, failure }: OpenStep, { retry }: StepPlan): boolean {
  return failed >= retry.maxAttempts || (left === true && failure?.retryable === false)
}
