// Runs that are held stay in the index where they were due, so a claim that begins at the start passes by all of them. Each
// answer says from where on the next claim of the same kind has to look; now and then one looks at everything, because a
// run may come to light that became due long ago: one that was created in a transaction that took its time.
import { limits } from '../../core/base/limits.ts'
import type { Clock } from '../../core/runtime/clock.ts'
import type { ClaimRequest } from '../../core/stores/driver.ts'

interface Known {
  readonly since: number
  readonly fullAt: number
}

export class Since {
  readonly #clock: Clock
  readonly #known = new Map<string, Known>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** From where on to look, and who to tell the answer's own idea of it. */
  of(request: ClaimRequest): { readonly since: number; readonly learn: (since: number) => void } {
    const { queues, workflows, activities, build, pins, reconcile } = request
    const key = JSON.stringify([queues, workflows, activities, build, pins])
    const known = this.#known.get(key)
    const now = this.#clock.monotonic()
    const isFull = !known || reconcile === true || now - known.fullAt > limits.claimAllMs
    const fullAt = isFull ? now : known.fullAt
    const learn = (since: number): void => {
      // Kinds of requests are few; a process that has many begins anew.
      if (this.#known.size > limits.batchElements) this.#known.clear()
      this.#known.set(key, { since, fullAt })
    }
    return { since: isFull ? 0 : known.since, learn }
  }
}
