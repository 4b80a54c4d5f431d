import { describe, test } from 'vitest'
import {
  conformance,
  failOverCases,
  type OpenFixture,
  purgeCases,
  runCase,
} from '../../../testing/conformance/index.ts'
import { copyOf } from '../../../testing/tables-copy.ts'
import { VirtualClock } from '../../../testing/virtual-clock.ts'
import { MemoryDatabase, MemoryStore } from './store.ts'

describe.each(['atomic', 'deferred'] as const)('memory store, %s delivery', (delivery) => {
  const makeFixture = async (): Promise<OpenFixture> => {
    const clock = new VirtualClock()
    const database = new MemoryDatabase()
    const open = () => new MemoryStore({ clock, database, delivery })
    const losing = async (work: () => Promise<void>): Promise<void> => {
      const copy = copyOf(database.tables)
      await work()
      database.tables = copy
    }
    return { store: open(), clock, other: async () => open(), close: async () => {}, losing }
  }
  for (const each of [...conformance, ...failOverCases, ...purgeCases])
    test(each.name, () => runCase(each, makeFixture))
})
