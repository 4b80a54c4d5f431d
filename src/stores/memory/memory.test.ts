import { describe, test } from 'vitest'
import { conformance, type OpenFixture, runCase } from '../../testing/conformance/index.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { MemoryDatabase, MemoryStore } from './store.ts'

describe.each(['atomic', 'deferred'] as const)('memory store, %s delivery', (delivery) => {
  const makeFixture = async (): Promise<OpenFixture> => {
    const clock = new VirtualClock()
    const database = new MemoryDatabase()
    const open = () => new MemoryStore({ clock, database, delivery })
    return { store: open(), clock, other: async () => open(), close: async () => {} }
  }
  for (const each of conformance) test(each.name, () => runCase(each, makeFixture))
})
