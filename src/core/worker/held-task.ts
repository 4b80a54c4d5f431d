// An activity attempt claimed from the task queue: run here, settled with the store. The run it belongs to may be
// held by anybody, or by nobody.
import { parseBody } from '../base/envelope.ts'
import { CancelledError, PawlError } from '../base/errors.ts'
import { type Failure, failureOf } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { StepLeft, StepOutcome } from '../kernel/message.ts'
import type { ClaimedTask, TaskOutcome } from '../stores/store.ts'
import { storedMessage, type TaskBody } from './commit.ts'
import { cancelled } from './local-steps.ts'
import { limitsOf, type StepRunner, type Verdict } from './step-runner.ts'

export class HeldTask {
  readonly taskId: string
  readonly epoch: number
  readonly #task: ClaimedTask
  readonly #body: TaskBody | undefined
  /** Why there is no body. */
  readonly #unreadable: unknown
  readonly #runner: StepRunner
  #running: ReturnType<StepRunner['start']> | undefined
  readonly #neverBegun = Promise.withResolvers<Verdict>()
  #wasCancelled = false
  #isGone = false

  constructor(task: ClaimedTask, runner: StepRunner) {
    this.taskId = task.taskId
    this.epoch = task.lease.epoch
    this.#task = task
    this.#runner = runner
    try {
      const body = parseBody(task.body) as TaskBody
      this.#body = { ...body, ...runner.rulesOf(task.name, body) }
    } catch (error) {
      this.#unreadable = error
    }
  }

  // What the store counts begins anew when a step is handed to the queue.
  get #attempt(): number {
    const { failed, deliveries } = this.#task
    return Math.max(failed, this.#body?.failed ?? 0) + deliveries
  }

  /** What the store is to be told. Does not resolve after `abort`. */
  async run(): Promise<TaskOutcome> {
    const body = this.#body
    if (!body) return this.#left()
    const { retry, input, key, generation, keysOf, workflowId, closeBy } = body
    const { runId, name } = this.#task
    const attempt = this.#attempt
    if (body.awaited) await this.look()
    if (this.#isGone) return new Promise(() => {})
    if (this.#wasCancelled) return this.#ended(body, cancelled(name, attempt))
    if (attempt > retry.maxAttempts) return this.#ended(body, diedTrying(name, attempt - 1))
    const running = this.#runner.start(
      {
        runId,
        workflowId,
        generation,
        keysOf,
        key,
        name,
        attempt,
        maxAttempts: retry.maxAttempts,
        ...limitsOf(body),
        ...(closeBy !== undefined && { closeBy }),
      },
      this.#runner.activity(name, input),
      retry,
    )
    this.#running = running
    const verdict = await Promise.race([running.result, this.#neverBegun.promise])
    // One that was cancelled is not tried again, whatever its worker has heard of that.
    if (verdict.type !== 'ended' && body.awaited) await this.look()
    if (verdict.type !== 'ended' && this.#wasCancelled)
      return this.#ended(body, cancelled(name, attempt))
    return this.#outcome(body, verdict)
  }

  /** It was cancelled, and its end is waited for. One that has not begun never does. */
  cancel(): void {
    if (this.#wasCancelled) return
    this.#wasCancelled = true
    const running = this.#running
    if (!running) return
    running.cancel(new CancelledError('the run was cancelled, or no longer waits for it'))
    const outcome = cancelled(this.#task.name, this.#attempt)
    if (!running.begun()) this.#neverBegun.resolve({ type: 'ended', outcome })
  }

  /** Looks whether it was cancelled, if its end would be waited for. What cannot be read now is with the next renewal. */
  async look(): Promise<void> {
    const body = this.#body
    if (body && (await this.#isCancelled(body).catch(() => false))) this.cancel()
  }

  async #isCancelled({ awaited, generation, key }: TaskBody): Promise<boolean> {
    if (!awaited) return false
    return this.#runner.isCancelled({ runId: this.#task.runId, generation, key })
  }

  abort(reason: Error): void {
    this.#isGone = true
    this.#running?.abort(reason)
  }

  /** A body that was begun has used up its attempt; one that stood in line has not. */
  giveBack(): TaskOutcome {
    const body = this.#body
    const begun = this.#running?.begun() ?? false
    this.#running?.abort(new PawlError('WORKER_STOPPED', 'the worker is shutting down'))
    const { taskId, lease, name } = this.#task
    if (!begun || !body) return { taskId, lease, result: { type: 'return' } }
    const outcome = diedTrying(name, this.#attempt)
    if (outcome.attempt >= body.retry.maxAttempts) return this.#ended(body, outcome)
    const failure = JSON.stringify(outcome.failure)
    return {
      taskId,
      lease,
      result: { type: 'retry', delayMs: 0, failed: outcome.attempt, failure },
    }
  }

  // It is tried again later, perhaps by a worker that can read it. That is no attempt; deaths in earlier ones are.
  #left(): TaskOutcome {
    const { taskId, lease, failed, deliveries } = this.#task
    this.#runner.cannotRead(this.#task, this.#unreadable)
    const failure = JSON.stringify(failureOf(this.#unreadable))
    const ended = failed + deliveries - 1
    const delayMs = limits.unreadableRetryMsMax
    return { taskId, lease, result: { type: 'retry', delayMs, failed: ended, failure } }
  }

  #outcome(body: TaskBody, verdict: Verdict): TaskOutcome {
    if (verdict.type === 'ended') return this.#ended(body, verdict.outcome)
    if (verdict.type === 'left') return this.#leave(body, verdict.left)
    const { attempt: failed, delayMs, failure } = verdict
    const { taskId, lease } = this.#task
    const result = { type: 'retry', delayMs, failed, failure: JSON.stringify(failure) } as const
    return { taskId, lease, result }
  }

  // The run waits for its completion, and hands it to the queue again if that does not come.
  #leave({ key, generation }: TaskBody, left: StepLeft): TaskOutcome {
    const { taskId, lease } = this.#task
    const id = `left:${taskId}:${left.attempt}`
    const message = storedMessage({ type: 'taskLeft', id, generation, key, left })
    return { taskId, lease, result: { type: 'done', message } }
  }

  #ended({ key, generation }: TaskBody, outcome: StepOutcome): TaskOutcome {
    const { taskId, lease } = this.#task
    const id = `task:${taskId}`
    const message = storedMessage({ type: 'taskEnded', id, generation, key, outcome })
    return { taskId, lease, result: { type: 'done', message } }
  }
}

function diedTrying(name: string, attempt: number): Extract<StepOutcome, { ok: false }> {
  const message = `the worker died or lost its lease during attempt ${attempt} of activity '${name}'`
  const failure: Failure = { type: 'WorkerDied', message, retryable: true }
  return { ok: false, attempt, failure, reason: 'exhausted' }
}
