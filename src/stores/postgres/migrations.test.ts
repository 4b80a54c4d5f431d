// P11: how a database gets its tables, and that they are the ones written down.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { type FreshDatabase, freshDatabase } from '../../../test/support/database.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import type { NewRun } from '../../core/stores/store.ts'
import { apply, openSession, take, turn } from '../../testing/conformance/builders.ts'
import { release } from './functions/index.ts'
import { PostgresStore } from './index.ts'
import { migrations } from './schema.ts'

const snapshot = join(import.meta.dirname, '../../../test/workflows/__snapshots__/postgres-schema.txt')

let database: FreshDatabase
let admin: pg.Client

beforeAll(async () => {
  database = await freshDatabase(inject('postgresUrl'))
  admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
})

afterAll(async () => {
  await admin.end()
  await database.drop()
})

function urlOf(schema: string, change: (url: URL) => void = () => {}): string {
  const url = new URL(database.url)
  url.searchParams.set('schema', schema)
  change(url)
  return url.href
}

async function openAndClose(url: string): Promise<void> {
  const store = await PostgresStore.open(url, systemClock)
  await store.close()
}

const run: NewRun = {
  runId: '01900000-0000-7000-8000-000000000001',
  name: 'n',
  queue: 'q',
  priority: 0,
  workflowId: 'mine',
  reuse: 'reject',
  input: '{"json":null}',
  digest: 'd',
}

test('P11 a fresh schema has the tables, indexes and functions that are written down', async () => {
  await openAndClose(urlOf('fresh'))
  await expect(await outlineOf('fresh')).toMatchFileSnapshot(snapshot)
})

test('records are sorted by bytes, whatever the database sorts by', async () => {
  await openAndClose(urlOf('sorted'))
  const { rows } = await admin.query(
    `select attname, attcollation::regcollation::text as collation from pg_attribute
     where attrelid = 'sorted.record'::regclass and attname in ('space', 'key') order by 1`,
  )
  expect(rows).toEqual([
    { attname: 'key', collation: '"C"' },
    { attname: 'space', collation: '"C"' },
  ])
})

test('P11 opening again changes nothing', async () => {
  await openAndClose(urlOf('twice'))
  const before = await fingerprint('twice')
  await openAndClose(urlOf('twice'))
  expect(await fingerprint('twice')).toEqual(before)
})

test('P11 stores that open at once on a fresh schema wait for each other', async () => {
  const opens = Array.from({ length: 6 }, () => PostgresStore.open(urlOf('together'), systemClock))
  const stores = await Promise.all(opens)
  const outcomes = await Promise.all(stores.map((store) => store.create([run])))
  const created = outcomes.flat().filter(({ outcome }) => outcome === 'created')
  expect(created).toHaveLength(1)
  await Promise.all(stores.map((store) => store.close()))
  expect(await outlineOf('together')).toBe(await outlineOf('fresh'))
})

test.each(migrations.map((_, index) => index + 1).slice(0, -1))(
  'P11 a schema of version %d gets what it has not, and keeps what it has',
  async (version) => {
    const schema = `version_${version}`
    await admin.query(`create schema ${schema}`)
    await admin.query(`create table ${schema}.about (version int4 not null, functions text not null)`)
    await admin.query(`insert into ${schema}.about values (${version}, 'older')`)
    for (const migration of migrations.slice(0, version)) await admin.query(migration.replaceAll('{schema}', schema))
    const [live, gone] = [run.runId, run.runId.replace(/1$/, '2')]
    await admin.query(`
      insert into ${schema}.lane (kind, queue, name, priority) values ('run', 'default', 'n', 0);
      insert into ${schema}.run values ('${live}', 1, null, null, null, null, 5, 'd', '{}', null),
        ('${gone}', 1, null, null, null, null, 5, 'd', '{}', null);
      insert into ${schema}.live (run_id, lane, at, start_at, status, updated_at)
        values ('${live}', 1, 0, 0, 'waiting', 5);
      insert into ${schema}.closed values ('${gone}', 'completed', 6, 1, 0, 1, 9, 1, '{}')`)
    const store = await PostgresStore.open(urlOf(schema), systemClock)
    expect(await outlineOf(schema)).toBe(await outlineOf('fresh'))
    const { runs } = await store.list({ limit: 9 })
    expect(runs.map(({ status }) => status).toSorted()).toEqual(['completed', 'waiting'])
    await openSession(store)
    await apply(store, turn(await take(store, live), { pin: 'x', compensating: true }))
    const pinned = await store.list({ limit: 9, pin: 'x' })
    expect(pinned.runs).toMatchObject([{ status: 'compensating', pin: 'x' }])
    const put = { type: 'put', space: 's', key: 'k', version: 0, body: '1', writeId: 1 } as const
    expect(await store.records([put])).toEqual([{ type: 'put', outcome: 'applied' }])
    await store.close()
  },
)

test('P11 a user with no rights but a schema of its own can do everything', async () => {
  const role = `pawl_${randomBytes(6).toString('hex')}`
  await admin.query(`create role ${role} login password 'secret' nosuperuser nocreatedb`)
  try {
    await admin.query(`create schema private_place authorization ${role}`)
    const url = urlOf('private_place', (each) => {
      each.username = role
      each.password = 'secret'
    })
    const store = await PostgresStore.open(url, systemClock)
    await store.create([run])
    const beat = { session: 7, worker: 'w', beat: 1, ttlMs: 30_000, tasks: [], about: '{}' }
    expect((await store.renew(beat)).alive).toBe(true)
    const claimed = await store.claim({
      session: 7,
      nonce: 1,
      build: 'b',
      queues: ['q'],
      workflows: null,
      activities: null,
      runs: 5,
      suspects: 0,
      tasks: 5,
      held: [],
      heldTasks: [],
      silent: [],
    })
    expect(claimed.runs).toHaveLength(1)
    await store.close()
    const forbidden = urlOf('not_mine', (each) => {
      each.username = role
      each.password = 'secret'
    })
    await expect(openAndClose(forbidden)).rejects.toMatchObject({
      code: 'STORE_READ_ONLY',
      message: expect.stringContaining('create schema pawl authorization'),
    })
  } finally {
    await admin.query(`drop owned by ${role}`)
    await admin.query(`drop role ${role}`)
  }
})

test('stores D13: a migration that cannot have its locks lets others work, and goes on when it can', async () => {
  await admin.query('create schema waiting')
  await admin.query(`create table waiting.about (version int4 not null, functions text not null);
    insert into waiting.about values (1, 'older')`)
  await admin.query(migrations[0]?.replaceAll('{schema}', 'waiting') ?? '')
  const reader = new pg.Client({ connectionString: database.url })
  await reader.connect()
  await reader.query('begin; select * from waiting.run, waiting.live, waiting.closed')
  const opening = PostgresStore.open(urlOf('waiting'), systemClock)
  const isWaiting = async (): Promise<boolean> => {
    const text =
      "select 1 from pg_locks where not granted and relation in ('waiting.run'::regclass, 'waiting.live'::regclass)"
    return (await admin.query(text)).rows.length > 0
  }
  while (!(await isWaiting())) await systemClock.breathe()
  // Behind the lock that is asked for and not had; the reader has not ended.
  await admin.query('update waiting.run set digest = digest; update waiting.live set at = at')
  await reader.query('commit')
  await reader.end()
  await (await opening).close()
  expect(await outlineOf('waiting')).toBe(await outlineOf('fresh'))
})

test('stores D13: a database that cannot hold every text is refused', async () => {
  const name = `latin_${randomBytes(6).toString('hex')}`
  await admin.query(`create database ${name} encoding 'LATIN1' locale 'C' template template0`)
  const url = urlOf('pawl', (each) => {
    each.pathname = `/${name}`
  })
  await expect(openAndClose(url)).rejects.toMatchObject({
    code: 'STORE_UNSUITABLE',
    message: expect.stringMatching(/encoded in LATIN1.*encoding 'UTF8'/),
  })
  await admin.query(`drop database ${name} with (force)`)
})

test('faults 4.9: a user who may not connect is told so', async () => {
  const name = `closed_${randomBytes(6).toString('hex')}`
  await admin.query(`create database ${name} template template0`)
  await admin.query(`revoke connect on database ${name} from public`)
  await admin.query(`create role ${name} login password 'secret'`)
  const url = urlOf('pawl', (each) => {
    each.pathname = `/${name}`
    each.username = name
    each.password = 'secret'
  })
  await expect(openAndClose(url)).rejects.toMatchObject({
    code: 'STORE_URL_INVALID',
    message: expect.stringContaining('grant connect on database'),
  })
  await admin.query(`drop database ${name} with (force)`)
  await admin.query(`drop role ${name}`)
})

test('P11 two schemas in one database do not see each other', async () => {
  const left = await PostgresStore.open(urlOf('left_side'), systemClock)
  const right = await PostgresStore.open(urlOf('right_side'), systemClock)
  const heard: string[] = []
  right.wake(({ type }) => heard.push(type))
  await left.create([run])
  expect(await right.load([{ type: 'run', runId: run.runId }])).toEqual([{ type: 'run' }])
  expect((await right.list({ limit: 10 })).runs).toEqual([])
  expect(await right.create([run])).toMatchObject([{ outcome: 'created' }])
  expect((await left.list({ limit: 10 })).runs).toHaveLength(1)
  await Promise.all([left.close(), right.close()])
})

test('P11 a migration that fails leaves nothing behind', async () => {
  await admin.query('create schema broken')
  await admin.query('create table broken.task (mine int)')
  await expect(openAndClose(urlOf('broken'))).rejects.toThrow(/already exists/)
  const { rows } = await admin.query("select tablename from pg_tables where schemaname = 'broken' order by 1")
  expect(rows).toEqual([{ tablename: 'task' }])
})

/** Tables with their columns, indexes, and functions with their signatures, as text. */
async function outlineOf(schema: string): Promise<string> {
  const columns = await lines(
    `select format('table %s.%s: %s %s%s', '…', c.table_name, c.column_name, c.data_type,
       case c.is_nullable when 'YES' then ' null' else '' end) as line
     from information_schema.columns c where c.table_schema = $1
     order by c.table_name, c.ordinal_position`,
    schema,
  )
  const indexes = await lines(
    `select regexp_replace(replace(indexdef, $1 || '.', '…'), '^CREATE ', '') as line
     from pg_indexes where schemaname = $1 order by tablename, indexname`,
    schema,
  )
  const functions = await lines(
    `select format('function %s(%s) returns %s', left(p.proname, -13),
       replace(pg_get_function_identity_arguments(p.oid), $1 || '.', '…'),
       pg_get_function_result(p.oid)) as line
     from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = $1
       and right(p.proname, 13) = '_${release}' order by 1`,
    schema,
  )
  return `${[...columns, ...indexes, ...functions].join('\n')}\n`
}

async function lines(query: string, schema: string): Promise<string[]> {
  const { rows } = await admin.query<{ line: string }>(query, [schema])
  return rows.map(({ line }) => line)
}

/** The identity of everything in the schema: a table or function made again has another. */
async function fingerprint(schema: string): Promise<unknown[]> {
  const { rows } = await admin.query(
    `select relname as name, c.oid, c.xmin::text from pg_class c join pg_namespace n on n.oid = relnamespace
       where nspname = $1
     union all
     select proname, p.oid, p.xmin::text from pg_proc p join pg_namespace n on n.oid = pronamespace
       where nspname = $1
     order by 1, 2`,
    [schema],
  )
  return rows
}
