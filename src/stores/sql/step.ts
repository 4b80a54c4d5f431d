// What both databases say about a step that runs in a transaction of theirs.
import { PermanentError, RetryableError } from '../../core/base/errors.ts'
import type { StepOf } from '../../core/stores/driver.ts'

/** The note that says what a transaction came to. It becomes durable with what the transaction wrote. */
export const NOTE = 'transaction'

export function notUnderWay({ runId, generation, key }: StepOf): PermanentError {
  return new PermanentError(
    `run ${runId} is not under way in generation ${generation}, so '${key}' wrote nothing. It has ended or begun again, and nobody waits for this step.`,
  )
}

/** The body committed or rolled back by itself, or an error did it. */
export function endedInside({ key }: StepOf): PermanentError {
  return new PermanentError(
    `the transaction of '${key}' was over before its function was. Leave 'commit' and 'rollback' to pawl: return to commit, throw to roll back.`,
  )
}

/** Whoever still asks when the transaction is over has not waited for an answer. */
export function askedTooLate({ key }: StepOf): PermanentError {
  return new PermanentError(
    `the transaction of '${key}' is over. Await every query inside its function.`,
  )
}

export function tookTooLong({ key }: StepOf, ms: number): RetryableError {
  return new RetryableError(
    `the transaction of '${key}' was rolled back after ${ms} ms. A SQLite file has one writer at a time, and everybody else had to wait: do in it nothing but queries.`,
  )
}
