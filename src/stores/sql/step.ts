// Errors of steps that run in a transaction of the database.
import { PermanentError, RetryableError } from '../../core/base/errors.ts'
import type { StepOf } from '../../core/stores/driver.ts'

/** The note with the result of a transaction. It becomes durable with what the transaction wrote. */
export const NOTE = 'transaction'

export function notInProgress({ runId, generation, key }: StepOf): PermanentError {
  return new PermanentError(
    `run ${runId} is not in progress in generation ${generation}, so '${key}' wrote nothing. ` +
      'It has ended or started again, and no longer waits for this step.',
  )
}

/** The body committed or rolled back by itself, or an error rolled back. */
export function endedInside({ key }: StepOf): PermanentError {
  return new PermanentError(
    `the transaction of '${key}' ended before its function did. ` +
      "Leave 'commit' and 'rollback' to pawl: return to commit, throw to roll back.",
  )
}

/** A query that comes after the end of the transaction was not awaited. */
export function askedTooLate({ key }: StepOf): PermanentError {
  return new PermanentError(`the transaction of '${key}' has ended. Await every query inside its function.`)
}

export function tookTooLong({ key }: StepOf, ms: number): RetryableError {
  return new RetryableError(
    `the transaction of '${key}' was rolled back after ${ms} ms. A SQLite file has one writer at a time, and all other ` +
      'writes had to wait: do nothing but queries in it.',
  )
}
