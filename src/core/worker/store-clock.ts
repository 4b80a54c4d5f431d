// The store's time, as far as this process can tell. Leases and timers depend on the store's clock. Its answers carry
// it, and between them this process counts with a clock that never jumps.
//
// An answer was written between its request and its arrival, so each one gives bounds for the difference of the two
// clocks. The lower bound is used: a time that has surely come. An answer that is read late only has wider bounds, and
// takes nothing back. Two ranges that do not meet show that the store's clock was set.

import { limits } from '../base/limits.ts'
import type { Instant } from '../base/time.ts'
import type { Clock } from '../runtime/clock.ts'

export class StoreClock {
  readonly #clock: Clock
  readonly #onJump: () => void
  /** How far the store's clock is ahead of the monotonic one: at least, and at most. */
  #low: number
  #high: number
  #isKnown = false

  constructor(clock: Clock, onJump: () => void = () => {}) {
    this.#clock = clock
    this.#onJump = onJump
    this.#low = clock.now() - clock.monotonic()
    this.#high = this.#low
  }

  now(): Instant {
    return Math.floor(this.#low + this.#clock.monotonic())
  }

  /** An answer has this time. Its request was sent at `sent` by the monotonic clock. */
  heard(now: Instant, sent: number): void {
    const arrived = this.#clock.monotonic()
    const [low, high] = [now - arrived, now - sent]
    const { clockStepMs } = limits
    const jumped = low > this.#high + clockStepMs || high < this.#low - clockStepMs
    if (!this.#isKnown || jumped) {
      this.#isKnown = true
      this.#low = low
      this.#high = high
      return this.#onJump()
    }
    // A clock that is a little fast or slow drifts out of earlier bounds.
    if (low > this.#high) this.#high = high
    else if (high < this.#low) this.#low = high
    this.#low = Math.max(this.#low, low)
    this.#high = Math.max(this.#low, Math.min(this.#high, high))
  }
}
