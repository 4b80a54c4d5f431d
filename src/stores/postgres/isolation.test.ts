// What transactions of the store are like, whatever is usual in the database.
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { type FreshDatabase, freshDatabase } from '../../../test/support/database.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import { ALICE, claim, message, newRun, openSession, released, take, turn } from '../../testing/conformance/builders.ts'
import { nameOf } from './functions/index.ts'
import { PostgresStore } from './index.ts'

let database: FreshDatabase
let name: string
let store: PostgresStore
const clients: pg.Client[] = []

beforeAll(async () => {
  database = await freshDatabase(inject('postgresUrl'))
  name = new URL(database.url).pathname.slice(1)
  const admin = await connect()
  await admin.query(`alter database ${name} set default_transaction_isolation = 'repeatable read'`)
  await admin.query(`alter database ${name} set synchronous_commit = off`)
  store = await PostgresStore.open(`${database.url}?options=-c%20work_mem%3D8MB`, systemClock)
  await openSession(store)
})

afterAll(async () => {
  await store.close()
  await Promise.all(clients.map((client) => client.end()))
  await database.drop()
})

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url })
  clients.push(client)
  await client.connect()
  return client
}

function posts(runId: string, id: string): string {
  return JSON.stringify([{ runId, ...message(id), urgent: false }])
}

const post = `select ${nameOf('pawl', 'post_messages')}(null, $1)`

async function untilOneWaits(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query(
      'select 1 from pg_stat_activity where cardinality(pg_blocking_pids(pid)) > 0 and datname = $1',
      [name],
    )
    if (rows.length > 0) return
  }
}

test('stores D5: a message accepted while its run is released wakes it, in a database of repeatable read', async () => {
  const runId = randomUUID()
  await store.create([newRun(runId, { workflowId: runId })])
  const run = await take(store, runId)
  const [poster, watcher] = [await connect(), await connect()]
  await poster.query('begin isolation level read committed')
  await poster.query(post, [posts(runId, 'm1')])
  const released_ = store.commit([turn(run, { next: released() })])
  await watcher.query("set default_transaction_isolation = 'read committed'")
  await untilOneWaits(watcher)
  await poster.query('commit')
  expect(await released_).toEqual([{ outcome: 'applied' }])
  const { runs } = await claim(store)
  expect(runs.map(({ messages }) => messages)).toEqual([[message('m1')]])
})

test('stores D5: a function that looks behind a lock refuses to run in repeatable read', async () => {
  const client = await connect()
  const refusal = { code: '55000', message: expect.stringMatching(/read committed.*alter role/) }
  await expect(client.query(post, [posts(randomUUID(), 'm')])).rejects.toMatchObject(refusal)
  for (const call of ['renew', 'settle_tasks', 'note', 'records']) {
    const given = call === 'renew' ? '{}' : '[]'
    await expect(client.query(`select ${nameOf('pawl', call)}(null, $1)`, [given])).rejects.toMatchObject(refusal)
  }
})

test.each(['read committed', 'repeatable read', 'serializable'])(
  'stores D5: runs are created, and signalled, in a transaction of the caller in %s',
  async (level) => {
    const caller = await connect()
    const [first, second] = [randomUUID(), randomUUID()]
    const workflowId = `cart ${level}`
    await store.create([newRun(first, { workflowId, queue: level })])
    await caller.query(`begin isolation level ${level}`)
    const start = newRun(second, {
      workflowId,
      queue: level,
      reuse: 'returnExisting',
      message: message('m'),
    })
    const plain = randomUUID()
    const created = await store.createIn(caller, [start, newRun(plain, { workflowId: plain, queue: level })])
    expect(created).toMatchObject([{ outcome: 'existing', runId: first, posted: 'accepted' }, { outcome: 'created' }])
    await caller.query('commit')
    const { runs } = await claim(store, { queues: [level] }, ALICE)
    expect(new Set(runs.map(({ head }) => head.runId))).toEqual(new Set([first, plain]))
    expect(runs.flatMap(({ messages }) => messages)).toEqual([message('m')])
  },
)

test('stores D11: what is acknowledged is flushed, whatever the database and the options in the URL say', async () => {
  const client = await connect()
  await client.query("set default_transaction_isolation = 'read committed'")
  const now = async (call: string, given: string): Promise<unknown> => {
    await client.query('begin')
    await client.query(`select ${nameOf('pawl', call)}(null, $1)`, [given])
    const { rows } = await client.query('show synchronous_commit')
    await client.query('rollback')
    return (rows[0] as { synchronous_commit: string }).synchronous_commit
  }
  for (const call of ['post_messages', 'settle_tasks', 'records'])
    expect([call, await now(call, '[]')]).toEqual([call, 'on'])
  await client.query('begin')
  await client.query(`select ${nameOf('pawl', 'create_runs')}(null, '[]', null)`)
  const { rows } = await client.query('show synchronous_commit')
  await client.query('rollback')
  expect(rows).toEqual([{ synchronous_commit: 'on' }])
  const once = { runId: randomUUID(), generation: 1, key: 'k', name: 'n', body: '1', once: true }
  expect(await now('note', JSON.stringify([once]))).toBe('on')
  // Nothing is promised by these.
  expect(await now('note', '[]')).toBe('off')
  const beat = { session: 5, worker: 'w', beat: 1, ttlMs: 1_000, tasks: [], about: '' }
  expect(await now('renew', JSON.stringify(beat))).toBe('off')
  await client.query("set synchronous_commit = 'remote_apply'")
  expect(await now('records', '[]')).toBe('remote_apply')
})

test('stores D11: options in the URL are added to those of pawl', async () => {
  const watcher = await connect()
  const other = await PostgresStore.open(
    `${database.url}?options=-c%20application_name%3Dmine%20-c%20default_transaction_isolation%3Dserializable`,
    systemClock,
  )
  await openSession(other, 77)
  await other.close()
  const { rows } = await watcher.query("select 1 from pg_stat_activity where application_name = 'pawl'")
  expect(rows.length).toBeGreaterThan(0)
})
