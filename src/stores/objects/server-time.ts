// Estimates the server's clock from the `Date` header of its responses. One response is imprecise: it has whole
// seconds, from some moment between request and response. Many responses narrow the range.

import { limits } from '../../core/base/limits.ts'
import type { Instant } from '../../core/base/time.ts'
import type { Clock } from '../../core/runtime/clock.ts'

/** The maximum drift between two working clocks, as a share of the time that passes. */
const DRIFT = 0.0002

/** How far the clocks of the machines behind one server name may be apart. */
const APART_MS = 25

/**
 * Returns `now`, but not before `last`, because readings of one clock differ a little. If `now` is far before `last`,
 * the storage's clock was set back, and `now` is used; otherwise time would stand still until that clock has caught up.
 */
export function notBefore(last: Instant, now: Instant): Instant {
  return now < last - limits.clockAheadMsMax ? now : Math.max(last, now)
}

/** The bounds of the server's time minus the local monotonic clock. */
interface Offset {
  readonly low: number
  readonly high: number
  /** The monotonic time of the last response. */
  readonly at: number
}

export class ServerTime {
  readonly #clock: Clock
  #offset: Offset | undefined
  #shown: Instant = Number.NEGATIVE_INFINITY

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Takes the `Date` header of a response that has just arrived to a request sent at `sentAt`. Ignores invalid dates.
   */
  heard(date: string | null | undefined, sentAt: number): void {
    const second = Date.parse(date ?? '')
    if (Number.isNaN(second)) return
    const at = this.#clock.monotonic()
    const low = second - APART_MS - at
    const high = second + 1_000 + APART_MS - sentAt
    const known = this.#widened(at)
    const both = known && { low: Math.max(known.low, low), high: Math.min(known.high, high), at }
    // The ranges do not overlap: the server's clock was set, or the local one stopped while the machine slept.
    this.#offset = both && both.low < both.high ? both : { low, high, at }
  }

  /** The estimated server time; the local time before the first response. It goes back only if the clock was set. */
  now(): Instant {
    this.#shown = notBefore(this.#shown, this.guess())
    return this.#shown
  }

  /** The estimated server time, which may also go back a little. */
  guess(): Instant {
    const at = this.#clock.monotonic()
    const offset = this.#widened(at)
    return offset ? Math.floor((offset.low + offset.high) / 2 + at) : this.#clock.now()
  }

  /** The maximum distance of `now()` from the server's time. */
  get uncertaintyMs(): number {
    const now = this.now()
    const at = this.#clock.monotonic()
    const offset = this.#widened(at)
    if (!offset) return Number.POSITIVE_INFINITY
    return Math.max(now - (offset.low + at), offset.high + at - now)
  }

  #widened(at: number): Offset | undefined {
    if (!this.#offset) return undefined
    const drifted = (at - this.#offset.at) * DRIFT
    return { low: this.#offset.low - drifted, high: this.#offset.high + drifted, at }
  }
}
