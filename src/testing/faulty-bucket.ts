// SIMULATOR of a bad network to a bucket: requests are late, get lost, lose their answers, or arrive long after their
// sender has given up.
import { unavailable } from '../core/runtime/availability.ts'
import { type Clock, sleep } from '../core/runtime/clock.ts'
import type { Bucket } from '../stores/objects/bucket.ts'
import type { Faults } from './faulty-store.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { SimulatedProcess } from './simulated-process.ts'

/** Wraps each call that a process sends. */
export type Around = <T>(process: SimulatedProcess, call: () => Promise<T>) => Promise<T>

/** The maximum delay of a request that its sender has given up. */
const LATE_MS_MAX = 3_000

export class FaultyBucket {
  readonly #inner: Bucket
  readonly #clock: Clock
  readonly #random: SeededRandom
  readonly #faults: () => Faults
  readonly #trouble: () => Error | undefined

  constructor(
    inner: Bucket,
    clock: Clock,
    random: SeededRandom,
    faults: () => Faults,
    trouble: () => Error | undefined = () => undefined,
  ) {
    this.#trouble = trouble
    this.#inner = inner
    this.#clock = clock
    this.#random = random
    this.#faults = faults
  }

  /** The bucket as a process reaches it, until the process dies. */
  within(process: SimulatedProcess, around: Around): Bucket {
    const inner = this.#inner
    const send = <T>(call: () => Promise<T>): Promise<T> =>
      process.dead ? new Promise(() => {}) : process.answer(around(process, () => this.#send(call)))
    return {
      name: inner.name,
      now: () => inner.now(),
      create: (key, body) => send(() => inner.create(key, body)),
      put: (key, body) => send(() => inner.put(key, body)),
      get: (key, range) => send(() => inner.get(key, range)),
      list: (prefix, page) => send(() => inner.list(prefix, page)),
      delete: (keys) => send(() => inner.delete(keys)),
      close: async () => {},
    }
  }

  async #send<T>(call: () => Promise<T>): Promise<T> {
    const { failBefore, loseAnswer, duplicate } = this.#faults()
    await this.#travel()
    if (this.#random.chance(failBefore)) {
      // The sender gives up, but the request may still arrive.
      if (this.#random.chance(0.5)) this.#later(call)
      throw unavailable('simulated network', new Error('no answer in time'))
    }
    const trouble = this.#trouble()
    if (trouble) throw trouble
    const out = await call()
    if (this.#random.chance(duplicate)) this.#later(call)
    const noAnswer = this.#random.chance(loseAnswer)
    await this.#travel()
    if (noAnswer) throw unavailable('simulated network', new Error('the answer was lost'))
    return out
  }

  #later(call: () => Promise<unknown>): void {
    void sleep(this.#clock, this.#random.below(LATE_MS_MAX)).then(call, () => {})
  }

  async #travel(): Promise<void> {
    const { delayMsMax } = this.#faults()
    if (delayMsMax === 0) return
    const slow = this.#random.chance(0.02) ? 10 : 1
    await sleep(this.#clock, this.#random.below(delayMsMax * slow))
  }
}
