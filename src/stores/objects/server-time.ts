// The server's clock, from the `Date` of its answers. One answer says little: whole seconds, and only that they were
// so at some moment between sending and receiving. Many answers leave little room.

import type { Instant } from '../../core/base/instant.ts'
import { limits } from '../../core/base/limits.ts'
import type { Clock } from '../../core/runtime/clock.ts'

/** Two clocks that are both right for their makers part by at most this share of the time that passes. */
const DRIFT = 0.0002

/** The machines behind one name do not agree more closely than this. */
const APART_MS = 25

/**
 * The time now, and not before `last`: whoever tells it may be a little behind the one before. If it is far behind, the
 * storage's clock was set back, and it counts. Otherwise time would stand still until it has caught up.
 */
export function notBefore(last: Instant, now: Instant): Instant {
  return now < last - limits.clockAheadMsMax ? now : Math.max(last, now)
}

/** What is added to the local monotonic clock to get the server's time lies strictly between these. */
interface Offset {
  readonly low: number
  readonly high: number
  /** When, by the monotonic clock, this was known. */
  readonly at: number
}

export class ServerTime {
  readonly #clock: Clock
  #offset: Offset | undefined
  #shown: Instant = Number.NEGATIVE_INFINITY

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** An answer to what was sent at `sentAt` has come just now. `date` is its header; one that cannot be read says nothing. */
  heard(date: string | null | undefined, sentAt: number): void {
    const second = Date.parse(date ?? '')
    if (Number.isNaN(second)) return
    const at = this.#clock.monotonic()
    const low = second - APART_MS - at
    const high = second + 1_000 + APART_MS - sentAt
    const known = this.#widened(at)
    const both = known && { low: Math.max(known.low, low), high: Math.min(known.high, high), at }
    // Nothing in common: the server's clock was set, or ours stood still while the machine slept.
    this.#offset = both && both.low < both.high ? both : { low, high, at }
  }

  /** The best guess. It does not go back by little; before any answer it is the local time. */
  now(): Instant {
    this.#shown = notBefore(this.#shown, this.guess())
    return this.#shown
  }

  /** As `now`, but it may go back by little, too. */
  guess(): Instant {
    const at = this.#clock.monotonic()
    const offset = this.#widened(at)
    return offset ? Math.floor((offset.low + offset.high) / 2 + at) : this.#clock.now()
  }

  /** How far `now()` may be from the server's time. */
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
