// A saga: steps that are undone if what they are part of does not come to a good end.
import { failureOf } from '../../kernel/failure.ts'
import type { FunctionContext } from './context.ts'
import type { FunctionExecution } from './execution.ts'
import { misuse } from './misuse.ts'

type Undo = (ctx: FunctionContext) => Promise<unknown>

export class Saga {
  readonly #execution: FunctionExecution
  readonly #undos: Undo[] = []

  constructor(execution: FunctionExecution) {
    this.#execution = execution
  }

  add(undo: unknown): void {
    if (typeof undo !== 'function') throw misuse('saga.compensate takes a function', undo)
    this.#undos.push(undo as Undo)
  }

  /** Undoes everything if the work fails or is cancelled, newest first; then it fails as it did. */
  async run(context: FunctionContext, work: Promise<unknown>): Promise<unknown> {
    try {
      return await work
    } catch (error) {
      if (this.#undos.length > 0) {
        const undo = (ctx: FunctionContext): Promise<void> => this.#compensate(ctx)
        await context.shield(undo as (ctx: never) => Promise<void>)
      }
      throw error
    }
  }

  // Whoever won against it does not end the run before it has undone what it did.
  async #compensate(ctx: FunctionContext): Promise<void> {
    this.#execution.compensations++
    ctx.mark('BeginCompensation')
    for (let undo = this.#undos.pop(); undo; undo = this.#undos.pop()) {
      try {
        await undo(ctx)
      } catch (error) {
        this.#execution.compensationFailures.push(failureOf(error))
      }
    }
    ctx.mark('EndCompensation')
    this.#execution.compensations--
  }
}
