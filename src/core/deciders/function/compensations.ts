// What the sagas of one run have in common: how many are compensating, and which compensations failed.
import type { Failure } from '../../base/failure.ts'
import type { ContinueRun, EndRun } from '../../kernel/command.ts'

/**
 * Thrown by `ctx.continueAsNew` to leave the workflow function. It is not a failure, so sagas do not compensate for it.
 */
export class Continued extends Error {
  constructor() {
    super('the run continues as new. Do not catch this error: let it end the function.')
  }
}

export class Compensations {
  inProgress = 0
  readonly failures: Failure[] = []

  /** Adds the failed compensations to a failed or cancelled end. */
  tell(ending: EndRun | ContinueRun): EndRun | ContinueRun {
    const isBad = ending.type === 'FailRun' || ending.type === 'CancelRun'
    if (this.failures.length === 0 || !isBad) return ending
    return { ...ending, undone: { failures: [...this.failures] } }
  }
}
