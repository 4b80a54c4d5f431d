// Several releases of pawl on the same tables, as in a rolling deploy.
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, inject, test, vi } from 'vitest'
import { type FreshDatabase, freshDatabase } from '../../../test/support/database.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import type { NewRun, Store } from '../../core/stores/store.ts'
import {
  apply,
  beat,
  claim,
  ended,
  newRun,
  openSession,
  request,
  take,
  turn,
} from '../../testing/conformance/builders.ts'
import { nameOf, release } from './functions/index.ts'
import { PostgresStore } from './index.ts'
import * as schema from './schema.ts'

let database: FreshDatabase
let admin: pg.Client
const stores: Store[] = []

beforeAll(async () => {
  database = await freshDatabase(inject('postgresUrl'))
  admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
})

afterEach(async () => {
  vi.doUnmock('./schema.ts')
  vi.doUnmock('./functions/records.ts')
  vi.resetModules()
  await Promise.all(stores.splice(0).map((store) => store.close()))
})

afterAll(async () => {
  await admin.end()
  await database.drop()
})

interface Release {
  readonly release: string
  open(schema: string): Promise<Store>
}

const thisOne: Release = { release, open: (name) => opened(PostgresStore, name) }

async function opened(of: Pick<typeof PostgresStore, 'open'>, name: string): Promise<Store> {
  const store = await of.open(`${database.url}?schema=${name}`, systemClock)
  stores.push(store)
  return store
}

/** Another release of pawl: with other functions, and maybe with further tables. */
async function another(changes: Partial<typeof schema> = {}): Promise<Release> {
  const { records } = await import('./functions/records.ts')
  vi.resetModules()
  vi.doMock('./functions/records.ts', () => ({ records: `${records}\n-- another release` }))
  vi.doMock('./schema.ts', () => ({ ...schema, ...changes }))
  const theirs = await import('./functions/index.ts')
  const module = await import('./store.ts')
  return { release: theirs.release, open: (name) => opened(module.PostgresStore, name) }
}

function aRun(): NewRun {
  const runId = randomUUID()
  return newRun(runId, { workflowId: runId })
}

/** A run from its start to its end, and everything else a worker asks for. */
async function works(store: Store): Promise<void> {
  const run = aRun()
  await openSession(store)
  await store.create([run])
  await store.post([{ runId: run.runId, message: { id: 'm', body: '{}' } }])
  const held = await take(store, run.runId)
  await apply(store, turn(held, { consumed: ['m'], next: ended }))
  await store.records([{ type: 'get', space: 's', key: 'k' }])
  expect(await store.load([{ type: 'run', runId: run.runId }])).toMatchObject([{ run: { status: 'completed' } }])
}

async function installed(name: string): Promise<string[]> {
  const { rows } = await admin.query(
    `select distinct right(proname, 12) as release from pg_proc where pronamespace = $1::regnamespace order by 1`,
    [name],
  )
  return (rows as { release: string }[]).map((row) => row.release)
}

test('stores D6: releases with the same tables use their own functions, whichever starts last', async () => {
  const newer = await another()
  expect(newer.release).not.toBe(release)
  const [old, young] = [await thisOne.open('flip'), await newer.open('flip')]
  const restarted = await thisOne.open('flip')
  expect(await installed('flip')).toEqual([release, newer.release].toSorted())
  for (const store of [old, young, restarted, await newer.open('flip'), old]) await works(store)
})

test('stores D6: a newer release that changes the tables and can live with older ones lets them go on', async () => {
  const old = await thisOne.open('wider')
  const further = [...schema.migrations, 'alter table {schema}.session add column further text']
  const young = await (await another({ migrations: further })).open('wider')
  for (const store of [old, young, await thisOne.open('wider')]) await works(store)
})

test('api gap 8: an older release beside this one sets a value where a list was, and the list is gone', async () => {
  const store = await thisOne.open('lists')
  await openSession(store)
  const run = { ...aRun(), attributes: { tags: ['a', 'b'] } }
  await store.create([run])
  const held = await take(store, run.runId)
  const found = async (value: string): Promise<number | undefined> =>
    (await store.list({ limit: 1, count: true, attributes: [{ name: 'tags', is: 'eq', value }] })).count
  const attributes = async () => {
    const [loaded] = await store.load([{ type: 'run', runId: run.runId }])
    return loaded?.type === 'run' ? loaded.run?.attributes : undefined
  }
  expect([await found('a'), await found('c')]).toEqual([1, 0])
  // As the functions of the release before lists do it.
  await admin.query(`insert into lists.attribute values ($1, 'tags', 'text', 'c')`, [run.runId])
  expect(await attributes()).toEqual({ tags: 'c' })
  expect([await found('a'), await found('c')]).toEqual([0, 1])
  // With another run that has it in a list, both tables are looked at.
  await store.create([{ ...aRun(), attributes: { tags: ['c', 'a'] } }])
  expect([await found('a'), await found('c')]).toEqual([1, 2])
  await apply(store, turn(held, { attributes: { tags: ['d'] } }))
  expect(await attributes()).toEqual({ tags: ['d'] })
  expect([await found('b'), await found('c'), await found('d')]).toEqual([0, 1, 1])
})

test('stores D6: a process of an older release learns that the tables are too new for it, and fails no run', async () => {
  const old = await thisOne.open('newer')
  await openSession(old)
  const run = aRun()
  await old.create([run])
  const held = await take(old, run.runId)
  const migrations = [...schema.migrations, 'alter table {schema}.live add column further text']
  const newer = await another({ migrations, OLDEST_AT_WORK: migrations.length })
  const young = await newer.open('newer')
  const tooNew = { code: 'SCHEMA_TOO_NEW', message: expect.stringContaining('Upgrade pawl') }
  for (const call of [
    () => old.create([aRun()]),
    () => old.create([aRun(), aRun()]),
    () => old.post([{ runId: run.runId, message: { id: 'm', body: '{}' } }]),
    () => old.claim(request(held.lease.session)),
    () => old.commit([turn(held)]),
    () => old.renew(beat(held.lease.session, { beat: 2 })),
    () => old.settle([]),
    () => old.note([]),
    () => old.records([]),
    () => old.load([{ type: 'run', runId: run.runId }]),
    () => old.transact?.({ runId: run.runId, generation: 1, key: 'k' }, async () => '1'),
  ])
    await expect(call()).rejects.toMatchObject(tooNew)
  await expect(thisOne.open('newer')).rejects.toMatchObject(tooNew)
  expect(await young.load([{ type: 'run', runId: run.runId }])).toMatchObject([{ run: { status: 'running' } }])
  await apply(young, turn(held, { next: ended }))
})

test('stores D6: functions that are gone are installed again by the process that misses them', async () => {
  const store = await thisOne.open('gone')
  await works(store)
  for (const name of ['claim(int8, json, int8)', 'newest(text)', 'create_runs(int8, json, int4)']) {
    const [plain = '', given] = name.split('(')
    await admin.query(`drop function ${nameOf('gone', plain)}(${given} cascade`)
  }
  await Promise.all([works(store), claim(store, { runs: 0 })])
  expect(await installed('gone')).toEqual([release])
})

test('stores D6: functions of a release that nobody has used for a day are dropped', async () => {
  const store = await (await another()).open('unused')
  await openSession(store)
  await admin.query('update unused.release set used_at = used_at - 7200000')
  await store.renew(beat(5))
  await store.renew(beat(5, { beat: 2 }))
  const { rows } = await admin.query(
    'select used_at > extract(epoch from now()) * 1000 - 60000 as fresh from unused.release',
  )
  expect(rows).toEqual([{ fresh: true }])
  await admin.query('update unused.release set used_at = used_at - 86500000')
  await thisOne.open('unused')
  expect(await installed('unused')).toEqual([release])
  await works(store)
})

test('stores D6: a process from before there were releases side by side is told to stop, and takes it for an outage', async () => {
  await admin.query(`create schema before;
    create table before.about (version int4 not null, functions text not null);
    insert into before.about values (3, 'older')`)
  for (const migration of schema.migrations.slice(0, 3)) await admin.query(migration.replaceAll('{schema}', 'before'))
  await admin.query(`create function before.claim(p_now int8, q json) returns json language plpgsql as 'begin return q; end';
    create function before.clock(p_now int8) returns int8 language sql as 'select p_now'`)
  await works(await thisOne.open('before'))
  for (const call of ["before.claim(1, '{}')", 'before.clock(1)'])
    await expect(admin.query(`select ${call}`)).rejects.toMatchObject({
      code: '55000',
      message: expect.stringContaining('upgrade pawl in this process'),
    })
})
