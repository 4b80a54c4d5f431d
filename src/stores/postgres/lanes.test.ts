// Numbers of lanes, which a process remembers, after a fail-over that lost some.
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { type FreshDatabase, freshDatabase } from '../../../test/support/database.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import type { NewRun, Store } from '../../core/stores/store.ts'
import { ALICE, claim, newRun, openSession } from '../../testing/conformance/builders.ts'
import { PostgresStore } from './index.ts'

let database: FreshDatabase
let admin: pg.Client
const stores: Store[] = []
let schemas = 0

beforeAll(async () => {
  database = await freshDatabase(inject('postgresUrl'))
  admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
})

afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()))
  await admin.end()
  await database.drop()
})

async function open(schema: string): Promise<PostgresStore> {
  const store = await PostgresStore.open(`${database.url}?schema=${schema}`, systemClock)
  stores.push(store)
  return store
}

function runOf(name: string, more: Partial<NewRun> = {}): NewRun {
  const runId = randomUUID()
  return newRun(runId, { name, workflowId: runId, ...more })
}

const eager = { session: ALICE, nonce: 5 }
const ways: readonly [string, () => NewRun[]][] = [
  ['one run', () => [runOf('a')]],
  ['one run that is begun at once', () => [runOf('a', { eager })]],
  ['several runs', () => [runOf('a'), runOf('a')]],
  ['several, begun at once', () => [runOf('a', { eager }), runOf('a', { eager })]],
  ['runs of several kinds', () => [runOf('a'), runOf('a', { workflowId: 'w' })]],
]

describe.each(ways)('stores D7: %s', (_way, runs) => {
  let store: PostgresStore
  let schema: string

  beforeEach(async () => {
    schema = `lanes_${schemas++}`
    store = await open(schema)
    await openSession(store)
    await store.create([runOf('a')])
    // What a standby has not seen that takes over before it heard of the first run of this name.
    await admin.query(`delete from ${schema}.live; delete from ${schema}.run; delete from ${schema}.lane;
      alter table ${schema}.lane alter column lane restart`)
  })

  test('created after the lane was lost are found and claimed', async () => {
    const made = runs()
    const created = await store.create(made)
    expect(created.map(({ outcome }) => outcome)).toEqual(made.map(() => 'created'))
    const { runs: listed } = await store.list({ limit: 9 })
    expect(listed.map(({ head }) => head.name)).toEqual(made.map(() => 'a'))
    const held = created.flatMap((each) => (each.outcome === 'created' && each.run ? [each.run] : []))
    const claimed = await claim(store)
    expect([...held, ...claimed.runs].map(({ head }) => head.name)).toEqual(made.map(() => 'a'))
  })

  test('are not begun as another workflow that got their number', async () => {
    const other = await open(schema)
    await other.create([runOf('delete-everything')])
    await store.create(runs())
    const named = (await store.list({ limit: 9 })).runs.map(({ head }) => head.name)
    expect(named.filter((name) => name !== 'a')).toEqual(['delete-everything'])
  })
})

test('stores §2: a batch of all kinds is answered element for element', async () => {
  const store = await open('kinds')
  await openSession(store)
  const first = runOf('a', { workflowId: 'named' })
  await store.create([first])
  const twice = runOf('a')
  const batch = [
    runOf('a', { eager }),
    runOf('a', { workflowId: 'named', reuse: 'reject' }),
    twice,
    runOf('a', { workflowId: 'named', reuse: 'returnExisting', message: { id: 'm', body: '{}' } }),
    runOf('a'),
    { ...twice },
    runOf('a', { eager: { session: 404, nonce: 1 } }),
  ]
  expect(await store.create(batch)).toMatchObject([
    { outcome: 'created', run: { lease: { ...eager, epoch: 1 }, deliveries: 1 } },
    { outcome: 'refused', runId: first.runId },
    { outcome: 'created' },
    { outcome: 'existing', runId: first.runId, posted: 'accepted' },
    { outcome: 'created' },
    { outcome: 'existing', runId: twice.runId },
    { outcome: 'created' },
  ])
  expect((await claim(store, { reconcile: true })).runs).toHaveLength(1)
  expect((await claim(store, { reconcile: true, held: [batch[0]?.runId ?? ''] })).runs).toHaveLength(4)
})

test('stores §2: runs of a batch that are plain are created in one call, whatever else is in it', async () => {
  const store = await open('calls')
  const plain = Array.from({ length: 20 }, () => runOf('a'))
  await store.create(plain.slice(0, 2))
  const before = await rowsPerTransaction('calls')
  await store.create([...plain.slice(2), runOf('a', { workflowId: 'n', message: { id: 'm', body: '{}' } })])
  expect((await rowsPerTransaction('calls')) - before).toBe(2)
})

/** Transactions that created the runs that are there. */
async function rowsPerTransaction(schema: string): Promise<number> {
  const { rows } = await admin.query(`select count(distinct xmin::text)::int4 as count from ${schema}.run`)
  return (rows[0] as { count: number }).count
}
