// A process that can die. Its clock and what it guards are its only ways to the world; once it is dead, no timer of its
// own fires and no answer reaches it, as after `kill -9`. What it had already sent may still arrive.
import type { Instant } from '../core/base/instant.ts'
import type { Clock } from '../core/runtime/clock.ts'
import type { Store } from '../core/stores/store.ts'
import { wrapped } from '../core/stores/wrapped.ts'

export class SimulatedProcess {
  readonly name: string
  readonly clock: Clock
  #dead = false
  #frozenUntil: Instant = 0
  readonly #world: Clock

  /** `skewMs` is how far this machine's clock is off. */
  constructor(name: string, world: Clock, skewMs = 0) {
    this.name = name
    this.#world = world
    this.clock = {
      now: () => world.now() + skewMs,
      monotonic: () => world.monotonic(),
      after: (ms, fire) => this.#after(ms, fire),
      breathe: () => this.answer(world.breathe()),
    }
  }

  get dead(): boolean {
    return this.#dead
  }

  /** Stopped, or just about to find out that it was. */
  get frozen(): boolean {
    return this.#world.now() <= this.#frozenUntil
  }

  kill(): void {
    this.#dead = true
  }

  /** Stops the process for a while, as SIGSTOP does: the world goes on, and it does not notice. */
  freeze(ms: number): void {
    this.#frozenUntil = Math.max(this.#frozenUntil, this.#world.now() + ms)
  }

  #after(ms: number, fire: () => void): () => void {
    let cancel: () => void
    const arrive = (): void => {
      if (this.#dead) return
      const late = this.#frozenUntil - this.#world.now()
      if (late > 0) cancel = this.#world.after(late, arrive)
      else fire()
    }
    cancel = this.#world.after(ms, arrive)
    return () => cancel()
  }

  /** A promise that never settles once the process is dead, and waits while it is frozen. */
  answer<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const pass = (then: () => void): void => {
        if (this.#dead) return
        const late = this.#frozenUntil - this.#world.now()
        if (late > 0) this.#world.after(late, () => pass(then))
        else then()
      }
      promise.then(
        (value) => pass(() => resolve(value)),
        (error: unknown) => pass(() => reject(error)),
      )
    })
  }

  /** The store as this process reaches it. */
  guard(store: Store): Store {
    const guarded = wrapped(store, (_method, call) => (...args) => {
      return this.#dead ? new Promise(() => {}) : this.answer(call(...args))
    })
    return {
      ...guarded,
      wake: (listener) => store.wake((hint) => void (this.#dead || listener(hint))),
      close: async () => {},
    }
  }
}
