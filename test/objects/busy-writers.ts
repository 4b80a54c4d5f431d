// SIMULATOR of several processes that write to one bucket, in virtual time, with varying latencies.
import { ObjectStore } from '../../src/stores/objects/store.ts'
import { MemoryBucket, MemoryObjects } from '../../src/testing/memory-bucket.ts'
import { SeededRandom } from '../../src/testing/seeded-random.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import { during, farBucket, Requests } from './far-bucket.ts'

export interface Latency {
  readonly putMs: number
  readonly getMs: number
  /** The latency of a request varies by this share. */
  readonly jitter: number
}

export class BusyWorld {
  readonly clock = new VirtualClock()
  readonly space = new MemoryObjects(this.clock)
  readonly #latency: Latency
  readonly #random: SeededRandom
  #stores = 0
  #runs = 0

  constructor(latency: Latency, seed = 1) {
    this.#latency = latency
    this.#random = new SeededRandom(seed)
  }

  store(): { store: ObjectStore; requests: Requests } {
    const { clock } = this
    const requests = new Requests()
    const random = this.#random.fork(`store ${this.#stores++}`)
    const { putMs, getMs, jitter } = this.#latency
    const bucket = farBucket(
      new MemoryBucket(this.space, clock),
      clock,
      requests,
      (kind) => ((kind === 'put' ? putMs : getMs) / 2) * (1 - jitter + 2 * jitter * random.fraction()),
    )
    return { store: new ObjectStore({ bucket, clock, random, projects: false }), requests }
  }

  /** Creates runs, `atOnce` at the same time, until `isOver`, and returns their number. */
  async create(store: ObjectStore, atOnce: number, isOver: () => boolean): Promise<number> {
    let created = 0
    const lane = async (): Promise<void> => {
      while (!isOver()) {
        const runId = `01890000-0000-7000-8000-${(++this.#runs).toString(16).padStart(12, '0')}`
        const rest = { name: 'a', queue: 'default', priority: 0, input: '1', digest: 'd' }
        await store.create([{ runId, workflowId: runId, reuse: 'allow', delayMs: 1e9, ...rest }])
        created++
      }
    }
    await Promise.all(Array.from({ length: atOnce }, lane))
    return created
  }

  /** Lets time pass until the promise settles; throws if that takes longer than `msMax`. */
  during<T>(promise: Promise<T>, msMax: number): Promise<{ value: T; ms: number }> {
    return during(this.clock, promise, msMax)
  }
}
