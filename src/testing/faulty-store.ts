// A store behind a bad network. Every call may be late, fail on the way there, be carried out and lose its answer on
// the way back, or arrive twice. Hints may be lost. All of it from one seed.
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
   * Milliseconds a call takes each way, at most; now and then ten times that, and once in a while so late
   * that everybody has given up on it.
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
  /** May be changed while it runs: faults begin, and stop. */
  faults: Faults
  /** While there is one, every call fails with an error that it makes. */
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

function lost(method: string, what: string): Error {
  return unavailable(`simulated network: ${method}`, new Error(what))
}
