// A clock that somebody sets, forwards and backwards, as administrators and time servers do. Only its time of day jumps:
// what measures durations goes on.
import type { Instant } from '../core/base/instant.ts'
import type { Clock } from '../core/runtime/clock.ts'

export class AdjustableClock implements Clock {
  readonly #world: Clock
  #offset = 0
  /** The most it was ever ahead. */
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

  /** What it would show now if nobody had ever set it back. */
  get latest(): Instant {
    return this.#world.now() + this.#ahead
  }

  get offset(): number {
    return this.#offset
  }

  /** Sets it so many milliseconds off the true time. */
  set(offset: number): void {
    this.#offset = offset
    this.#ahead = Math.max(this.#ahead, offset)
  }

  /** Sets it so that no time it has shown lies ahead. */
  correct(): void {
    this.set(this.#ahead)
  }
}
