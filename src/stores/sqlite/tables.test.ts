// A file that pawl shares with its user's tables, with an older and with a newer release.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { PawlError } from '../../core/base/errors.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import { ALICE, claim, newRun, openSession, take, turn } from '../../testing/conformance/builders.ts'
import { SqliteStore } from './index.ts'
import { migrations } from './schema.ts'

let folder: string
let files = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-tables-'))
})
afterAll(() => rm(folder, { recursive: true }))
afterEach(() => vi.restoreAllMocks())

const newFile = (): string => join(folder, `${files++}.db`)
const open = (file: string): Promise<SqliteStore> => SqliteStore.open(`sqlite:${file}`, systemClock)

function sql(file: string, ...statements: string[]): void {
  const database = new DatabaseSync(file)
  for (const statement of statements) database.exec(statement)
  database.close()
}

function rows(file: string, query: string): unknown[] {
  const database = new DatabaseSync(file)
  const found = database.prepare(query).all()
  database.close()
  return found.map((row) => ({ ...row }))
}

function bareTables(version: number): string[] {
  return [
    ...migrations.slice(0, version).map((migration) => migration.replaceAll('pawl_', '')),
    `pragma user_version = ${version}`,
  ]
}

async function refusal(file: string): Promise<PawlError> {
  const error: unknown = await open(file).then(
    () => undefined,
    (thrown) => thrown,
  )
  expect(error).toBeInstanceOf(PawlError)
  return error as PawlError
}

const A = '01900000-0000-7000-8000-000000000001'
const B = '01900000-0000-7000-8000-000000000002'

/** Of the last release that wrote tables without a prefix. */
const LAST_BARE = 4

describe('faults 4.1: a file with tables of its user', () => {
  const names = [
    ...['lane', 'session', 'run', 'name', 'live', 'turn', 'closed', 'inbox', 'task', 'attribute'],
    ...['note', 'record', 'reserved', 'run_created', 'orders'],
  ]

  test.each(names)("a user's table '%s' that was there first is left alone", async (table) => {
    const file = newFile()
    sql(file, `create table ${table} (id text, body text)`, `insert into ${table} values ('1', 'x')`)
    const store = await open(file)
    await openSession(store, ALICE)
    await store.create([newRun(A)])
    expect((await claim(store)).runs).toHaveLength(1)
    await store.close()
    expect(rows(file, `select * from ${table}`)).toEqual([{ id: '1', body: 'x' }])
  })

  test.each(names)("a user's table '%s' can be made afterwards", async (table) => {
    const file = newFile()
    await (await open(file)).close()
    sql(file, `create table if not exists ${table} (id text, body text)`)
    sql(file, `insert into ${table} (id, body) values ('1', 'x')`)
    const store = await open(file)
    await store.create([newRun(A)])
    expect(await store.list({ limit: 1, count: true })).toMatchObject({ count: 1 })
    await store.close()
    expect(rows(file, `select * from ${table}`)).toEqual([{ id: '1', body: 'x' }])
  })

  test("everything pawl makes has a name that begins with 'pawl_'", async () => {
    const file = newFile()
    const store = await open(file)
    await openSession(store, ALICE)
    await store.close()
    const found = rows(file, `select name from sqlite_schema where name not like 'sqlite_%'`)
    expect(found.length).toBeGreaterThan(20)
    expect(found.filter((row) => !String(Object.values(row as object)[0]).startsWith('pawl_'))).toEqual([])
  })

  test('a table under a name of pawl that is not its own is refused, and nothing is changed', async () => {
    const file = newFile()
    sql(file, 'create table pawl_task (id text)')
    const error = await refusal(file)
    expect(error.code).toBe('STORE_UNSUITABLE')
    expect(error.message).toContain('pawl_task')
    expect(rows(file, 'select name from sqlite_schema')).toEqual([{ name: 'pawl_task' }])
  })

  test('tables of an older pawl beside one that has its new name already are refused, and nothing is changed', async () => {
    const file = newFile()
    sql(file, ...bareTables(LAST_BARE), 'alter table task rename to pawl_task')
    const error = await refusal(file)
    expect(error.code).toBe('STORE_UNSUITABLE')
    expect(error.message).toContain('pawl_run')
    expect(rows(file, `select name from sqlite_schema where name = 'run'`)).toHaveLength(1)
  })

  test('tables with the names of an older pawl and other columns are not renamed', async () => {
    const file = newFile()
    const own = 'create table task (id text, body text)'
    sql(file, ...bareTables(LAST_BARE), 'drop table task', own)
    const error = await refusal(file)
    expect(error.code).toBe('STORE_UNSUITABLE')
    expect(error.message).toMatch(/table task .*missing or changed/)
    expect(rows(file, `select sql from sqlite_schema where name = 'task'`)).toEqual([
      { sql: own.replace('create table', 'CREATE TABLE') },
    ])
    expect(rows(file, `select name from sqlite_schema where name like 'pawl_%'`)).toEqual([])
  })

  test.each([LAST_BARE, 999])('a file whose user_version %d another program has set is refused', async (version) => {
    const file = newFile()
    sql(file, 'create table task (id text)', `pragma user_version = ${version}`)
    const error = await refusal(file)
    expect(error.code).toBe('STORE_UNSUITABLE')
    expect(error.message).toContain('user_version')
  })
})

describe('stores D12: an older and a newer pawl on one file', () => {
  const newer = [
    'alter table pawl_live add column later integer',
    'alter table pawl_turn add column later integer',
    'alter table pawl_run add column later integer',
    'alter table pawl_note add column later integer',
    'alter table pawl_attribute add column later integer',
    'alter table pawl_session add column later integer',
    'alter table pawl_name add column later integer',
  ]
  const NEWER = migrations.length + 1

  test('one that opens the file while a newer one migrates it does not turn the version back', async () => {
    const file = newFile()
    const exec: (text: string) => void = Reflect.get(DatabaseSync.prototype, 'exec')
    let isArmed = true
    vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, text) {
      if (isArmed && text === 'begin immediate') {
        isArmed = false
        sql(file, ...migrations, ...newer, `pragma user_version = ${NEWER}`)
      }
      exec.call(this, text)
    })
    const error = await refusal(file)
    expect(isArmed).toBe(false)
    expect(error.code).toBe('SCHEMA_TOO_NEW')
    expect(rows(file, 'pragma user_version')).toEqual([{ user_version: NEWER }])
  })

  test('one that has the file open learns of a newer schema, writes nothing more, and fails no run', async () => {
    const file = newFile()
    const store = await open(file)
    await openSession(store, ALICE)
    await store.create([newRun(A)])
    const held = await take(store, A)
    sql(file, ...newer, `pragma user_version = ${NEWER}`)
    const before = rows(file, 'select * from pawl_live')
    const tooNew = { code: 'SCHEMA_TOO_NEW' }
    await expect(store.commit([turn(held)])).rejects.toMatchObject(tooNew)
    await expect(store.create([newRun(B)])).rejects.toMatchObject(tooNew)
    await expect(openSession(store, ALICE)).rejects.toMatchObject(tooNew)
    await expect(claim(store)).rejects.toMatchObject(tooNew)
    const step = { runId: A, generation: 1, key: 's' }
    await expect(store.transact(step, async () => 'x')).rejects.toMatchObject(tooNew)
    expect(await store.load([{ type: 'run', runId: A }])).toMatchObject([{ run: { status: 'running' } }])
    expect(rows(file, 'select * from pawl_live')).toEqual(before)
    await store.close()
  })

  test('every write names its columns, so that a column more does not matter to it', async () => {
    const file = newFile()
    await (await open(file)).close()
    sql(file, ...newer)
    const store = await open(file)
    await openSession(store, ALICE)
    const run = newRun(A, { attributes: { a: 1 }, workflowId: 'w' })
    await store.create([run])
    const held = await take(store, A)
    expect(await store.commit([turn(held)])).toEqual([{ outcome: 'applied' }])
    const note = { runId: run.runId, generation: 1, key: 'k', name: 'n', body: '1' }
    expect(await store.note([note])).toEqual([{ body: '1' }])
    await store.transact({ runId: run.runId, generation: 1, key: 's' }, async () => 'x')
    await store.close()
  })

  test('a process of a release without the prefix that lives on can write nothing', async () => {
    const file = newFile()
    sql(file, 'pragma journal_mode = wal', ...bareTables(LAST_BARE))
    const old = new DatabaseSync(file)
    const insert = old.prepare('insert into name values (?, ?)')
    insert.run('a', 'b')
    const store = await open(file)
    expect(() => insert.run('c', 'd')).toThrow('no such table')
    expect(rows(file, 'select * from pawl_name')).toEqual([{ workflow_id: 'a', run_id: 'b' }])
    old.close()
    await store.close()
  })
})
