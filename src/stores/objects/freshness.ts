// Since when it is certain that no number of the log was used and deleted without this process knowing.
//
// What a snapshot has made needless is deleted only after a time of grace. So whoever saw the end of the log less than
// that ago can believe that a number is new because there is no object for it; all others have to ask for snapshots.
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

  /** To be taken before the request that makes certain is sent. */
  moment(): Moment {
    return { monotonic: this.#clock.monotonic(), wall: this.#clock.now() }
  }

  renew(asked: Moment): void {
    this.#since = asked
  }

  /** How long ago the end of the log was seen. A machine that slept knows it from one of its two clocks. */
  get ageMs(): number {
    if (!this.#since) return Number.POSITIVE_INFINITY
    const { monotonic, wall } = this.moment()
    return Math.max(monotonic - this.#since.monotonic, wall - this.#since.wall)
  }

  get holds(): boolean {
    return this.ageMs < this.#graceMs / 4
  }
}
