// A store that many simulated processes share, and a view of what is really in it.
import type { Clock } from '../runtime/clock.ts'
import { MemoryDatabase, MemoryStore } from '../stores/memory/store.ts'
import type { CompactorSettings } from '../stores/objects/compactor.ts'
import { decodeEntry } from '../stores/objects/format.ts'
import { LOG } from '../stores/objects/layout.ts'
import { ObjectStore } from '../stores/objects/store.ts'
import { Tables } from '../stores/rows/tables.ts'
import type { Store } from '../stores/store.ts'
import { wrapped } from '../stores/wrapped.ts'
import { type Around, FaultyBucket } from './faulty-bucket.ts'
import { type Faults, FaultyStore, noFaults } from './faulty-store.ts'
import type { Ledger } from './ledger.ts'
import { ObjectSpace, SpaceBucket } from './object-space.ts'
import type { MortalProcess } from './process.ts'
import type { SeededRandom } from './seeded-random.ts'

export interface SharedWorld {
  readonly clock: Clock
  readonly ledger: Ledger
  readonly faults: Faults
  /** Around everything that travels from a process to what is shared. */
  readonly around?: Around
}

export interface SharedStore {
  /** A process's own access to it, over a network of its own. */
  open(process: MortalProcess, random: SeededRandom): Store
  readonly tables: Tables
  /** From now on nothing goes wrong on the way. */
  calm(): void
}

/** The store is elsewhere, and every call to it travels. */
export function sharedMemory(
  { clock, ledger, faults, around = simply }: SharedWorld,
  delivery: 'atomic' | 'deferred',
): SharedStore {
  const database = new MemoryDatabase()
  const networks: FaultyStore[] = []
  let current = faults
  return {
    open: (process, random) => {
      const store = ledger.watch(new MemoryStore({ clock, database, delivery }))
      const network = new FaultyStore(store, clock, random, current)
      networks.push(network)
      return process.guard(
        wrapped(
          network.store,
          (_method, call) =>
            (...args) =>
              around(process, () => call(...args)),
        ),
      )
    },
    tables: database.tables,
    calm() {
      current = noFaults
      for (const network of networks) network.faults = noFaults
    },
  }
}

/** The store is a part of each process; the objects are elsewhere, and every request for one travels. */
export function sharedObjects(
  { clock, ledger, faults, around = simply }: SharedWorld,
  settings: Partial<CompactorSettings>,
): SharedStore {
  const space = new ObjectSpace(clock)
  const tables = new Tables()
  let position = 0
  let current = faults
  space.onNew = (key, body) => {
    if (!key.startsWith(LOG)) return
    const entry = decodeEntry(key, body)
    // A number that was used before, and swept away: nobody may believe in it.
    if (entry.n <= position) return ledger.note(`ghost ${entry.n}`)
    if (entry.n !== position + 1) ledger.violate(`the log has a gap before ${entry.n}`)
    position = entry.n
    tables.apply(entry.changes, entry.at)
    for (const change of entry.changes.runs) ledger.changed(change)
  }
  return {
    open: (process, random) => {
      const far = new FaultyBucket(new SpaceBucket(space, clock), clock, random, () => current)
      const bucket = far.within(process, around)
      const store = new ObjectStore({
        bucket,
        clock: process.clock,
        random: random.fork('store'),
        settings,
        onError: (error) => ledger.note(`compaction failed in ${process.name}: ${String(error)}`),
      })
      return process.guard(store)
    },
    tables,
    calm() {
      current = noFaults
    },
  }
}

const simply: Around = (_process, call) => call()
