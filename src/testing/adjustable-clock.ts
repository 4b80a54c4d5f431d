// A clock that can be set forwards and backwards, as administrators and time servers do. Only the time of day jumps;
// the monotonic clock and timers do not.
import type { Instant } from '../core/base/time.ts'
import type { Clock } from '../core/runtime/clock.ts'

export class AdjustableClock implements Clock {
  readonly #world: Clock
  #offset = 0
  /** The largest offset it ever had. */
  #ahead = 0

  constructor(world: Clock) {
    this.#world = world
  }

  now(): Instant {
    return this.#world.now() + this.#offset
  }

  monotonic(): number {
    return this.#world.monotonic()
  }

  after(ms: number, fire: () => void): () => void {
    return this.#world.after(ms, fire)
  }

  breathe(): Promise<void> {
    return this.#world.breathe()
  }

  /** The time it would show now if it had never been set back. */
  get latest(): Instant {
    return this.#world.now() + this.#ahead
  }

  get offset(): number {
    return this.#offset
  }

  /** Sets it `offset` milliseconds ahead of the true time. */
  set(offset: number): void {
    this.#offset = offset
    this.#ahead = Math.max(this.#ahead, offset)
  }

  /** Sets it so that no time it has shown is in the future. */
  correct(): void {
    this.set(this.#ahead)
  }
}
