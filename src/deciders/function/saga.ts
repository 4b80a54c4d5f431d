// A saga: steps that are undone if what they are part of does not come to a good end.
import { failureOf } from '../../kernel/failure.ts'
import type { Compensations } from './compensations.ts'
import { misuse } from './misuse.ts'

type Undo = (ctx: Undoing) => Promise<unknown>

/** Where undoing runs: in the scope of its saga, and shielded. */
interface Undoing {
  mark(type: 'BeginCompensation' | 'EndCompensation'): void
}

interface Shielding {
  shield(fn: (ctx: never) => Promise<unknown>): Promise<unknown>
}

export class Saga {
  readonly #compensations: Compensations
  readonly #undos: Undo[] = []

  constructor(compensations: Compensations) {
    this.#compensations = compensations
  }

  add(undo: unknown): void {
    if (typeof undo !== 'function') throw misuse('saga.compensate takes a function', undo)
    this.#undos.push(undo as Undo)
  }

  /** Undoes everything if the work fails or is cancelled, newest first; then it fails as it did. */
  async run(context: Shielding, work: Promise<unknown>): Promise<unknown> {
    try {
      return await work
    } catch (error) {
      if (this.#undos.length > 0) {
        await context.shield((ctx: Undoing) => this.#compensate(ctx))
      }
      throw error
    }
  }

  // Whoever won against it does not end the run before it has undone what it did.
  async #compensate(ctx: Undoing): Promise<void> {
    const compensations = this.#compensations
    compensations.underWay++
    ctx.mark('BeginCompensation')
    for (let undo = this.#undos.pop(); undo; undo = this.#undos.pop()) {
      try {
        await undo(ctx)
      } catch (error) {
        compensations.failures.push(failureOf(error))
      }
    }
    ctx.mark('EndCompensation')
    compensations.underWay--
  }
}
