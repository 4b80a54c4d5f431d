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
    const resume = this.#resume
    this.#isWoken = true
    this.#resume = undefined
    resume?.()
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
    this.#isWoken = false
  }

  /** Resolves at the next wake, after `ms` at the latest. A wake that came before this call does not count. */
  sleep(ms: number): Promise<void> {
    if (ms < Number.POSITIVE_INFINITY) this.wakeWithin(ms)
    return new Promise((resolve) => {
      this.#resume = () => {
        this.stop()
        resolve()
      }
    })
  }

  /** Forgets the time that was set. */
  stop(): void {
    if (this.#timerAt === Number.POSITIVE_INFINITY) return
    this.#stopTimer()
    this.#timerAt = Number.POSITIVE_INFINITY
  }
}
