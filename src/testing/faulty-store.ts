// A store behind a bad network: a call may be late, fail on the way, be carried out but lose its answer, or arrive
// twice. Hints may be lost. All faults are drawn from one seed.
import { unavailable } from '../core/runtime/availability.ts'
import { type Clock, sleep } from '../core/runtime/clock.ts'
import type { Store } from '../core/stores/store.ts'
import { wrapped } from '../core/stores/wrapped.ts'
import type { SeededRandom } from './seeded-random.ts'

export interface Faults {
  /** Probabilities per call. */
  readonly failBefore: number
  readonly loseAnswer: number
  readonly duplicate: number
  readonly loseHint: number
  /**
   * The maximum delay each way in milliseconds; some calls take ten times that, and few so long that the caller gives
   * up.
   */
  readonly delayMsMax: number
}

export const noFaults: Faults = {
  failBefore: 0,
  loseAnswer: 0,
  duplicate: 0,
  loseHint: 0,
  delayMsMax: 0,
}

export const badNetwork: Faults = {
  failBefore: 0.02,
  loseAnswer: 0.03,
  duplicate: 0.01,
  loseHint: 0.2,
  delayMsMax: 8,
}

export class FaultyStore {
  /** May be changed while the store is in use. */
  faults: Faults
  /** While it returns an error, every call fails with it. */
  readonly #trouble: () => Error | undefined
  readonly store: Store
  readonly #clock: Clock
  readonly #random: SeededRandom

  constructor(
    inner: Store,
    clock: Clock,
    random: SeededRandom,
    faults: Faults,
    trouble: () => Error | undefined = () => undefined,
  ) {
    this.faults = faults
    this.#trouble = trouble
    this.#clock = clock
    this.#random = random
    this.store = this.#wrap(inner)
  }

  async #travel(): Promise<void> {
    const { delayMsMax } = this.faults
    if (delayMsMax === 0) return
    const slow = this.#random.chance(0.02) ? (this.#random.chance(0.1) ? 200 : 10) : 1
    await sleep(this.#clock, this.#random.below(delayMsMax * slow))
  }

  #unreliable<Args extends unknown[], Out>(
    method: string,
    call: (...args: Args) => Promise<Out>,
  ): (...args: Args) => Promise<Out> {
    return async (...args) => {
      await this.#travel()
      if (this.#random.chance(this.faults.failBefore)) throw lost(method, 'did not arrive')
      const trouble = this.#trouble()
      if (trouble) throw trouble
      const out = await call(...args)
      if (this.#random.chance(this.faults.duplicate)) {
        void this.#travel().then(() => call(...args).catch(() => {}))
      }
      const noAnswer = this.#random.chance(this.faults.loseAnswer)
      await this.#travel()
      if (noAnswer) throw lost(method, 'got no answer')
      return out
    }
  }

  #wrap(inner: Store): Store {
    return wrapped(inner, (method, call) => this.#unreliable(method, call), {
      wake: (listener) =>
        inner.wake((hint) => {
          if (!this.#random.chance(this.faults.loseHint)) listener(hint)
        }),
      close: async () => {},
    })
  }
}

/** The error for a call that did not arrive, or whose answer was lost. */
export function lost(method: string, what: string): Error {
  return unavailable(`simulated network: ${method}`, new Error(what))
}
