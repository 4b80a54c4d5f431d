import { afterAll, beforeAll, describe, inject, test } from 'vitest'
import { type FreshDatabase, freshDatabase } from '../../../test/support/database.ts'
import { conformance, type OpenFixture, runCase } from '../../testing/conformance/index.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { PostgresStore } from './index.ts'

let database: FreshDatabase
let schemas = 0

beforeAll(async () => {
  database = await freshDatabase(inject('postgresUrl'))
})

// Some twenty thousand files, each of them flushed first.
afterAll(() => database.drop(), 180_000)

// A schema is much cheaper to make than a database, and keeps cases apart as well.
async function makeFixture(): Promise<OpenFixture> {
  const url = `${database.url}?schema=case_${schemas++}`
  const clock = new VirtualClock()
  const stores: PostgresStore[] = []
  const open = async (): Promise<PostgresStore> => {
    const store = await PostgresStore.open(url, clock, { virtualTime: true })
    stores.push(store)
    return store
  }
  const close = async (): Promise<void> => {
    await Promise.all(stores.map((store) => store.close()))
  }
  return { store: await open(), clock, other: open, close }
}

describe('postgres store', () => {
  for (const each of conformance) test(each.name, () => runCase(each, makeFixture))
})
