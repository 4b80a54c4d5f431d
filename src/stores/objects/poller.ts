// Reads the log at intervals, to see what other processes have written. The interval is short after they have written,
// and doubles while they have not. A process that writes sees the end of the log anyway, and does not poll.
import { limits } from '../../core/base/limits.ts'
import type { Clock } from '../../core/runtime/clock.ts'
import type { Replica } from './replica.ts'

export class Poller {
  readonly #replica: Replica
  readonly #clock: Clock
  #cancel: (() => void) | undefined
  #pauseMs: number = limits.objectPollMsMin
  #isReading = false

  constructor(replica: Replica, clock: Clock) {
    this.#replica = replica
    this.#clock = clock
  }

  start(): void {
    if (!this.#cancel) this.#wait(this.#pauseMs)
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  /** Shortens the interval after another process has written, because more may follow. */
  advanced(own: boolean): void {
    if (own || this.#pauseMs === limits.objectPollMsMin) return
    this.#pauseMs = limits.objectPollMsMin
    if (this.#cancel && !this.#isReading) this.#wait(this.#pauseMs)
  }

  #wait(ms: number): void {
    this.#cancel?.()
    this.#cancel = this.#clock.after(ms, () => void this.#look())
  }

  async #look(): Promise<void> {
    const left = this.#pauseMs - this.#replica.ageMs
    if (left > 1) return this.#wait(left)
    this.#isReading = true
    this.#pauseMs = Math.min(this.#pauseMs * 2, limits.objectPollMsMax)
    // An outage is reported by the calls that need the bucket; the poller only tries again.
    await this.#replica.catchUp().catch(() => {})
    this.#isReading = false
    if (this.#cancel) this.#wait(this.#pauseMs)
  }
}
