// The `ctx` of an activity or of a step written in place.
import { PermanentError } from '../base/errors.ts'
import type { Instant } from '../base/time.ts'
import type { ActivityClient, ActivityContext } from '../definitions/contract.ts'
import type { RetryRule } from '../kernel/decider.ts'
import type { RunTrace } from '../kernel/run-trace.ts'
import { makeStepToken } from '../kernel/tokens.ts'
import { runSpanOf, traceIdOf, traceparentText } from '../kernel/trace.ts'
import { isUnlimited } from '../policies/retry.ts'
import type { Lease } from '../stores/store.ts'
import type { WorkerContext } from './context.ts'
import type { StepNotes } from './step-notes.ts'
import type { StepStreams } from './step-streams.ts'
import type { Uncommitted } from './uncommitted.ts'

/** Which attempt at which step, and the limits it runs under. */
export interface AttemptOf {
  readonly runId: string
  readonly workflowId: string
  readonly generation: number
  /** The generation that the idempotency key names; its own when undefined. */
  readonly keysOf: number | undefined
  /** The generation in which its writers to streams began; its own when undefined. */
  readonly chapter: number | undefined
  readonly key: string
  readonly name: string
  readonly attempt: number
  readonly retry: RetryRule
  readonly trace: RunTrace
  readonly queue: string
  readonly priority: number
  /** When the attempt could begin; unknown of a task that was tried before. */
  readonly readyAt: Instant | undefined
  readonly startToCloseMs: number | undefined
  readonly heartbeatMs: number | undefined
  /** When all attempts together must have ended. */
  readonly closeBy: Instant | undefined
  /** What the attempt may write under. */
  readonly lease: Lease
  /** The task whose lease it is; the run's when absent. */
  readonly taskId?: string
  /** Of a run held here: its step may not be recorded yet. A step in the task queue is. */
  readonly uncommitted?: Uncommitted
}

/** An abort signal that is made when it is first read: most bodies never read it. */
export class LazyAbort {
  #controller: AbortController | undefined
  #reason: Error | undefined

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#reason) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  abort(reason: Error): void {
    this.#reason ??= reason
    this.#controller?.abort(reason)
  }
}

/** Thrown by `completeLater`: the result of the step comes from outside. */
export class CompletedLater extends Error {
  override readonly message = 'the step is completed from outside. Let this error leave the body.'
}

// What most bodies never use is made on first use. Each method works without `this`, so that it can be destructured.
export class StepContext implements ActivityContext {
  readonly runId: string
  readonly workflowId: string
  readonly stepKey: string
  readonly attempt: number
  readonly maxAttempts: number
  readonly build: string
  readonly #of: AttemptOf
  readonly #stop: LazyAbort
  readonly #notes: StepNotes
  readonly #context: WorkerContext
  #client: ActivityClient | undefined
  #traceparent: string | undefined

  readonly #streams: () => StepStreams

  constructor(
    of: AttemptOf,
    { stop, notes, streams }: { stop: LazyAbort; notes: StepNotes; streams: () => StepStreams },
    context: WorkerContext,
  ) {
    const { maxAttempts } = of.retry
    this.runId = of.runId
    this.workflowId = of.workflowId
    this.stepKey = of.key
    this.attempt = of.attempt
    this.maxAttempts = isUnlimited(maxAttempts) ? Number.POSITIVE_INFINITY : maxAttempts
    this.build = context.settings.code
    this.#of = of
    this.#stop = stop
    this.#notes = notes
    this.#streams = streams
    this.#context = context
  }

  get idempotencyKey(): string {
    const { runId, keysOf, generation, key } = this.#of
    return `${runId}:${keysOf ?? generation}:${key}`
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  get traceparent(): string {
    this.#traceparent ??= traceparentText(runSpanOf(this.#of.trace))
    return this.#traceparent
  }

  /** An interceptor that records a span of the attempt sets that one. */
  set traceparent(traceparent: string) {
    this.#traceparent = traceparent
  }

  get log(): ActivityContext['log'] {
    return logOf(this.#of, this.#context)
  }

  get client(): ActivityClient {
    this.#client ??= this.#context.clientFor(this.idempotencyKey)
    return this.#client
  }

  get heartbeat(): ActivityContext['heartbeat'] {
    return (details) => this.#notes.beat(details)
  }

  get lastHeartbeat(): ActivityContext['lastHeartbeat'] {
    return <Details>() => this.#notes.last() as Details | undefined
  }

  get runOnce(): ActivityContext['runOnce'] {
    return <R>(key: string, fn: () => R | Promise<R>) => this.#notes.once(key, fn) as Promise<R>
  }

  get stream(): ActivityContext['stream'] {
    return (stream, options) => this.#streams().open(stream, options)
  }

  get completionToken(): ActivityContext['completionToken'] {
    return async () => {
      const { runId, generation, key, uncommitted } = this.#of
      const secret = await this.#notes.secret()
      // A completion of a step that the store does not know would be lost.
      await uncommitted?.recorded()
      return makeStepToken({ runId, generation, key, secret })
    }
  }

  get completeLater(): ActivityContext['completeLater'] {
    return () => {
      if (this.#notes.hasSecret) throw new CompletedLater()
      throw new PermanentError(
        `step '${this.#of.name}' was left to be completed from outside, but it has no token. Call \`await ctx.completionToken()\` first, and pass the token to the program that completes the step.`,
      )
    }
  }
}

function logOf(of: AttemptOf, { logger, settings }: WorkerContext): ActivityContext['log'] {
  const { runId, workflowId, key: step, attempt, trace } = of
  const about = (): object => ({ runId, step, attempt, workflowId, worker: settings.id, traceId: traceIdOf(trace) })
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields?: object): void =>
      logger.log(level, message, { ...about(), ...fields })
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
