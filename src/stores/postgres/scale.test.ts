// What calls cost when there is much of something, in blocks that the server looks at: no clock is involved.
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { type FreshDatabase, freshDatabase } from '../../../test/support/database.ts'
import { limits } from '../../core/base/limits.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import type { ClaimRequest, ListQuery } from '../../core/stores/store.ts'
import { ALICE, BOB, beat, claim, newRun, openSession, request } from '../../testing/conformance/builders.ts'
import { nameOf } from './functions/index.ts'
import { PostgresStore } from './index.ts'
import { PostgresReader } from './read.ts'

/** So many that looking at all of them takes hundreds of blocks, whichever way. */
const MANY = 30_000
const FEW_BLOCKS = 150

let database: FreshDatabase
let admin: pg.Client
let store: PostgresStore
let schema: string
let schemas = 0

beforeAll(async () => {
  database = await freshDatabase(inject('postgresUrl'))
  admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
})

afterAll(async () => {
  await admin.end()
  await database.drop()
}, 60_000)

async function openFresh(): Promise<void> {
  schema = `scale_${schemas++}`
  store = await PostgresStore.open(`${database.url}?schema=${schema}`, systemClock)
  await openSession(store)
  // So that there is a lane, which has the number 1.
  const runId = randomUUID()
  await store.create([newRun(runId, { workflowId: runId })])
  await admin.query(`delete from ${schema}.live; delete from ${schema}.run`)
  // Plans are kept, and are made when there is nothing yet.
  for (const reconcile of [{}, { reconcile: true } as const]) await admin.query(...claimCall(reconcile, 0))
}

/** Live runs, each due as many milliseconds from now as this says. */
async function addLive(columns: string, values: string, count = MANY): Promise<void> {
  const now = '(extract(epoch from now()) * 1000)::int8'
  await admin.query(
    `insert into ${schema}.live (run_id, lane, start_at, updated_at, at${columns})
      select gen_random_uuid(), 1, ${now}, ${now}, ${now} + ${values} from generate_series(1, ${count}) n`,
  )
}

/** Blocks that a statement has the server look at. */
async function blocksOf(text: string, values: readonly unknown[]): Promise<number> {
  const { rows } = await admin.query(`explain (analyze, buffers, format json) ${text}`, [...values])
  const [{ Plan: plan }] = (rows[0] as { 'QUERY PLAN': [{ Plan: Record<string, number> }] })['QUERY PLAN']
  return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0)
}

function claimCall(over: Partial<ClaimRequest>, since: number): [string, unknown[]] {
  const asked = JSON.stringify(request(ALICE, over))
  return [`select ${nameOf(schema, 'claim')}(null, $1, $2) as answer`, [asked, since]]
}

/** What a claim costs that comes after another one of its kind, on a connection that has its plans. */
async function nextClaim(over: Partial<ClaimRequest> = {}): Promise<number> {
  const { rows } = await admin.query(...claimCall(over, 0))
  const { since } = (rows[0] as { answer: { since: number } }).answer
  await blocksOf(...claimCall(over, since))
  return blocksOf(...claimCall(over, since))
}

describe('stores §2: claims', () => {
  beforeEach(openFresh)

  test('pass by runs that others hold', async () => {
    await openSession(store, BOB)
    await addLive(', session, epoch, nonce, deliveries', `(-600000), ${BOB}, 1, 1, 1`)
    expect(await nextClaim()).toBeLessThan(FEW_BLOCKS)
  })

  test('pass by runs that sleep', async () => {
    await addLive('', '86400000 + n')
    expect(await nextClaim()).toBeLessThan(FEW_BLOCKS)
    expect(await nextClaim({ reconcile: true })).toBeLessThan(FEW_BLOCKS)
  })

  test('pass by runs that this build has paused, and find those of others', async () => {
    const never = '(8640000000000000 - (extract(epoch from now()) * 1000)::int8)'
    await addLive(', status, parked_build', `${never}, 'paused', 'build-1'`)
    expect(await nextClaim()).toBeLessThan(FEW_BLOCKS)
    await addLive(', status, parked_build', `${never}, 'paused', 'build-0'`, 2)
    await addLive(', status, parked_build', `${never}, 'paused', 'build-2'`, 2)
    await addLive(', status, parked_build', `${never}, 'paused', ''`, 2)
    await admin.query(`insert into ${schema}.run (run_id, lane, created_at, digest, input)
      select run_id, lane, 1, 'd', '1' from ${schema}.live`)
    expect((await claim(store, { runs: 100 })).runs).toHaveLength(4)
  })

  test('of a session that ends or dies pass by runs that sleep', async () => {
    await addLive('', '86400000 + n')
    await openSession(store, BOB)
    const close = (session: number): Promise<number> =>
      blocksOf(`select ${nameOf(schema, 'renew')}(null, $1)`, [JSON.stringify(beat(session, { close: true }))])
    // The first makes the plans.
    await close(BOB)
    expect(await close(ALICE)).toBeLessThan(FEW_BLOCKS)
  })

  test('in vain write nothing', async () => {
    await admin.query('begin')
    await admin.query(...claimCall({}, 0))
    const { rows } = await admin.query('select pg_current_xact_id_if_assigned() as number')
    await admin.query('rollback')
    expect(rows).toEqual([{ number: null }])
  })

  test('ask each of many lanes once', async () => {
    await admin.query(`insert into ${schema}.lane (kind, queue, name, priority)
      select 'run', 'default', 'n' || n, 0 from generate_series(1, 500) n`)
    await admin.query(`insert into ${schema}.live (run_id, lane, start_at, updated_at, at)
      select gen_random_uuid(), 1 + n % 500, 0, 0, 4102444800000 + n from generate_series(1, ${MANY}) n`)
    expect((await nextClaim()) / 500).toBeLessThan(25)
  })

  test('stay on the pages of their runs', async () => {
    const ids = Array.from({ length: 2_000 }, () => randomUUID())
    for (let first = 0; first < ids.length; first += 250)
      await store.create(ids.slice(first, first + 250).map((runId) => newRun(runId, { workflowId: runId })))
    const pages = async (): Promise<Map<string, string>> => {
      const { rows } = await admin.query(`select run_id, (ctid::text::point)[0]::text as page from ${schema}.live`)
      return new Map((rows as { run_id: string; page: string }[]).map(({ run_id, page }) => [run_id, page]))
    }
    const before = await pages()
    for (let taken = 0; taken < ids.length; ) taken += (await claim(store, { runs: 256 })).runs.length
    const after = await pages()
    const moved = ids.filter((runId) => before.get(runId) !== after.get(runId))
    expect(moved.length / ids.length).toBeLessThan(0.02)
  })
})

test('stores §2: a run that comes to light long after it was due is found by a claim that looks at everything', async () => {
  await openFresh()
  // All but one claim of a moment begin where the last left off.
  let now = 0
  const clock = { ...systemClock, monotonic: () => now }
  const other = await PostgresStore.open(`${database.url}?schema=${schema}`, clock)
  await claim(other)
  await addLive('', '(-600000)', 1)
  await admin.query(`insert into ${schema}.run (run_id, lane, created_at, digest, input)
    select run_id, lane, 1, 'd', '1' from ${schema}.live`)
  expect((await claim(other)).runs).toEqual([])
  now += 10_001
  expect((await claim(other)).runs).toHaveLength(1)
  await other.close()
})

test('stores §2: plans of loads that are kept use indexes, although they are made while tables are small', async () => {
  schema = `scale_${schemas++}`
  const small = await PostgresStore.open(`${database.url}?schema=${schema}&pool=3`, systemClock)
  const runId = randomUUID()
  await small.create([newRun(runId, { workflowId: 'a' })])
  await admin.query(`vacuum analyze`)
  // From the sixth time on a connection keeps its plan.
  const rounds = 30
  for (let n = 0; n < rounds; n++) {
    const [named] = await small.load([{ type: 'named', workflowId: 'a' }])
    expect(named).toMatchObject({ runId })
    const [run] = await small.load([
      { type: 'run', runId },
      { type: 'history', runId, generation: 1, after: 0, turns: 8 },
      { type: 'history', runId, after: 0, turns: 8 },
      { type: 'tasks', runId },
      { type: 'notes', runId, generation: 1, key: 'k' },
    ])
    expect(run).toMatchObject({ run: { head: { runId } } })
  }
  await small.close()
  // The server has counted all when the connections have ended.
  for (const table of ['run', 'live', 'closed', 'turn', 'task', 'note'])
    await expect.poll(() => lookups(table), { message: table }).toBeGreaterThanOrEqual(rounds)
})

/** How often an index of the table was used. */
async function lookups(table: string): Promise<number> {
  const { rows } = await admin.query(
    'select idx_scan::int4 as count from pg_stat_user_tables where schemaname = $1 and relname = $2',
    [schema, table],
  )
  return (rows[0] as { count: number }).count
}

test('stores §2: a session that is late is told of, however many are not', async () => {
  await openFresh()
  await admin.query(`insert into ${schema}.session (session, worker, beat, expires_at, about, ttl_ms, latest)
    select 1000000 + n, 'w', 1, (extract(epoch from now()) * 1000)::int8 + 3600000, '{}', 3600000, 0
    from generate_series(1, ${limits.lateSessionsMax + 200}) n`)
  const late = 1_000_000 + limits.lateSessionsMax + 100
  await admin.query(`update ${schema}.session set expires_at = expires_at - 3601000 where session = ${late}`)
  expect((await store.claim(request(ALICE))).late).toMatchObject([{ session: late }])
})

const equal = (name: string, value: string) => [{ name, is: 'eq', value }] as const

describe('stores §2: reading', () => {
  const seen: number[] = []
  let reader: PostgresReader

  beforeAll(async () => {
    await openFresh()
    await admin.query(`
      insert into ${schema}.run (run_id, lane, created_at, digest, input)
        select ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 1, n, 'd', '1' from generate_series(1, ${MANY}) n;
      insert into ${schema}.closed (run_id, status, closed_at, generation, seq, count, turn_id, epoch, body)
        select run_id, case when created_at % 1000 = 0 then 'failed' else 'completed' end, created_at, 1, 0, 1, 1, 1, '{}'
        from ${schema}.run;
      insert into ${schema}.turn (run_id, generation, seq, count, turn_id, epoch, body)
        select '00000000-0000-7000-8000-000000000001', 1, n, 1, 1, 1, repeat('x', 200) from generate_series(0, ${MANY - 1}) n;
      insert into ${schema}.attribute (run_id, name, kind, text)
        select run_id, 'region', 'text', case when created_at % 2 = 0 then 'eu' else 'us' end from ${schema}.run;
      insert into ${schema}.attribute_item (run_id, name, place, text)
        select run_id, 'tags', 0, 'c' || created_at % 4001 from ${schema}.run;
      insert into ${schema}.attribute_item (run_id, name, place, text)
        select run_id, 'tags', 1, 'common' from ${schema}.run;
      analyze ${schema}.run, ${schema}.closed, ${schema}.live, ${schema}.turn, ${schema}.attribute, ${schema}.attribute_item`)
    reader = new PostgresReader(async <Row>(text: string, values: readonly unknown[]) => {
      seen.push(await blocksOf(text, values))
      return (await admin.query(text, [...values])).rows as Row[]
    }, schema)
  })

  async function listing(query: Partial<ListQuery>): Promise<{ found: number; blocks: number }> {
    seen.length = 0
    const { runs } = await reader.list({ limit: 20, ...query }, null)
    return { found: runs.length, blocks: seen.reduce((a, b) => a + b, 0) }
  }

  test.each<[string, Partial<ListQuery>, number, number]>([
    ['the newest', {}, 20, 500],
    ['what is running when nothing is', { statuses: ['running'] }, 0, 100],
    ['what failed, if little did', { statuses: ['failed'] }, 20, 1_500],
    ['an unknown workflow id', { workflowId: 'nobody' }, 0, 100],
    ['an unknown id', { workflowId: randomUUID() }, 0, 100],
    ['an unknown name', { names: ['nobody'] }, 0, 100],
    ['a common attribute', { attributes: equal('region', 'eu') }, 20, 1_000],
    ['an unknown attribute', { attributes: equal('region', 'mars') }, 0, 100],
    ['a rare text of lists', { attributes: equal('tags', 'c17') }, 8, 1_000],
    ['a common text of lists', { attributes: equal('tags', 'common') }, 20, 1_500],
    ['an unknown text of lists', { attributes: equal('tags', 'nobody') }, 0, 100],
  ])('%s is found without looking at all runs', async (_what, query, count, most) => {
    const { found, blocks } = await listing(query)
    expect(found).toBe(count)
    expect(blocks).toBeLessThan(most)
  })

  test('a page of a long history costs what is in it', async () => {
    const runId = '00000000-0000-7000-8000-000000000001'
    const page = async (after: number): Promise<number> => {
      seen.length = 0
      await reader.load([{ type: 'history', runId, generation: 1, after, turns: 500 }], null)
      return seen.reduce((a, b) => a + b, 0)
    }
    expect(await page(0)).toBeLessThan(100)
    expect(await page(15_000)).toBeLessThan(100)
  })

  test('a page of a history is bounded by bytes, and says that there is more', async () => {
    const runId = 'ffffffff-0000-7000-8000-000000000002'
    await admin.query(`insert into ${schema}.turn (run_id, generation, seq, count, turn_id, epoch, body)
      select '${runId}', 1, n, 1, 1, 1, repeat('x', 3000000) from generate_series(0, 4) n`)
    const page = async (after: number) =>
      (await reader.load([{ type: 'history', runId, generation: 1, after, turns: 8 }], null))[0]
    const turns = (...seqs: number[]) => seqs.map((seq) => expect.objectContaining({ seq }))
    expect(await page(0)).toEqual({ type: 'history', turns: turns(0, 1, 2), more: true })
    expect(await page(3)).toEqual({ type: 'history', turns: turns(3, 4) })
  })
})
