// How recently this process has seen the end of the log, and so whether a missing log object means an unused number.
//
// Log objects that a snapshot covers are deleted, but only after a grace period. A process that saw the end of the log
// within that time may conclude that a number without an object is new. Any other process must list snapshots first,
// because the number may have been used and deleted.
import type { Clock } from '../../core/runtime/clock.ts'

export interface Moment {
  readonly monotonic: number
  readonly wall: number
}

export class Freshness {
  readonly #clock: Clock
  readonly #graceMs: number
  #since: Moment | undefined

  constructor(clock: Clock, graceMs: number) {
    this.#clock = clock
    this.#graceMs = graceMs
  }

  /** The current moment. Take it before sending the request that sees the end of the log, and pass it to `renew`. */
  moment(): Moment {
    return { monotonic: this.#clock.monotonic(), wall: this.#clock.now() }
  }

  renew(asked: Moment): void {
    this.#since = asked
  }

  /** How long ago the end of the log was seen. It compares both clocks, because one may stop while a machine sleeps. */
  get ageMs(): number {
    if (!this.#since) return Number.POSITIVE_INFINITY
    const { monotonic, wall } = this.moment()
    return Math.max(monotonic - this.#since.monotonic, wall - this.#since.wall)
  }

  get holds(): boolean {
    return this.ageMs < this.#graceMs / 4
  }
}
