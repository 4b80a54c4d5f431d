// The step bodies of one run that run in this process, and what came of them. A step counts as running until its
// result is part of a turn, so that nobody begins it again in between.
import type { StepPlan } from '../kernel/decider.ts'
import { CancelledError } from '../kernel/errors.ts'
import type { Failure } from '../kernel/failure.ts'
import type { StepOutcome } from '../kernel/message.ts'
import type { OpenStep } from '../kernel/run.ts'
import type { LocalResult } from '../kernel/turn.ts'

export interface RunningStep {
  readonly result: Promise<LocalResult>
  abort(reason: Error): void
}

/** Starts a body; nothing begins once the session is dead. */
export type Begin = (
  key: string,
  step: OpenStep,
  plan: StepPlan,
  attempt: number,
) => RunningStep | undefined

export class LocalSteps {
  readonly #running = new Map<string, RunningStep>()
  readonly #begin: Begin
  readonly #onResult: () => void
  #results: LocalResult[] = []
  /** Deaths of earlier holders since the last durable turn, and the steps that may have been under way then. */
  #crashes = 0
  readonly #interrupted = new Set<string>()

  constructor(begin: Begin, onResult: () => void) {
    this.#begin = begin
    this.#onResult = onResult
  }

  get size(): number {
    return this.#running.size
  }

  get hasResults(): boolean {
    return this.#results.length > 0
  }

  has(key: string): boolean {
    return this.#running.has(key)
  }

  /** Earlier holders died this often; each of these steps may have been begun as often. */
  blame(crashes: number, keys: Iterable<string>): void {
    this.#crashes = crashes
    if (crashes > 0) for (const key of keys) this.#interrupted.add(key)
  }

  get crashes(): number {
    return this.#crashes
  }

  begin(key: string, step: OpenStep, plan: StepPlan): void {
    const crashes = this.#interrupted.delete(key) ? this.#crashes : 0
    const attempt = step.failed + 1 + crashes
    if (attempt > plan.retry.maxAttempts) {
      this.#results.push({ type: 'ended', key, outcome: workerDied(step, attempt - 1) })
      this.#onResult()
      return
    }
    const running = this.#begin(key, step, plan, attempt)
    if (!running) return
    this.#running.set(key, running)
    void running.result.then((result) => {
      if (this.#running.get(key) === running) this.#results.push(result)
      this.#onResult()
    })
  }

  takeResults(): LocalResult[] {
    const results = this.#results
    this.#results = []
    for (const { key } of results) this.#running.delete(key)
    return results
  }

  /** Tells steps that nobody waits for any more, and forgets them. */
  stop(reason: string, which: (key: string) => boolean = () => true): void {
    for (const [key, step] of this.#running) {
      if (!which(key)) continue
      this.#running.delete(key)
      step.abort(new CancelledError(reason))
    }
  }
}

function workerDied(step: OpenStep, attempt: number): StepOutcome {
  const message = `the worker died during attempt ${attempt} of step '${step.name}'`
  const cause = step.failure && { cause: step.failure }
  const failure: Failure = { type: 'WorkerDied', message, retryable: true, ...cause }
  return { ok: false, attempt, failure, reason: 'exhausted' }
}
