// Postgres has the rules of the seam in functions of its own, SQLite has queries of its own. Random calls of every
// method find where they differ from the rule book. To see a failure again, run its seed alone:
//
//   PAWL_DIFFERENTIAL_SEED=17 npx vitest run --project unit test/stores/differential.test.ts
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { PostgresStore } from '../../src/stores/postgres/index.ts'
import { SqliteStore } from '../../src/stores/sqlite/index.ts'
import { type FreshDatabase, freshDatabase } from '../support/database.ts'
import { compareStores, type Other } from './differential.ts'

const BATCHES = 400
const SEEDS = Array.from({ length: 25 }, (_, index) => index + 1)
const AT_ONCE = 4

let database: FreshDatabase
let folder: string

beforeAll(async () => {
  database = await freshDatabase(inject('postgresUrl'))
  folder = await mkdtemp(join(tmpdir(), 'pawl-differential-'))
})

afterAll(async () => {
  await rm(folder, { recursive: true })
  await database.drop()
}, 180_000)

function postgres(seed: number): Other {
  const url = `${database.url}?schema=seed_${seed}`
  return {
    name: 'postgres',
    open: (clock) => PostgresStore.open(url, clock, { virtualTime: true }),
  }
}

function sqlite(seed: number): Other {
  const url = `sqlite:${join(folder, `${seed}.db`)}`
  return { name: 'sqlite', open: (clock) => SqliteStore.open(url, clock) }
}

async function compareAll(seeds: number[]): Promise<void> {
  for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift())
    await compareStores(seed, BATCHES, [sqlite(seed), postgres(seed)])
}

test('stores answer 10,000 random batches alike, and keep the same rows', async () => {
  const given = process.env['PAWL_DIFFERENTIAL_SEED']
  const seeds = given === undefined ? [...SEEDS] : [Number(given)]
  expect(seeds.length * BATCHES).toBeGreaterThanOrEqual(given === undefined ? 10_000 : 1)
  await Promise.all(Array.from({ length: AT_ONCE }, () => compareAll(seeds)))
}, 300_000)
