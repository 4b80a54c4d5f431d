// The error classes that users see, and Failure, the data that some of them carry.

import { nameClass } from './assert.ts'
import { withoutOwnFrames } from './frames.ts'
import type { Duration } from './time.ts'
import type { Json } from './value.ts'

export { PawlError, type PawlErrorCode } from './assert.ts'

/** An error as data: how pawl stores it, and what `RunError` and `ActivityError` carry. */
export interface Failure {
  /** The class name of the error, or a type of pawl's own: `Timeout`, `Terminated`, `DeterminismError` and others. */
  readonly type: string
  readonly message: string
  /** The `code` of the error, if it had one: `'ECONNREFUSED'`, or a code of `PawlError`. */
  readonly code?: string
  /** Whether another attempt may succeed. */
  readonly retryable: boolean
  /** The `details` of the error, if it had some. */
  readonly details?: Json
  readonly stack?: string
  readonly cause?: Failure
}

export interface ActivityErrorFields {
  readonly failure: Failure
  readonly activity: string
  readonly attempts: number
  readonly reason: 'exhausted' | 'non-retryable' | 'timeout'
}

/** Thrown by `ctx.run`: the step failed, and is not attempted again. Its `cause` is the error of the last attempt. */
export class ActivityError extends Error {
  /** The error of the last attempt, as data. */
  declare readonly failure: Failure
  /** The name of the activity or step. */
  readonly activity: string
  /** How many attempts there were. */
  readonly attempts: number
  /** Why there is no further attempt. */
  readonly reason: ActivityErrorFields['reason']

  static {
    nameClass(this, 'ActivityError')
  }

  constructor(fields: ActivityErrorFields, options?: ErrorOptions) {
    super(activityMessage(fields), options)
    keepShort(this, { failure: fields.failure })
    this.activity = fields.activity
    this.attempts = fields.attempts
    this.reason = fields.reason
  }
}

export interface RunErrorFields {
  readonly failure: Failure
  readonly runId: string
  readonly compensationFailures?: readonly Failure[]
  /** How the message names the run. Default: by its id. */
  readonly what?: string
}

/** Thrown by `run.result()` and `ctx.child`: the run failed. Its `cause` is the error that failed it. */
export class RunError extends Error {
  /** The error that failed the run, as data. */
  declare readonly failure: Failure
  readonly runId: string
  /** Failures of compensations, which ran after the run had failed. */
  declare readonly compensationFailures: readonly Failure[]

  static {
    nameClass(this, 'RunError')
  }

  constructor(fields: RunErrorFields, options?: ErrorOptions) {
    const { failure, runId, compensationFailures = [], what = `run '${runId}'` } = fields
    super(`${what} failed: ${summary(failure)}`, options)
    this.runId = runId
    keepShort(this, { failure, compensationFailures })
  }
}

// Node prints every enumerable property of an uncaught error. The failure repeats the cause, so it is not enumerable.
function keepShort(error: Error, fields: Readonly<Record<string, unknown>>): void {
  for (const [key, value] of Object.entries(fields)) {
    const enumerable = Array.isArray(value) && value.length > 0
    Object.defineProperty(error, key, { value, enumerable, writable: true, configurable: true })
  }
  error.stack = withoutOwnFrames(error.stack ?? '')
}

/** Thrown by every `await` of a durable call in a cancelled run or scope, and by `run.result()` of a cancelled run. */
export class CancelledError extends Error {
  /** The reason that the caller of `cancel` gave. */
  declare readonly reason?: string

  static {
    nameClass(this, 'CancelledError')
  }

  constructor(reason?: string, options?: ErrorOptions) {
    super(reason === undefined ? 'cancelled' : `cancelled: ${reason}`, options)
    if (reason !== undefined) this.reason = reason
  }
}

/**
 * Throw it in an activity to choose when the next attempt starts. The retry policy still limits the attempts.
 *
 * ```ts
 * throw new RetryableError('rate limited', { after: '30s' })
 * ```
 */
export class RetryableError extends Error {
  /** The pause before the next attempt. Default: the backoff of the retry policy. */
  declare readonly after?: Duration

  static {
    nameClass(this, 'RetryableError')
  }

  constructor(message: string, options?: ErrorOptions & { readonly after?: Duration }) {
    super(message, options)
    if (options?.after !== undefined) this.after = options.after
  }
}

/**
 * Throw it in an activity for a failure that another attempt would only repeat: the step fails at once.
 *
 * ```ts
 * throw new PermanentError('card declined', { details: { code: 'insufficient_funds' } })
 * ```
 */
export class PermanentError extends Error {
  /** Data for the code that handles the failure: `failure.details`. */
  declare readonly details?: unknown

  static {
    nameClass(this, 'PermanentError')
  }

  constructor(message: string, options?: ErrorOptions & { readonly details?: unknown }) {
    super(message, options)
    if (options?.details !== undefined) this.details = options.details
  }
}

function activityMessage({ activity, attempts, reason, failure }: ActivityErrorFields): string {
  const tries = attempts === 1 ? '1 attempt' : `${attempts} attempts`
  return `activity '${activity}' failed after ${tries} (${reason}): ${summary(failure)}`
}

function summary(failure: Failure): string {
  return `${failure.type}: ${failure.message}`
}
