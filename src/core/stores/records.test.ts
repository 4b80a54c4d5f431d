// Shared values under a bad network and dying processes: what was acknowledged is there, once.
import { describe, expect, test } from 'vitest'
import { badNetwork, type Faults } from '../../testing/faulty-store.ts'
import { Ledger } from '../../testing/ledger.ts'
import { SeededRandom } from '../../testing/seeded-random.ts'
import { type SharedStore, type SharedWorld, sharedMemory, sharedObjects } from '../../testing/shared-store.ts'
import { SimulatedProcess } from '../../testing/simulated-process.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { isUnavailable } from '../runtime/availability.ts'
import { sleep } from '../runtime/clock.ts'
import type { RecordOperation, RecordOutcome, Store } from './store.ts'

const SEEDS = 40
const PROCESSES = 4
const APPENDS = 6
const faults: Faults = { ...badNetwork, failBefore: 0.05, loseAnswer: 0.15, duplicate: 0.05 }

const stores: Record<string, (world: SharedWorld) => SharedStore> = {
  memory: (world) => sharedMemory(world, 'atomic'),
  objects: (world) => sharedObjects(world, { snapshotEvery: 4, archiveAt: 2, graceMs: 20_000 }),
}

/** A process that adds lines to a log in a record, each once, and sends again what got no answer. */
class Writer {
  readonly process: SimulatedProcess
  readonly #store: Store
  readonly #random: SeededRandom
  readonly acknowledged: string[] = []
  done = false

  constructor(process: SimulatedProcess, store: Store, random: SeededRandom) {
    this.process = process
    this.#store = store
    this.#random = random
  }

  async run(): Promise<void> {
    for (let n = 0; n < APPENDS; n++) {
      const line = `${this.process.name}:${n}`
      await this.#append(line)
      this.acknowledged.push(line)
      await sleep(this.process.clock, this.#random.below(200))
    }
    this.done = true
  }

  async #append(line: string): Promise<void> {
    const found = await this.#ask({ type: 'get', space: 's', key: 'log' })
    let there = 'record' in found ? found.record : undefined
    for (;;) {
      const lines = JSON.parse(there?.body ?? '[]') as string[]
      // Applied long ago, and others have written since.
      if (lines.includes(line)) return
      const body = JSON.stringify([...lines, line])
      const writeId = this.#random.integer()
      const version = there?.version ?? 0
      const out = await this.#ask({ type: 'put', space: 's', key: 'log', version, body, writeId })
      if (out.type === 'put' && out.outcome === 'applied') return
      there = 'record' in out ? out.record : undefined
    }
  }

  // The very same operation until there is an answer.
  async #ask(operation: RecordOperation): Promise<RecordOutcome> {
    for (;;) {
      try {
        const [out] = await this.#store.records([operation])
        if (out) return out
      } catch (error) {
        if (!isUnavailable(error)) throw error
        await sleep(this.process.clock, 1 + this.#random.below(50))
      }
    }
  }
}

async function simulate(make: (world: SharedWorld) => SharedStore, seed: number) {
  const clock = new VirtualClock()
  const random = new SeededRandom(seed)
  const shared = make({ clock, ledger: new Ledger(clock), faults })
  const writers = Array.from({ length: PROCESSES }, (_, n) => {
    const process = new SimulatedProcess(`p${n}`, clock)
    const store = shared.open(process, random.fork(`network ${n}`))
    return new Writer(process, store, random.fork(`writer ${n}`))
  })
  const failures: unknown[] = []
  for (const writer of writers) writer.run().catch((error: unknown) => failures.push(error))
  const [victim] = writers
  clock.after(random.below(1_000), () => victim?.process.kill())
  const others = writers.filter((writer) => writer !== victim)
  for (let ms = 0; ms < 600_000 && !others.every(({ done }) => done); ms += 100) await clock.advance(100)
  const record = shared.tables.records.get('s')?.get('log')
  return { writers, others, failures, record }
}

describe.each(Object.keys(stores))('records in %s', (name) => {
  test('INV15: every acknowledged change is there once, whatever got lost on the way', async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { writers, others, failures, record } = await simulate(stores[name] as never, seed)
      const context = `seed ${seed}`
      expect(failures, context).toEqual([])
      expect(
        others.every(({ done }) => done),
        context,
      ).toBe(true)
      const lines = JSON.parse(record?.body ?? '[]') as string[]
      expect(new Set(lines).size, context).toBe(lines.length)
      expect(record?.version, context).toBe(lines.length)
      for (const { acknowledged } of writers) expect(lines, context).toEqual(expect.arrayContaining(acknowledged))
    }
  })
})
