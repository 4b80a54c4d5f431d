import type { Failure } from '../../base/failure.ts'
import type { ContinueRun, EndRun } from '../../kernel/command.ts'

/** How the code is left when it continues as new: not a failure, and nothing to be undone for. */
export class Continued extends Error {
  constructor() {
    super('the run continues as new. Do not catch this: let it end the function.')
  }
}

/** What the sagas of a run undo, and what they could not undo. */
export class Compensations {
  underWay = 0
  readonly failures: Failure[] = []

  /** How the run ends, with what could not be undone. */
  tell(ending: EndRun | ContinueRun): EndRun | ContinueRun {
    const isBad = ending.type === 'FailRun' || ending.type === 'CancelRun'
    if (this.failures.length === 0 || !isBad) return ending
    return { ...ending, undone: { failures: [...this.failures] } }
  }
}
