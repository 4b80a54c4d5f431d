// A process that can be killed or frozen. It reaches the world only through its clock and what `guard` and `answer`
// wrap. Once it is dead, none of its timers fires and no answer reaches it, as after `kill -9`. Calls it has already
// sent may still arrive.
import type { Instant } from '../core/base/time.ts'
import type { Clock } from '../core/runtime/clock.ts'
import type { Store } from '../core/stores/store.ts'
import { wrapped } from '../core/stores/wrapped.ts'

export class SimulatedProcess {
  readonly name: string
  readonly clock: Clock
  #dead = false
  #frozenUntil: Instant = 0
  readonly #world: Clock

  /** `skewMs` is the error of this machine's clock. */
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

  /** True while the process is frozen, and at the instant at which it resumes. */
  get frozen(): boolean {
    return this.#world.now() <= this.#frozenUntil
  }

  kill(): void {
    this.#dead = true
  }

  /**
   * Stops the process for a while, as SIGSTOP does: the rest of the world continues, and the process does not notice.
   */
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

  /** Wraps a promise: it settles after a freeze, and never once the process is dead. */
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
