// `ctx.saga`: if its function fails or is cancelled, the compensations it registered run, newest first.

import { type Failure, failureOf } from '../../base/failure.ts'
import type { ContinueRun, EndRun } from '../../kernel/command.ts'
import { misuse } from './misuse.ts'

type Compensation = (ctx: CompensationContext) => Promise<unknown>

/** The context of compensations: a shield in the scope of the saga. */
interface CompensationContext {
  mark(type: 'BeginCompensation' | 'EndCompensation'): void
}

interface SagaContext {
  shield(fn: (ctx: CompensationContext) => Promise<unknown>): Promise<unknown>
}

export class Saga {
  readonly #compensations: Compensations
  readonly #undos: Compensation[] = []
  /** The context to compensate in. Set once the saga has failed. */
  #failed: SagaContext | undefined
  #isCompensating = false

  constructor(compensations: Compensations) {
    this.#compensations = compensations
  }

  /** A branch that is still running when the saga fails may add compensations: they run at once. */
  add(undo: unknown): void {
    if (typeof undo !== 'function')
      throw misuse('saga.compensate', 'a function', undo, 'saga.compensate(async (ctx) => …)')
    this.#undos.push(undo as Compensation)
    if (this.#failed) void this.#undo(this.#failed)
  }

  /** Compensates if the work fails or is cancelled, and then fails with the same error. */
  async run(context: SagaContext, work: Promise<unknown>): Promise<unknown> {
    try {
      return await work
    } catch (error) {
      if (error instanceof Continued) throw error
      this.#failed = context
      await this.#undo(context)
      throw error
    }
  }

  async #undo(context: SagaContext): Promise<void> {
    if (this.#isCompensating || this.#undos.length === 0) return
    this.#isCompensating = true
    await context.shield((ctx) => this.#compensate(ctx))
  }

  // A saga may lose a race and still be compensating: the run does not end before `inProgress` is back at zero.
  async #compensate(ctx: CompensationContext): Promise<void> {
    const compensations = this.#compensations
    compensations.inProgress++
    ctx.mark('BeginCompensation')
    for (let undo = this.#undos.pop(); undo; undo = this.#undos.pop()) {
      try {
        await undo(ctx)
      } catch (error) {
        compensations.failures.push(failureOf(error))
      }
    }
    this.#isCompensating = false
    ctx.mark('EndCompensation')
    compensations.inProgress--
  }
}

// What the sagas of one run have in common: how many are compensating, and which compensations failed.

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
