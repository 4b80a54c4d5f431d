// A store that many simulated processes share, and a view of its rows for the checkers.
import type { Clock } from '../core/runtime/clock.ts'
import { MemoryDatabase, MemoryStore } from '../core/stores/memory/store.ts'
import { Tables } from '../core/stores/rules/tables.ts'
import type { Store } from '../core/stores/store.ts'
import { asItIs, wrapped } from '../core/stores/wrapped.ts'
import type { CompactorSettings } from '../stores/objects/compactor.ts'
import { decodeEntry } from '../stores/objects/format.ts'
import { LOG } from '../stores/objects/layout.ts'
import { ObjectStore } from '../stores/objects/store.ts'
import { AdjustableClock } from './adjustable-clock.ts'
import { type Around, FaultyBucket } from './faulty-bucket.ts'
import { type Faults, FaultyStore, noFaults } from './faulty-store.ts'
import type { Ledger } from './ledger.ts'
import { MemoryBucket, MemoryObjects } from './memory-bucket.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { SimulatedProcess } from './simulated-process.ts'
import { copyOf } from './tables-copy.ts'

export interface SharedWorld {
  readonly clock: Clock
  readonly ledger: Ledger
  readonly faults: Faults
  /** Wraps each call that a process sends. */
  readonly around?: Around
}

export interface SharedStore {
  /** Opens the store for one process, over its own network. */
  open(process: SimulatedProcess, random: SeededRandom): Store
  readonly tables: Tables
  /** The clock of the store. */
  readonly clock: AdjustableClock
  /** While it is set, every call fails with the error it returns. */
  trouble: (() => Error) | undefined
  /** `copy` copies all rows; `failOver` restores the last copy. Absent if the store cannot lose writes. */
  readonly copy?: () => void
  readonly failOver?: () => void
  /** Ends all network faults. */
  calm(): void
}

/** A store in memory; every call of a process goes over its network. */
export function sharedMemory(
  { clock: world, ledger, faults, around = simply }: SharedWorld,
  delivery: 'atomic' | 'deferred',
): SharedStore {
  const clock = new AdjustableClock(world)
  const database = new MemoryDatabase()
  const networks: FaultyStore[] = []
  const resent = new Resent()
  let copied = copyOf(database.tables)
  let current = faults
  const shared: SharedStore = {
    clock,
    trouble: undefined,
    open: (process, random) => {
      const own = new MemoryStore({ clock, database, delivery })
      const store = ledger.watch(resent.watch(own), clock)
      const trouble = () => shared.trouble?.()
      const network = new FaultyStore(store, world, random, current, trouble)
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
    get tables() {
      return database.tables
    },
    copy() {
      copied = copyOf(database.tables)
      resent.clear()
      ledger.copy()
    },
    failOver() {
      database.tables = copyOf(copied)
      ledger.failOver()
      const store = ledger.watch(new MemoryStore({ clock, database, delivery }), clock)
      resent.send(store)
    },
    calm() {
      current = noFaults
      for (const network of networks) network.faults = noFaults
    },
  }
  return shared
}

/** Records what was acknowledged to clients since the last copy, and sends it again after a fail-over has lost it. */
class Resent {
  readonly #calls: ((store: Store) => Promise<unknown>)[] = []

  watch(store: Store): Store {
    return wrapped(store, asItIs, {
      create: async (runs) => {
        const created = await store.create(runs)
        const given = runs.map(({ eager: _, ...run }) => run)
        this.#calls.push((to) => to.create(given))
        return created
      },
      post: async (posts) => {
        const posted = await store.post(posts)
        // A pause is not sent again: if the run had ended before the fail-over, the program no longer resumes it.
        const taken = posts.filter(
          ({ message }, index) => posted[index]?.outcome === 'accepted' && !message.id.startsWith('pause:'),
        )
        this.#calls.push((to) => to.post(taken))
        return posted
      },
    })
  }

  clear(): void {
    this.#calls.length = 0
  }

  send(store: Store): void {
    // A store in memory carries out all of these calls before any other.
    for (const call of this.#calls) void call(store)
  }
}

/** An object store in each process, on shared objects; every request for an object goes over the network. */
export function sharedObjects(
  { clock: world, ledger, faults, around = simply }: SharedWorld,
  settings: Partial<CompactorSettings>,
): SharedStore {
  const clock = new AdjustableClock(world)
  const space = new MemoryObjects(clock)
  const tables = new Tables()
  let position = 0
  let current = faults
  space.onNew = (key, body) => {
    if (!key.startsWith(LOG)) return
    const entry = decodeEntry(key, body)
    // The number was used before and swept away, so no process may apply this object.
    if (entry.n <= position) return ledger.note(`ghost ${entry.n}`)
    if (entry.n !== position + 1) ledger.violate(`the log has a gap before ${entry.n}`)
    position = entry.n
    tables.apply(entry.changes, entry.at)
    for (const change of entry.changes.runs) ledger.changed(change, clock)
    for (const { worker, ttlMs } of entry.changes.sessions) ledger.renewed(worker, ttlMs ?? 0)
  }
  const shared: SharedStore = {
    clock,
    trouble: undefined,
    open: (process, random) => {
      const near = new MemoryBucket(space, clock)
      const trouble = () => shared.trouble?.()
      const far = new FaultyBucket(near, world, random, () => current, trouble)
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
  return shared
}

const simply: Around = (_process, call) => call()
