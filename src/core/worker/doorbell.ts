// Wakes one waiting loop: when it is rung, or when the earliest time that was set has come. Rings that come while
// nobody waits are kept, as one.
import type { Clock } from '../runtime/clock.ts'

export class Doorbell {
  readonly #clock: Clock
  #rung = false
  #answer: (() => void) | undefined
  #alarmAt = Number.POSITIVE_INFINITY
  #callOff: () => void = () => {}

  constructor(clock: Clock) {
    this.#clock = clock
  }

  ring(): void {
    this.#rung = true
    this.#answer?.()
  }

  /** Rings after `ms` at the latest. */
  ringWithin(ms: number): void {
    const at = this.#clock.monotonic() + Math.max(0, ms)
    if (at >= this.#alarmAt) return
    this.#callOff()
    this.#alarmAt = at
    this.#callOff = this.#clock.after(ms, () => {
      this.#alarmAt = Number.POSITIVE_INFINITY
      this.ring()
    })
  }

  /** Resolves at the next ring. */
  async wait(): Promise<void> {
    if (!this.#rung) {
      await new Promise<void>((resolve) => {
        this.#answer = resolve
      })
    }
    this.#answer = undefined
    this.#rung = false
  }

  silence(): void {
    this.#callOff()
    this.#alarmAt = Number.POSITIVE_INFINITY
  }
}
