// One attempt at a step body: under its time limit, with a signal to stop by, ending in data and never in a throw.

import { PermanentError } from '../base/errors.ts'
import { type Failure, failureOf, retryAfter } from '../base/failure.ts'
import type { Instant } from '../base/instant.ts'
import { encode, type Payload } from '../base/value.ts'
import { running } from '../deciders/function/execution.ts'
import type { ActivityClient, ActivityContext } from '../definitions/contract.ts'
import { makeStepToken } from '../kernel/webhook.ts'
import { isUnlimited } from '../policies/retry.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { StepNotes } from './step-notes.ts'

export interface AttemptOf {
  readonly runId: string
  readonly workflowId: string
  readonly generation: number
  /** The generation that the idempotency key names. */
  readonly keysOf?: number | undefined
  readonly key: string
  readonly name: string
  readonly attempt: number
  readonly maxAttempts: number
  readonly startToCloseMs?: number
  readonly heartbeatMs?: number
  /** When all attempts together must have ended. */
  readonly closeBy?: Instant
}

export type AttemptResult =
  | { readonly ok: true; readonly value: Payload }
  /** Whoever has its token completes it. */
  | { readonly ok: 'later' }
  | {
      readonly ok: false
      readonly failure: Failure
      readonly timedOut: boolean
      readonly retryAfterMs?: number
    }

export interface Attempt {
  /** Never rejects. Does not resolve after `abort`, unless the body had ended before. */
  readonly result: Promise<AttemptResult>
  abort(reason: Error): void
}

export interface AttemptPorts {
  readonly clock: Clock
  readonly logger: Logger
  now(): Instant
  /** The build of this worker, as people name it. */
  readonly build: string
  /** What a body does with other runs, under the idempotency key of its step. */
  clientFor(key: string): ActivityClient
  /** Resolves when the step is recorded, so that what is said about it from outside is not lost. */
  recorded(): Promise<void>
}

export function beginAttempt(
  of: AttemptOf,
  body: (context: ActivityContext) => unknown,
  notes: StepNotes,
  ports: AttemptPorts,
): Attempt {
  const stop = new LazyAbort()
  const context = new StepContext(of, stop, notes, ports)
  const ended = running.run('step', () => call(of, body, context))
  const isLimited = (of.startToCloseMs ?? of.heartbeatMs ?? of.closeBy) !== undefined
  const result = isLimited ? new TimeLimits(of, stop, notes, ports).hold(ended) : ended
  return { result, abort: (reason) => stop.abort(reason) }
}

/** An abort signal that is made when somebody looks at it: most bodies never do. */
class LazyAbort {
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

async function call(
  of: AttemptOf,
  body: (context: ActivityContext) => unknown,
  context: ActivityContext,
): Promise<AttemptResult> {
  try {
    const value = await body(context)
    return { ok: true, value: encode(value, `the result of step '${of.name}'`) }
  } catch (error) {
    if (error instanceof CompletedLater) return { ok: 'later' }
    const retryAfterMs = retryAfter(error)
    return {
      ok: false,
      failure: failureOf(error),
      timedOut: false,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    }
  }
}

// The limits an attempt runs under. A body that ignores its signal is left to itself: its attempt is over all the same.
class TimeLimits {
  readonly #of: AttemptOf
  readonly #stop: LazyAbort
  readonly #notes: StepNotes
  readonly #clock: Clock
  readonly #closeInMs: number | undefined

  constructor(of: AttemptOf, stop: LazyAbort, notes: StepNotes, ports: AttemptPorts) {
    this.#of = of
    this.#stop = stop
    this.#notes = notes
    this.#clock = ports.clock
    this.#closeInMs = of.closeBy === undefined ? undefined : Math.max(0, of.closeBy - ports.now())
  }

  hold(ended: Promise<AttemptResult>): Promise<AttemptResult> {
    const { startToCloseMs, heartbeatMs } = this.#of
    const { promise, resolve } = Promise.withResolvers<AttemptResult>()
    const calledOff: (() => void)[] = []
    const limit = (ms: number | undefined, code: string, what: string): void => {
      if (ms === undefined) return
      calledOff.push(this.#clock.after(ms, () => resolve(this.#timedOut(code, `${what} ${ms} ms`))))
    }
    limit(startToCloseMs, 'START_TO_CLOSE', 'took longer than')
    limit(this.#closeInMs, 'SCHEDULE_TO_CLOSE', 'was the last in time, and took longer than')
    if (heartbeatMs !== undefined) {
      let silence = (): void => {}
      this.#notes.onBeat = () => {
        silence()
        const what = `gave no sign of life for ${heartbeatMs} ms`
        silence = this.#clock.after(heartbeatMs, () => resolve(this.#timedOut('HEARTBEAT', what)))
      }
      this.#notes.onBeat()
      calledOff.push(() => {
        this.#notes.onBeat = () => {}
        silence()
      })
    }
    return Promise.race([ended, promise]).finally(() => {
      for (const callOff of calledOff) callOff()
    })
  }

  #timedOut(code: string, what: string): AttemptResult {
    const { attempt, name } = this.#of
    const message = `attempt ${attempt} of step '${name}' ${what}`
    const failure: Failure = { type: 'Timeout', message, code, retryable: true }
    this.#stop.abort(new Error(message))
    return { ok: false, failure, timedOut: true }
  }
}

/** How a body says that its result comes from outside. */
class CompletedLater extends Error {
  override readonly message = 'the step is completed from outside. Let this error leave the body.'
}

// What most bodies never look at is made when they do; each piece works on its own, however it was taken out.
class StepContext implements ActivityContext {
  readonly runId: string
  readonly workflowId: string
  readonly stepKey: string
  readonly attempt: number
  readonly maxAttempts: number
  readonly build: string
  readonly #of: AttemptOf
  readonly #stop: LazyAbort
  readonly #notes: StepNotes
  readonly #ports: AttemptPorts
  #client: ActivityClient | undefined

  constructor(of: AttemptOf, stop: LazyAbort, notes: StepNotes, ports: AttemptPorts) {
    this.runId = of.runId
    this.workflowId = of.workflowId
    this.stepKey = of.key
    this.attempt = of.attempt
    this.maxAttempts = isUnlimited(of.maxAttempts) ? Number.POSITIVE_INFINITY : of.maxAttempts
    this.build = ports.build
    this.#of = of
    this.#stop = stop
    this.#notes = notes
    this.#ports = ports
  }

  get idempotencyKey(): string {
    const { runId, keysOf, generation, key } = this.#of
    return `${runId}:${keysOf ?? generation}:${key}`
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  get log(): ActivityContext['log'] {
    return logOf(this.#of, this.#ports.logger)
  }

  get client(): ActivityClient {
    this.#client ??= this.#ports.clientFor(this.idempotencyKey)
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

  get completionToken(): ActivityContext['completionToken'] {
    return async () => {
      const { runId, generation, key } = this.#of
      const secret = await this.#notes.secret()
      await this.#ports.recorded()
      return makeStepToken({ runId, generation, key, secret })
    }
  }

  get completeLater(): ActivityContext['completeLater'] {
    return () => {
      if (this.#notes.hasSecret) throw new CompletedLater()
      const message = `step '${this.#of.name}' was left to be completed from outside, and nobody has its token. Call \`await ctx.completionToken()\` first, and hand it to whoever completes the step.`
      throw new PermanentError(message)
    }
  }
}

function logOf({ runId, key, attempt }: AttemptOf, logger: Logger): ActivityContext['log'] {
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields?: object): void =>
      logger.log(level, message, { runId, step: key, attempt, ...fields })
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
