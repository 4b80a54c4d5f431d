// Rows that another transaction keeps locked: a transaction of a caller, a step about to commit, a host that has vanished.
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import { type FreshDatabase, freshDatabase } from '../../../test/support/database.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import type { ClaimedRun, Store } from '../../core/stores/store.ts'
import {
  ALICE,
  BOB,
  beat,
  CAROL,
  claim,
  done,
  message,
  newRun,
  newTask,
  openSession,
  released,
  turn,
} from '../../testing/conformance/builders.ts'
import { coalesced } from '../group-commit/coalesced.ts'
import { PostgresStore } from './index.ts'

let database: FreshDatabase
let raw: PostgresStore
let store: Store
let locker: pg.Client
let schemas = 0
let schema: string

beforeAll(async () => {
  database = await freshDatabase(inject('postgresUrl'))
})

afterAll(() => database.drop())

beforeEach(async () => {
  schema = `locked_${schemas++}`
  raw = await PostgresStore.open(`${database.url}?schema=${schema}`, systemClock)
  store = coalesced(raw)
  await openSession(store)
  locker = new pg.Client({ connectionString: database.url })
  await locker.connect()
})

afterEach(async () => {
  await locker.end()
  await raw.close()
})

async function holdRuns(count: number, session = ALICE): Promise<readonly ClaimedRun[]> {
  const ids = Array.from({ length: count }, () => randomUUID())
  await store.create(ids.map((runId) => newRun(runId, { workflowId: runId })))
  return (await claim(store, { runs: count }, session)).runs
}

async function lock(run: ClaimedRun | undefined, how = 'share'): Promise<void> {
  await locker.query('begin')
  await locker.query(`select 1 from ${schema}.live where run_id = $1 for ${how}`, [run?.head.runId])
}

/** Answers to all but the first, which needs what is locked; then the lock is given back and the first is answered, too. */
async function onlyTheFirstWaits<T>(answers: readonly Promise<T>[]): Promise<readonly T[]> {
  const [first, ...others] = answers
  let isFirst = false
  void first?.then(() => (isFirst = true))
  const rest = await Promise.all(others)
  expect(isFirst).toBe(false)
  await locker.query('commit')
  return [(await first) as T, ...rest]
}

test('stores D8: turns of other runs are committed while the row of one is locked', async () => {
  const runs = await holdRuns(20)
  await lock(runs[0])
  const answers = runs.map(async (run) => (await store.commit([turn(run)]))[0])
  const all = await onlyTheFirstWaits(answers)
  expect(all).toEqual(runs.map(() => ({ outcome: 'applied' })))
})

test('stores D8: a caller that signals with a start in an open transaction holds up that run only', async () => {
  const cart = newRun(randomUUID(), { workflowId: 'cart-7' })
  await store.create([cart])
  const runs = [...(await claim(store)).runs, ...(await holdRuns(9))]
  await locker.query('begin')
  const signalled = newRun(randomUUID(), {
    workflowId: 'cart-7',
    reuse: 'returnExisting',
    message: message('m'),
  })
  await raw.createIn(locker, [signalled])
  const answers = runs.map(async (run) => (await store.commit([turn(run)]))[0])
  await onlyTheFirstWaits(answers)
})

test('stores D8: a turn that sends a message to a locked run waits, and its neighbours do not', async () => {
  const runs = await holdRuns(10)
  const [target, sender, ...others] = runs
  await lock(target)
  const outbox = [{ type: 'post', runId: target?.head.runId ?? '', message: message('m') } as const]
  const turns = [turn(sender as ClaimedRun, { outbox }), ...others.map((run) => turn(run))]
  await onlyTheFirstWaits(turns.map(async (each) => (await store.commit([each]))[0]))
})

test('stores D8: messages for other runs are accepted while the row of one is locked, and its own stay in order', async () => {
  const runs = await holdRuns(6)
  await lock(runs[0], 'update')
  const post = (run: ClaimedRun | undefined, id: string) =>
    store.post([{ runId: run?.head.runId ?? '', message: message(id) }])
  const answers = runs.map((run) => post(run, 'm1'))
  await Promise.all(answers.slice(1))
  // Also those that are sent when the first ones are known to wait.
  const later = [post(runs[0], 'm2'), post(runs[0], 'm3')]
  await onlyTheFirstWaits(answers)
  await Promise.all(later)
  const { news } = await claim(store, { held: [runs[0]?.head.runId ?? ''] })
  expect(news[0]?.messages.map(({ id }) => id)).toEqual(['m1', 'm2', 'm3'])
})

test('stores D8: results of tasks are taken while the run of another task is locked', async () => {
  const runs = await holdRuns(5)
  const tasks = runs.map(() => newTask(randomUUID()))
  await store.commit(runs.map((run, index) => turn(run, { tasks: tasks.slice(index, index + 1), next: released() })))
  const claimed = (await claim(store, { runs: 0 })).tasks
  const [first, ...others] = claimed
  await lock(runs.find((run) => run.head.runId === first?.runId))
  const answers = [first, ...others].map(async (task) => (task ? await store.settle([done(task)]) : []))
  const all = await onlyTheFirstWaits(answers)
  expect(all.flat()).toEqual(claimed.map(() => ({ outcome: 'applied' })))
})

test('stores D8: runs are created while the workflow id of one is taken in an open transaction', async () => {
  await locker.query('begin')
  await raw.createIn(locker, [newRun(randomUUID(), { workflowId: 'taken', reuse: 'reject' })])
  const create = async (workflowId: string) =>
    (await store.create([newRun(randomUUID(), { workflowId, reuse: 'reject' })]))[0]
  const all = await onlyTheFirstWaits(['taken', 'b', 'c', 'd', 'e'].map(create))
  expect(all.map((each) => each?.outcome)).toEqual(['refused', 'created', 'created', 'created', 'created'])
})

test('stores D8: a dead session’s runs are freed but for one that is locked, which follows later', async () => {
  await openSession(store, BOB, 60_000)
  await openSession(store, CAROL, 60_000)
  const runs = await holdRuns(50, CAROL)
  await lock(runs[0])
  const silent = [{ session: CAROL, beat: 1 }]
  const first = await claim(store, { runs: 50, suspects: 50, silent })
  expect(first.runs).toHaveLength(49)
  // It is dead all the same.
  expect(await claim(store, {}, CAROL)).toMatchObject({ dead: true, runs: [] })
  expect(await store.renew(beat(CAROL, { beat: 2 }))).toMatchObject({ alive: false })
  await locker.query('commit')
  const held = first.runs.map(({ head }) => head.runId)
  const second = await claim(store, { runs: 50, suspects: 50, held }, BOB)
  expect(second.runs.map(({ head }) => head.runId)).toEqual([runs[0]?.head.runId])
  const { rows } = await locker.query(`select 1 from ${schema}.session where session = $1`, [CAROL])
  expect(rows).toEqual([])
})

test('stores D8: connections have bounds, so that nobody waits for ever', async () => {
  const [run] = await holdRuns(1)
  const names = ['tcp_keepalives_idle', 'client_connection_check_interval', 'lock_timeout', 'statement_timeout']
  const text = `select name, setting::int4 from pg_settings where name = any($1) order by name`
  const of = { runId: run?.head.runId ?? '', generation: 1, key: 'k' }
  const steps = await raw.transact(of, async (sql) => {
    const rows = (await sql.query(text, [names])) as { name: string; setting: number }[]
    return JSON.stringify(Object.fromEntries(rows.map(({ name, setting }) => [name, setting])))
  })
  // A body takes as long as it takes, but the server notices if nobody is there any more.
  expect(JSON.parse(steps)).toEqual({
    client_connection_check_interval: 5_000,
    lock_timeout: 0,
    statement_timeout: 0,
    tcp_keepalives_idle: 15,
  })
})

test('stores §2: the transaction of a step that only reads is not numbered', async () => {
  const [run] = await holdRuns(1)
  const of = { runId: run?.head.runId ?? '', generation: 1, key: 'k' }
  const numbered = await raw.transact(of, async (sql) => {
    const [row] = await sql.query('select pg_current_xact_id_if_assigned() is not null as numbered')
    return JSON.stringify(row)
  })
  expect(numbered).toBe('{"numbered":false}')
})
