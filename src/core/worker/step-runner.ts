// Runs step bodies in this process, in bounded slots, and turns each end into what history or the task queue needs.

import { PawlError } from '../base/errors.ts'
import type { Failure } from '../base/failure.ts'
import type { Instant } from '../base/instant.ts'
import { NEVER } from '../base/instant.ts'
import { decode, type Payload } from '../base/value.ts'
import type { ActivityContext } from '../definitions/contract.ts'
import { type ActivityCall, type AroundActivity, through } from '../definitions/interceptor.ts'
import { activityPlan } from '../definitions/plan.ts'
import type { Registry } from '../definitions/registry.ts'
import type { GivenOptions, RetryRule, StepPlan } from '../kernel/decider.ts'
import type { GivenUp } from '../kernel/event.ts'
import type { StepLeft, StepOutcome } from '../kernel/message.ts'
import type { OpenStep } from '../kernel/requests.ts'
import type { Head } from '../kernel/run.ts'
import type { LocalResult } from '../kernel/turn.ts'
import { backoffMs, givesUp } from '../policies/retry.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Random } from '../runtime/random.ts'
import type { ClaimedTask } from '../stores/store.ts'
import {
  type Attempt,
  type AttemptOf,
  type AttemptPorts,
  type AttemptResult,
  beginAttempt,
} from './attempt.ts'
import type { RunningStep } from './local-steps.ts'
import type { Slots } from './slots.ts'
import { CANCELLED, type NotePorts, type NotesOf, StepNotes } from './step-notes.ts'

export interface StepPorts extends NotePorts {
  readonly registry: Registry
  readonly slots: Slots
  readonly random: Random
  readonly logger: Logger
  now(): Instant
  readonly build: AttemptPorts['build']
  clientFor: AttemptPorts['clientFor']
  /** Runs a body in a transaction of the store's, once. */
  transact(of: NotesOf, body: NonNullable<StepPlan['transaction']>): Promise<unknown>
  /** Whether the session still gives the right to begin anything. */
  readonly mayWork: () => boolean
  /** Stand around each attempt at a step body. */
  readonly aroundBodies: readonly AroundActivity[]
}

type Rules = Pick<StepPlan, 'retry' | 'startToCloseMs' | 'heartbeatMs'>

/** What is done in an attempt. */
export interface Work {
  readonly kind: ActivityCall['kind']
  readonly input?: Payload | undefined
  readonly body: (input: unknown, context: ActivityContext) => unknown
}

/** How an attempt leaves its step: over, or to be tried again after a pause. */
export type Verdict =
  | { readonly type: 'ended'; readonly outcome: StepOutcome }
  | {
      readonly type: 'retry'
      readonly attempt: number
      readonly failure: Failure
      readonly delayMs: number
    }
  /** Its result comes from outside. */
  | { readonly type: 'left'; readonly left: StepLeft }

export class StepRunner {
  readonly #ports: StepPorts

  constructor(ports: StepPorts) {
    this.#ports = ports
  }

  /** A step of a run that is held here. */
  local(
    head: Head,
    key: string,
    step: OpenStep,
    plan: StepPlan,
    attempt: number,
    recorded: () => Promise<void>,
  ): RunningStep {
    const work = this.#workOf(head, key, step, plan)
    const of: AttemptOf = {
      runId: head.runId,
      workflowId: head.workflowId,
      generation: head.generation,
      keysOf: head.keysOf,
      key,
      name: step.name,
      attempt,
      maxAttempts: plan.retry.maxAttempts,
      ...limitsOf(plan),
      ...(step.closeBy !== undefined && { closeBy: step.closeBy }),
    }
    const { result, ...running } = this.start(of, work, plan.retry, recorded)
    return { ...running, result: result.then((verdict) => this.#localResult(key, verdict)) }
  }

  #workOf(head: Head, key: string, step: OpenStep, plan: StepPlan): Work {
    const { transaction } = plan
    if (transaction) {
      const { runId, generation } = head
      return {
        kind: 'step',
        body: () => this.#ports.transact({ runId, generation, key }, transaction),
      }
    }
    const body = plan.body as ((context: ActivityContext) => unknown) | undefined
    if (body) return { kind: 'step', body: (_, context) => body(context) }
    return this.activity(step.name, step.input)
  }

  start(
    of: AttemptOf,
    work: Work,
    retry: RetryRule,
    /** What the task queue has is recorded. */
    recorded: () => Promise<void> = () => Promise.resolve(),
  ): Omit<RunningStep, 'result'> & { readonly result: Promise<Verdict> } {
    let attempt: Attempt | undefined
    let notes: StepNotes | undefined
    let aborted = false
    const { promise, resolve } = Promise.withResolvers<Verdict>()
    this.#ports.slots.run(async () => {
      // Called off while it stood in line, or the lease ended meanwhile: it never begins, and nobody waits for it.
      if (aborted || !this.#ports.mayWork()) return
      // The first attempt finds nothing, and does not ask.
      const found = of.attempt === 1 ? {} : await this.#ports.loadNotes(of)
      if (aborted || !this.#ports.mayWork()) return
      notes = new StepNotes(of, this.#ports, found)
      attempt = beginAttempt(of, (context) => this.#call(of, work, context), notes, {
        ...this.#ports,
        recorded,
      })
      const ended = await attempt.result
      const isDone = ended.ok === true
      const closed = notes.close(isDone ? 'drop' : 'keep')
      if (!isDone) await closed
      resolve(this.#judge(of, retry, ended))
    })
    const abort = (reason: Error): void => {
      aborted = true
      attempt?.abort(reason)
      // Where the lease is gone, somebody else may be at it by now.
      void notes?.close(this.#ports.mayWork() ? 'keep' : 'drop')
    }
    // What was not begun never begins; what was has its notes still, for as long as it cleans up.
    const cancel = (reason: Error): void => {
      if (attempt) attempt.abort(reason)
      else aborted = true
    }
    return { result: promise, begun: () => attempt !== undefined, abort, cancel }
  }

  #call({ name }: AttemptOf, { kind, input, body }: Work, ctx: ActivityContext): unknown {
    const given = input ? decode(input) : undefined
    const { aroundBodies } = this.#ports
    if (aroundBodies.length === 0) return body(given, ctx)
    const call = { kind, name, input: given, ctx }
    return through(aroundBodies, call, (made) => body(made.input, made.ctx))
  }

  activity(name: string, input: Payload | undefined): Work {
    const activity = this.#ports.registry.activity(name)
    const body: Work['body'] = (given, context) => {
      if (activity) return activity.handler(given, context)
      throw new PawlError(
        'NO_CODE_HERE',
        `activity '${name}' has no code in this worker. Give it to open({ activities }) in every worker that serves its queue.`,
      )
    }
    return { kind: 'activity', input, body }
  }

  /** The retries and limits of a task: those of the activity as it is here, but for what was said where it was asked for. */
  rulesOf(name: string, body: Rules & { readonly given?: GivenOptions }): Rules {
    const own = this.#ports.registry.activity(name)?.options
    return own && body.given ? activityPlan(body.given, own, `activity '${name}'`) : body
  }

  /** Whether a queued step was cancelled, and its end is waited for. */
  async isCancelled(of: NotesOf): Promise<boolean> {
    return (await this.#ports.loadNotes(of))[CANCELLED] !== undefined
  }

  /** A task was claimed and cannot be begun. */
  cannotRead({ runId, name }: Pick<ClaimedTask, 'runId' | 'name'>, error: unknown): void {
    const { logger } = this.#ports
    logger.log('warn', `activity '${name}' of run ${runId} cannot be read: ${String(error)}`)
  }

  #judge(of: AttemptOf, retry: RetryRule, result: AttemptResult): Verdict {
    const { attempt } = of
    if (result.ok === true)
      return { type: 'ended', outcome: { ok: true, attempt, value: result.value } }
    if (result.ok) return { type: 'left', left: this.#left(of, retry) }
    const { failure, timedOut, retryAfterMs } = result
    const reason: GivenUp | undefined = givesUp(retry, failure, attempt)
    if (reason) {
      const why = timedOut ? 'timeout' : reason
      return { type: 'ended', outcome: { ok: false, attempt, failure, reason: why } }
    }
    const delayMs = retryAfterMs ?? backoffMs(retry, attempt, this.#ports.random.fraction())
    // There would be no time left for another.
    if (of.closeBy !== undefined && this.#ports.now() + delayMs >= of.closeBy) {
      return { type: 'ended', outcome: { ok: false, attempt, failure, reason: 'timeout' } }
    }
    return { type: 'retry', attempt, failure, delayMs }
  }

  #left({ name, attempt, startToCloseMs }: AttemptOf, retry: RetryRule): StepLeft {
    const until = startToCloseMs === undefined ? NEVER : this.#ports.now() + startToCloseMs
    const limit = startToCloseMs === undefined ? '' : `, and was not within ${startToCloseMs} ms`
    const message = `attempt ${attempt} of step '${name}' was left to be completed from outside${limit}`
    const failure: Failure = { type: 'Timeout', message, code: 'START_TO_CLOSE', retryable: true }
    const retryable = givesUp(retry, failure, attempt) === undefined
    return { attempt, failure: { ...failure, retryable }, until }
  }

  #localResult(key: string, verdict: Verdict): LocalResult {
    if (verdict.type === 'ended') return { type: 'ended', key, outcome: verdict.outcome }
    if (verdict.type === 'left') return { type: 'retry', key, ...verdict.left, left: true }
    const { attempt, failure, delayMs } = verdict
    return { type: 'retry', key, attempt, failure, until: this.#ports.now() + delayMs }
  }
}

/** The limits of one attempt, as the plan of its step has them. */
export function limitsOf({
  startToCloseMs,
  heartbeatMs,
}: Pick<StepPlan, 'startToCloseMs' | 'heartbeatMs'>): Pick<
  AttemptOf,
  'startToCloseMs' | 'heartbeatMs'
> {
  return {
    ...(startToCloseMs !== undefined && { startToCloseMs }),
    ...(heartbeatMs !== undefined && { heartbeatMs }),
  }
}
