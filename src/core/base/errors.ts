// The error classes users meet, and the failure as data that some of them carry.

import { nameClass } from './assert.ts'
import type { Duration } from './duration.ts'
import { withoutOwnFrames } from './frames.ts'
import type { Json } from './value.ts'

export { PawlError, type PawlErrorCode } from './assert.ts'

/** A failure as data: what is stored, and what every error carries. */
export interface Failure {
  /** The class name, or one of pawl's: Timeout, Terminated, DeterminismError … */
  readonly type: string
  readonly message: string
  readonly code?: string
  readonly retryable: boolean
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

/** From `ctx.run`: the activity was given up on. */
export class ActivityError extends Error {
  declare readonly failure: Failure
  readonly activity: string
  readonly attempts: number
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
  /** How the message names the run, if not by its id. */
  readonly what?: string
}

/** From `run.result()` and `ctx.child`: the run failed. */
export class RunError extends Error {
  declare readonly failure: Failure
  readonly runId: string
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

// An error that nobody catches is printed with all that it has: its cause is there already.
function keepShort(error: Error, fields: Readonly<Record<string, unknown>>): void {
  for (const [key, value] of Object.entries(fields)) {
    const enumerable = Array.isArray(value) && value.length > 0
    Object.defineProperty(error, key, { value, enumerable, writable: true, configurable: true })
  }
  error.stack = withoutOwnFrames(error.stack ?? '')
}

/** At an await inside a cancelled run or scope; from `run.result()` when it was cancelled. */
export class CancelledError extends Error {
  declare readonly reason?: string

  static {
    nameClass(this, 'CancelledError')
  }

  constructor(reason?: string, options?: ErrorOptions) {
    super(reason === undefined ? 'cancelled' : `cancelled: ${reason}`, options)
    if (reason !== undefined) this.reason = reason
  }
}

/** Thrown by handlers: try again, after this long if `after` says so. */
export class RetryableError extends Error {
  declare readonly after?: Duration

  static {
    nameClass(this, 'RetryableError')
  }

  constructor(message: string, options?: ErrorOptions & { readonly after?: Duration }) {
    super(message, options)
    if (options?.after !== undefined) this.after = options.after
  }
}

/** Thrown by handlers: never try again. */
export class PermanentError extends Error {
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
