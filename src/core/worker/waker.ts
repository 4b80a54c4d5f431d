// Wakes one waiting loop: when `wake` is called, or when the earliest time that was set has come.
import type { Clock } from '../runtime/clock.ts'

export class Waker {
  readonly #clock: Clock
  #isWoken = false
  #resume: (() => void) | undefined
  #timerAt = Number.POSITIVE_INFINITY
  #stopTimer: () => void = () => {}

  constructor(clock: Clock) {
    this.#clock = clock
  }

  wake(): void {
    this.#isWoken = true
    this.#resume?.()
  }

  /** Wakes after `ms` at the latest. */
  wakeWithin(ms: number): void {
    const at = this.#clock.monotonic() + Math.max(0, ms)
    if (at >= this.#timerAt) return
    this.#stopTimer()
    this.#timerAt = at
    this.#stopTimer = this.#clock.after(ms, () => {
      this.#timerAt = Number.POSITIVE_INFINITY
      this.wake()
    })
  }

  /** Resolves at the next wake. One that came before this call counts. */
  async wait(): Promise<void> {
    if (!this.#isWoken) {
      await new Promise<void>((resolve) => {
        this.#resume = resolve
      })
    }
    this.#resume = undefined
    this.#isWoken = false
  }

  /** Resolves at the next wake, after `ms` at the latest. A wake that came before this call does not count. */
  async sleep(ms: number): Promise<void> {
    this.#isWoken = false
    this.wakeWithin(ms)
    await this.wait()
    this.stop()
  }

  /** Forgets the time that was set. */
  stop(): void {
    this.#stopTimer()
    this.#timerAt = Number.POSITIVE_INFINITY
  }
}
