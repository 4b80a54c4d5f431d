// An engine on a remote bucket, in virtual time.

import { Registry } from '../../src/core/definitions/registry.ts'
import { Engine } from '../../src/engine.ts'
import { type AnyWorkflow } from '../../src/index.ts'
import { ObjectStore, type ObjectStoreOptions } from '../../src/stores/objects/store.ts'
import { MemoryBucket, MemoryObjects } from '../../src/testing/memory-bucket.ts'
import { SeededRandom } from '../../src/testing/seeded-random.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import { during, farBucket, Requests } from './far-bucket.ts'

export class FarWorld {
  readonly clock = new VirtualClock()
  readonly space = new MemoryObjects(this.clock)
  #engines = 0

  engine(
    workflows: readonly AnyWorkflow[],
    settings?: ObjectStoreOptions['settings'],
  ): { engine: Engine; requests: Requests; store: ObjectStore } {
    const { clock } = this
    const requests = new Requests()
    const random = new SeededRandom(++this.#engines)
    const bucket = farBucket(new MemoryBucket(this.space, clock), clock, requests)
    const store = new ObjectStore({ bucket, clock, random, ...(settings && { settings }) })
    const options = { build: 'far', logger: { log() {} } }
    const engine = new Engine(store, new Registry(workflows, []), options, { clock, random })
    return { engine, requests, store }
  }

  /** Lets time pass until the promise settles, and returns how long that took. */
  during<T>(promise: Promise<T>): Promise<{ value: T; ms: number }> {
    return during(this.clock, promise)
  }

  async pass(ms: number): Promise<void> {
    const end = this.clock.now() + ms
    for (let next = this.clock.next(); next !== undefined && next <= end; next = this.clock.next()) {
      await this.clock.advance(Math.max(0, next - this.clock.now()))
    }
    await this.clock.advance(Math.max(0, end - this.clock.now()))
  }
}
