// Held runs stay in the index where they were due, so a claim that starts at the beginning would pass all of them. Each
// answer says where the next claim of the same kind may start. At intervals a claim starts at the beginning, because a
// run may appear that became due long ago: one that was created in a transaction that took long.
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

  /** Where a claim may start, and a function that takes where the next may. */
  of(request: ClaimRequest): { readonly since: number; readonly learn: (since: number) => void } {
    const { queues, workflows, activities, build, pins, reconcile } = request
    const key = JSON.stringify([queues, workflows, activities, build, pins])
    const known = this.#known.get(key)
    const now = this.#clock.monotonic()
    const isFull = !known || reconcile === true || now - known.fullAt > limits.claimAllMs
    const fullAt = isFull ? now : known.fullAt
    const learn = (since: number): void => {
      // Kinds of requests are few. A process that has many forgets them all.
      if (this.#known.size > limits.batchElements) this.#known.clear()
      this.#known.set(key, { since, fullAt })
    }
    return { since: isFull ? 0 : known.since, learn }
  }
}
