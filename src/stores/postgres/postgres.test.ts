import pg from 'pg'
import { afterAll, beforeAll, describe, inject, test } from 'vitest'
import { type FreshDatabase, freshDatabase } from '../../../test/support/database.ts'
import { conformance, failOverCases, type OpenFixture, purgeCases, runCase } from '../../testing/conformance/index.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { PostgresStore } from './index.ts'

let database: FreshDatabase
let schemas = 0

beforeAll(async () => {
  database = await freshDatabase(inject('postgresUrl'))
})

// Some twenty thousand files, each of them flushed first.
afterAll(() => database.drop(), 180_000)

/** Puts back all rows as they were before the work, beside the stores that are connected. */
async function losingWrites(url: string, work: () => Promise<void>): Promise<void> {
  const schema = new URL(url).searchParams.get('schema') ?? ''
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  try {
    const { rows } = await client.query<{ name: string }>(
      'select tablename as name from pg_tables where schemaname = $1',
      [schema],
    )
    for (const { name } of rows) await client.query(`create temp table copy_${name} as table ${schema}.${name}`)
    await work()
    await client.query('begin')
    for (const { name } of rows) {
      await client.query(`delete from ${schema}.${name}`)
      await client.query(`insert into ${schema}.${name} overriding system value table copy_${name}`)
    }
    await client.query('commit')
  } finally {
    await client.end()
  }
}

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
  const losing = (work: () => Promise<void>) => losingWrites(url, work)
  return { store: await open(), clock, other: open, close, losing }
}

describe('postgres store', () => {
  for (const each of [...conformance, ...failOverCases, ...purgeCases])
    test(each.name, () => runCase(each, makeFixture))
})
