// An activity attempt claimed from the task queue: it runs here, and its outcome is settled with the store. The run it
// belongs to may be held by any worker, or by none.
import { parseBody } from '../base/envelope.ts'
import { CancelledError, PawlError } from '../base/errors.ts'
import { type Failure, failureOf } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { activityPlan } from '../definitions/plan.ts'
import type { Registry } from '../definitions/registry.ts'
import type { StepLeft, StepOutcome } from '../kernel/message.ts'
import type { ClaimedTask, TaskOutcome } from '../stores/store.ts'
import type { AttemptOf } from './activity-context.ts'
import { Attempt, type AttemptEnd, activityWork } from './attempt.ts'
import { storedMessage } from './commit.ts'
import type { WorkerContext } from './context.ts'
import type { TaskBody } from './queued-steps.ts'
import { CANCELLED, loadNotes } from './step-notes.ts'
import { cancelled } from './steps.ts'

export class HeldTask {
  readonly taskId: string
  readonly epoch: number
  readonly #context: WorkerContext
  readonly #task: ClaimedTask
  readonly #body: TaskBody | undefined
  /** Why there is no body. */
  readonly #unreadable: unknown
  #running: Attempt | undefined
  readonly #neverBegun = Promise.withResolvers<AttemptEnd>()
  #isCancelled = false
  #isAborted = false

  constructor(context: WorkerContext, task: ClaimedTask) {
    this.taskId = task.taskId
    this.epoch = task.lease.epoch
    this.#context = context
    this.#task = task
    try {
      const body = parseBody(task.body) as TaskBody
      this.#body = { ...body, ...rulesOf(context.registry, task.name, body) }
    } catch (error) {
      this.#unreadable = error
    }
  }

  // The store counts from zero when a step is queued.
  get #attempt(): number {
    const { failed, deliveries } = this.#task
    return Math.max(failed, this.#body?.failed ?? 0) + deliveries
  }

  /** The outcome to settle with the store. Does not resolve after `abort`. */
  async run(): Promise<TaskOutcome> {
    const body = this.#body
    if (!body) return this.#retryUnreadable()
    const { retry, input } = body
    const { name } = this.#task
    const attempt = this.#attempt
    const of = this.#of(body)
    if (body.awaited) await this.checkCancelled()
    if (this.#isAborted) return new Promise(() => {})
    if (this.#isCancelled) return this.#ended(body, cancelled(name, attempt))
    if (attempt > retry.maxAttempts) return this.#ended(body, workerDied(name, attempt - 1))
    const work = activityWork(this.#context.registry, name, input)
    this.#running = new Attempt(this.#context, of, work)
    const end = await Promise.race([this.#running.result, this.#neverBegun.promise])
    // A cancelled step is not tried again, even if this worker has not heard of the cancellation yet.
    if (end.type !== 'ended' && body.awaited) await this.checkCancelled()
    if (end.type !== 'ended' && this.#isCancelled) return this.#ended(body, cancelled(name, attempt))
    return this.#outcome(body, end)
  }

  /** Which attempt it is; undefined if the task cannot be read. */
  get of(): AttemptOf | undefined {
    return this.#body && this.#of(this.#body)
  }

  #of(body: TaskBody): AttemptOf {
    const { runId, name, failed, deliveries } = this.#task
    const { key, generation, keysOf, chapter, workflowId, closeBy, retry, startToCloseMs, heartbeatMs } = body
    const { trace, queue = 'default', priority = 0, at } = body
    const { taskId, lease } = this.#task
    const step = {
      runId,
      workflowId,
      generation,
      keysOf,
      chapter,
      key,
      name,
      attempt: this.#attempt,
      retry,
      taskId,
      lease,
    }
    const isFirst = failed === 0 && deliveries === 1
    const placed = { trace: { runId, generation, ...trace }, queue, priority, readyAt: isFirst ? at : undefined }
    return { ...step, startToCloseMs, heartbeatMs, closeBy, ...placed }
  }

  /** The step was cancelled, and the run waits for its end. A body that waits for a slot never begins. */
  cancel(): void {
    if (this.#isCancelled) return
    this.#isCancelled = true
    const running = this.#running
    if (!running) return
    running.cancel(new CancelledError('the run was cancelled, or no longer waits for it'))
    const outcome = cancelled(this.#task.name, this.#attempt)
    if (!running.hasBegun) this.#neverBegun.resolve({ type: 'ended', outcome })
  }

  /**
   * Asks the store whether the step was cancelled, if the run would wait for its end. An error is tried again later.
   */
  async checkCancelled(): Promise<void> {
    const body = this.#body
    if (!body?.awaited) return
    const { generation, key } = body
    const of = { runId: this.#task.runId, generation, key }
    const notes = await loadNotes(this.#context, of).catch(() => undefined)
    if (notes?.[CANCELLED] !== undefined) this.cancel()
  }

  abort(reason: Error): void {
    this.#isAborted = true
    this.#running?.abort(reason)
  }

  /** Returns the task to the queue. A body that has begun has used an attempt; one that waited for a slot has not. */
  release(): TaskOutcome {
    const body = this.#body
    const hasBegun = this.#running?.hasBegun ?? false
    this.#running?.abort(new PawlError('WORKER_STOPPED', 'the worker is shutting down'))
    if (!hasBegun || !body) return this.#settle({ type: 'return' })
    const outcome = workerDied(this.#task.name, this.#attempt)
    if (outcome.attempt >= body.retry.maxAttempts) return this.#ended(body, outcome)
    return this.#retry(0, outcome.attempt, outcome.failure)
  }

  // A worker that can read the task may claim it later. This delivery is no attempt; deaths in earlier ones are.
  #retryUnreadable(): TaskOutcome {
    const { runId, name, failed, deliveries } = this.#task
    const text = `activity '${name}' of run ${runId} cannot be read: ${String(this.#unreadable)}`
    this.#context.logger.log('warn', text)
    const failure = failureOf(this.#unreadable)
    return this.#retry(limits.unreadableRetryMsMax, failed + deliveries - 1, failure)
  }

  #outcome(body: TaskBody, end: AttemptEnd): TaskOutcome {
    if (end.type === 'ended') return this.#ended(body, end.outcome)
    if (end.type === 'left') return this.#left(body, end.left)
    return this.#retry(end.delayMs, end.attempt, end.failure)
  }

  // The run waits for the completion, and queues the step again if it does not come.
  #left({ key, generation }: TaskBody, left: StepLeft): TaskOutcome {
    const id = `left:${this.taskId}:${left.attempt}`
    const message = storedMessage({ type: 'taskLeft', id, generation, key, left })
    return this.#settle({ type: 'done', message })
  }

  #ended({ key, generation }: TaskBody, outcome: StepOutcome): TaskOutcome {
    const id = `task:${this.taskId}`
    const message = storedMessage({ type: 'taskEnded', id, generation, key, outcome })
    return this.#settle({ type: 'done', message })
  }

  #retry(delayMs: number, failed: number, failure: Failure): TaskOutcome {
    return this.#settle({ type: 'retry', delayMs, failed, failure: JSON.stringify(failure) })
  }

  #settle(result: TaskOutcome['result']): TaskOutcome {
    return { taskId: this.taskId, lease: this.#task.lease, result }
  }
}

// The retry rule and limits of the activity as its code here has them, with the options of the call on top.
function rulesOf(registry: Registry, name: string, body: TaskBody): Partial<TaskBody> {
  const own = registry.activity(name)?.options
  return own && body.given ? activityPlan(body.given, own, `activity '${name}'`) : {}
}

function workerDied(name: string, attempt: number): Extract<StepOutcome, { ok: false }> {
  const message = `the worker died or lost its lease during attempt ${attempt} of activity '${name}'`
  const failure: Failure = { type: 'WorkerDied', message, retryable: true }
  return { ok: false, attempt, failure, reason: 'exhausted' }
}
