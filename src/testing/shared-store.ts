// A store that many simulated processes share, and a view of what is really in it.
import { MemoryDatabase, MemoryStore } from '../stores/memory/store.ts'
import type { Tables } from '../stores/rows/tables.ts'
import type { Store } from '../stores/store.ts'
import type { VirtualClock } from './virtual-clock.ts'

export interface SharedStore {
  /** A process's own access to it. */
  open(): Store
  readonly tables: Tables
  /** From now on nothing of its own goes wrong. */
  calm(): void
}

export function sharedMemory(clock: VirtualClock, delivery: 'atomic' | 'deferred'): SharedStore {
  const database = new MemoryDatabase()
  return {
    open: () => new MemoryStore({ clock, database, delivery }),
    tables: database.tables,
    calm() {},
  }
}
