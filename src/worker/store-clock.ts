// What time it is for the store, as far as this process can tell. The store's clock rules leases and timers; its
// answers carry it, and in between this process counts on with a clock that never jumps.
import type { Instant } from '../kernel/event.ts'
import type { Clock } from '../runtime/clock.ts'

export class StoreClock {
  readonly #clock: Clock
  #base: Instant
  #since: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#base = clock.now()
    this.#since = clock.monotonic()
  }

  now(): Instant {
    return Math.floor(this.#base + (this.#clock.monotonic() - this.#since))
  }

  /** An answer said so. It was written a moment ago, so it is never ahead. */
  heard(now: Instant): void {
    this.#base = now
    this.#since = this.#clock.monotonic()
  }
}
