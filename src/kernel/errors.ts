// The error classes users meet, and the failure as data that some of them carry.

import { nameClass } from './assert.ts'
import type { Duration } from './duration.ts'
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
  readonly reason: 'exhausted' | 'non-retryable' | 'timeout' | 'breaker'
}

/** From `ctx.run`: the activity was given up on. */
export class ActivityError extends Error {
  readonly failure: Failure
  readonly activity: string
  readonly attempts: number
  readonly reason: ActivityErrorFields['reason']

  static {
    nameClass(this, 'ActivityError')
  }

  constructor(fields: ActivityErrorFields, options?: ErrorOptions) {
    super(activityMessage(fields), options)
    this.failure = fields.failure
    this.activity = fields.activity
    this.attempts = fields.attempts
    this.reason = fields.reason
  }
}

export interface RunErrorFields {
  readonly failure: Failure
  readonly runId: string
  readonly compensationFailures?: readonly Failure[]
}

/** From `run.result()` and `ctx.child`: the run failed. */
export class RunError extends Error {
  readonly failure: Failure
  readonly runId: string
  readonly compensationFailures: readonly Failure[]

  static {
    nameClass(this, 'RunError')
  }

  constructor(fields: RunErrorFields, options?: ErrorOptions) {
    super(`run '${fields.runId}' failed: ${summary(fields.failure)}`, options)
    this.failure = fields.failure
    this.runId = fields.runId
    this.compensationFailures = fields.compensationFailures ?? []
  }
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
