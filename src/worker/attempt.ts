// One attempt at a step body: under its time limit, with a signal to stop by, ending in data and never in a throw.

import { running } from '../deciders/function/execution.ts'
import type { ActivityContext } from '../definitions/contract.ts'
import { type Failure, failureOf, retryAfter } from '../kernel/failure.ts'
import { encode, type Payload } from '../kernel/value.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'

export interface AttemptOf {
  readonly runId: string
  readonly workflowId: string
  readonly generation: number
  readonly key: string
  readonly name: string
  readonly attempt: number
  readonly maxAttempts: number
  readonly startToCloseMs?: number
}

export type AttemptResult =
  | { readonly ok: true; readonly value: Payload }
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

export function beginAttempt(
  of: AttemptOf,
  body: (context: ActivityContext) => unknown,
  ports: { readonly clock: Clock; readonly logger: Logger },
): Attempt {
  const stop = new LazyAbort()
  const context = contextOf(of, stop, ports.logger)
  const ended = running.run('step', () => call(of, body, context))
  const result = of.startToCloseMs === undefined ? ended : inTime(of, ended, stop, ports.clock)
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
    const retryAfterMs = retryAfter(error)
    return {
      ok: false,
      failure: failureOf(error),
      timedOut: false,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    }
  }
}

// A body that ignores its signal is left to itself: its attempt is over all the same.
function inTime(
  of: AttemptOf,
  ended: Promise<AttemptResult>,
  stop: LazyAbort,
  clock: Clock,
): Promise<AttemptResult> {
  const { attempt, name, startToCloseMs = 0 } = of
  const { promise, resolve } = Promise.withResolvers<AttemptResult>()
  const callOff = clock.after(startToCloseMs, () => {
    const message = `attempt ${attempt} of step '${name}' took longer than ${startToCloseMs} ms`
    const failure: Failure = { type: 'Timeout', message, code: 'START_TO_CLOSE', retryable: true }
    stop.abort(new Error(message))
    resolve({ ok: false, failure, timedOut: true })
  })
  return Promise.race([ended, promise]).finally(callOff)
}

function contextOf(of: AttemptOf, stop: LazyAbort, logger: Logger): ActivityContext {
  const { runId, workflowId, generation, key, attempt, maxAttempts } = of
  return {
    runId,
    workflowId,
    stepKey: key,
    idempotencyKey: `${runId}:${generation}:${key}`,
    attempt,
    maxAttempts,
    get signal() {
      return stop.signal
    },
    get log() {
      return logOf(of, logger)
    },
  }
}

function logOf({ runId, key, attempt }: AttemptOf, logger: Logger): ActivityContext['log'] {
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields?: object): void =>
      logger.log(level, message, { runId, step: key, attempt, ...fields })
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
