// A saga: steps that are undone if what they are part of does not come to a good end.
import { failureOf } from '../../base/failure.ts'
import { type Compensations, Continued } from './compensations.ts'
import { misuse } from './misuse.ts'

type Undo = (ctx: Undoing) => Promise<unknown>

/** Where undoing runs: in the scope of its saga, and shielded. */
interface Undoing {
  mark(type: 'BeginCompensation' | 'EndCompensation'): void
}

interface Shielding {
  shield(fn: (ctx: Undoing) => Promise<unknown>): Promise<unknown>
}

export class Saga {
  readonly #compensations: Compensations
  readonly #undos: Undo[] = []
  /** Where to undo, since it has failed. */
  #failed: Shielding | undefined
  #isUndoing = false

  constructor(compensations: Compensations) {
    this.#compensations = compensations
  }

  /** What goes on beside that which failed may still be done: it is undone at once. */
  add(undo: unknown): void {
    if (typeof undo !== 'function') throw misuse('saga.compensate takes a function', undo)
    this.#undos.push(undo as Undo)
    if (this.#failed) void this.#undo(this.#failed)
  }

  /** Undoes everything if the work fails or is cancelled, newest first; then it fails as it did. */
  async run(context: Shielding, work: Promise<unknown>): Promise<unknown> {
    try {
      return await work
    } catch (error) {
      if (error instanceof Continued) throw error
      this.#failed = context
      await this.#undo(context)
      throw error
    }
  }

  async #undo(context: Shielding): Promise<void> {
    if (this.#isUndoing || this.#undos.length === 0) return
    this.#isUndoing = true
    await context.shield((ctx) => this.#compensate(ctx))
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
    this.#isUndoing = false
    ctx.mark('EndCompensation')
    compensations.underWay--
  }
}
