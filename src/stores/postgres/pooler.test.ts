// Behind PgBouncer in transaction mode, where each transaction may meet another connection of the server.
import { open, workflow } from 'pawl'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { type FreshDatabase, freshDatabase } from '../../../test/support/database.ts'
import { type RunningPgbouncer, startPgbouncer } from '../../../test/support/pgbouncer.ts'
import { scriptStartMsMax } from '../../../test/support/script.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import { conformance, type OpenFixture, runCase } from '../../testing/conformance/index.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { PostgresStore } from './index.ts'

let database: FreshDatabase
let bouncer: RunningPgbouncer
let url: string
let schemas = 0

beforeAll(async () => {
  database = await freshDatabase(inject('postgresUrl'))
  bouncer = await startPgbouncer(database.url)
  url = bouncer.urlOf(database.url)
}, scriptStartMsMax)

afterAll(async () => {
  await bouncer.stop()
  await database.drop()
}, 180_000)

async function makeFixture(): Promise<OpenFixture> {
  const place = `${url}?schema=pooled_${schemas++}`
  const clock = new VirtualClock()
  const stores: PostgresStore[] = []
  const openOne = async (): Promise<PostgresStore> => {
    const store = await PostgresStore.open(place, clock, { virtualTime: true })
    stores.push(store)
    return store
  }
  const close = async (): Promise<void> => {
    await Promise.all(stores.map((store) => store.close()))
  }
  return { store: await openOne(), clock, other: openOne, close }
}

// All of it is run without a pooler. What differs here is the way to the server, which every part of it takes.
describe('stores D13: behind a pooler', () => {
  const some = conformance.filter((_, index) => index % 4 === 0)
  for (const each of some) test(each.name, () => runCase(each, makeFixture))
})

test('stores D13: workflows run behind a pooler, with transactions, timers and messages', async () => {
  const admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
  await admin.query('create table paid (who text)')
  const payment = workflow('payment', async (ctx, who: string) => {
    await ctx.sleep(20)
    await ctx.transaction('pay', (sql) => sql.query('insert into paid values ($1)', [who]))
    return ctx.run('greet', () => `hello ${who}`)
  })
  const engine = await open(`${url}?schema=workflows` as 'postgres://', { workflows: [payment] })
  try {
    engine.work()
    const runs = await Promise.all(Array.from({ length: 40 }, (_, n) => engine.start(payment, `${n}`)))
    const results = await Promise.all(runs.map((run) => run.result()))
    expect(results).toEqual(runs.map((_, n) => `hello ${n}`))
  } finally {
    await engine.close()
  }
  const { rows } = await admin.query('select count(distinct who)::int4 as some, count(*)::int4 as all from paid')
  expect(rows).toEqual([{ some: 40, all: 40 }])
  await admin.end()
})

test('stores D13: hints come by a direct connection, if the URL names one', async () => {
  const place = `${url}?schema=hints`
  const deaf = await PostgresStore.open(place, systemClock)
  expect(deaf.traits.push).toBe(false)
  const store = await PostgresStore.open(`${place}&listen=${encodeURIComponent(database.url)}`, systemClock)
  expect(store.traits.push).toBe(true)
  const heard: string[] = []
  store.wake(({ type }) => heard.push(type))
  const until = async (type: string): Promise<void> => {
    while (!heard.includes(type)) await systemClock.breathe()
  }
  await until('changed')
  await deaf.renew({
    session: 1,
    worker: 'w',
    beat: 1,
    ttlMs: 1_000,
    tasks: [],
    about: '',
    close: true,
  })
  await until('ready')
  await Promise.all([store.close(), deaf.close()])
})

test('stores D5: a database of repeatable read is refused behind a pooler, which cannot change it', async () => {
  const other = await freshDatabase(inject('postgresUrl'))
  const name = new URL(other.url).pathname.slice(1)
  const admin = new pg.Client({ connectionString: other.url })
  await admin.connect()
  await admin.query(`alter database ${name} set default_transaction_isolation = 'repeatable read'`)
  await admin.end()
  await expect(PostgresStore.open(bouncer.urlOf(other.url), systemClock)).rejects.toMatchObject({
    code: 'STORE_UNSUITABLE',
    message: expect.stringMatching(/repeatable read.*alter role/),
  })
  await other.drop()
})
