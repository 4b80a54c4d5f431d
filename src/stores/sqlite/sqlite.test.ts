import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { conformance, type OpenFixture, runCase } from '../../testing/conformance/index.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { SqliteStore } from './index.ts'

async function makeFixture(): Promise<OpenFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-sqlite-'))
  const clock = new VirtualClock()
  const stores: SqliteStore[] = []
  const open = async (): Promise<SqliteStore> => {
    const store = await SqliteStore.open(`sqlite:${join(folder, 'pawl.db')}`, clock)
    stores.push(store)
    return store
  }
  const close = async (): Promise<void> => {
    for (const store of stores) await store.close()
    await rm(folder, { recursive: true })
  }
  return { store: await open(), clock, other: open, close }
}

describe('sqlite store', () => {
  for (const each of conformance) test(each.name, () => runCase(each, makeFixture))
})
