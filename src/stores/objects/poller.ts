// Looks whether others have written, soon after they last did and ever more rarely while they do not. What this process
// writes tells it as much, so a busy one does not ask.
import { limits } from '../../core/base/limits.ts'
import type { Clock } from '../../core/runtime/clock.ts'
import type { Replica } from './replica.ts'

export class Poller {
  readonly #replica: Replica
  readonly #clock: Clock
  #cancel: (() => void) | undefined
  #pauseMs: number = limits.objectPollMsMin
  #asking = false

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

  /** Others are at work: there may be more to come. */
  advanced(own: boolean): void {
    if (own || this.#pauseMs === limits.objectPollMsMin) return
    this.#pauseMs = limits.objectPollMsMin
    if (this.#cancel && !this.#asking) this.#wait(this.#pauseMs)
  }

  #wait(ms: number): void {
    this.#cancel?.()
    this.#cancel = this.#clock.after(ms, () => void this.#look())
  }

  async #look(): Promise<void> {
    const left = this.#pauseMs - this.#replica.ageMs
    if (left > 1) return this.#wait(left)
    this.#asking = true
    this.#pauseMs = Math.min(this.#pauseMs * 2, limits.objectPollMsMax)
    // Whoever needs the bucket will hear that it cannot be reached; this only asks again.
    await this.#replica.catchUp().catch(() => {})
    this.#asking = false
    if (this.#cancel) this.#wait(this.#pauseMs)
  }
}
