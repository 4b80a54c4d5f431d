import { describe, test } from 'vitest'
import { conformance, type OpenFixture, runCase } from '../../testing/conformance/index.ts'
import { ObjectSpace, SpaceBucket } from '../../testing/object-space.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { ObjectStore } from './store.ts'

async function makeFixture(): Promise<OpenFixture> {
  const clock = new VirtualClock()
  const space = new ObjectSpace(clock)
  const stores: ObjectStore[] = []
  const open = async (): Promise<ObjectStore> => {
    const store = new ObjectStore({ bucket: new SpaceBucket(space, clock), clock })
    stores.push(store)
    return store
  }
  const close = async (): Promise<void> => {
    for (const store of stores) await store.close()
  }
  return { store: await open(), clock, other: open, close }
}

describe('object store, simulated bucket', () => {
  for (const each of conformance) test(each.name, () => runCase(each, makeFixture))
})
