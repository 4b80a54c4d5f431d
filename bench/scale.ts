// What calls to the Postgres store cost when there is much of something, as a table in Markdown. It speaks to the store
// itself, so an older checkout can be measured by the same means: node scale.ts [--checkout ../older] [--size 100000]
import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Client } from 'pg'
import { connectPostgres, freshDatabase } from './database.ts'
import { type Servers, startServers } from './servers.ts'
import { median } from './statistics.ts'
import { now } from './time.ts'

const { values: options } = parseArgs({
  options: {
    checkout: { type: 'string', default: '..' },
    size: { type: 'string', default: '100000' },
  },
})
const size = Number(options.size)
const rounds = 15

type Call = (...args: readonly unknown[]) => Promise<unknown>
type Store = Readonly<Record<'create' | 'claim' | 'renew' | 'load' | 'list' | 'close', Call>>

interface Place {
  readonly store: Store
  readonly sql: Client
}

const NEVER = '8640000000000000'
const NOW = '(extract(epoch from now()) * 1000)::int8'
const SESSION = 1
const OTHER = 2

async function main(): Promise<void> {
  const servers = await startServers()
  try {
    console.log(`Size ${size.toLocaleString('en')}; ${rounds} calls each, in milliseconds.\n`)
    console.log('| what there is | what is called | p50 ms | max ms |')
    console.log('| --- | --- | --- | --- |')
    for (const measure of [claims, sessions, lanes, histories, lists, creations]) await measure(servers)
  } finally {
    await servers.stop()
  }
}

/** A store on a database of its own, whose connections have made their plans on empty tables. */
async function withStore(servers: Servers, use: (place: Place) => Promise<void>): Promise<void> {
  const url = await freshDatabase(servers, 'bench_scale')
  const from = (path: string): Promise<Record<string, unknown>> =>
    import(resolve(options.checkout, 'src', path)) as Promise<Record<string, unknown>>
  const { PostgresStore } = await from('stores/postgres/index.ts')
  const { systemClock } = await from('core/runtime/clock.ts').catch(() => from('runtime/clock.ts'))
  const opened = PostgresStore as { open(url: string, clock: unknown): Promise<Store> }
  const store = await opened.open(`${url}?pool=3`, systemClock)
  const sql = await connectPostgres(url)
  try {
    for (const session of [SESSION, OTHER]) await store.renew(beat(session))
    await store.create([newRun()])
    for (let n = 0; n < 10; n++) await store.claim(claimOf())
    await sql.query('truncate pawl.live, pawl.run, pawl.turn, pawl.closed')
    await use({ store, sql })
  } finally {
    await sql.end()
    await store.close()
  }
}

function beat(session: number, more: object = {}): object {
  return { session, worker: 'w', beat: 1, ttlMs: 30_000_000, tasks: [], about: '{}', ...more }
}

function newRun(more: object = {}): object {
  const runId = randomUUID()
  const run = { runId, name: 'a', queue: 'default', priority: 0, workflowId: runId }
  return { ...run, reuse: 'allow', input: '{"json":1}', digest: '0123456789abcdef', ...more }
}

function claimOf(more: object = {}): object {
  const who = { session: SESSION, nonce: Math.floor(Math.random() * 2 ** 40), build: 'b' }
  const served = { queues: ['default'], workflows: null, activities: null }
  const held = { held: [], heldTasks: [], silent: [] }
  return { ...who, ...served, ...held, runs: 256, suspects: 0, tasks: 200, ...more }
}

async function row(there: string, called: string, call: () => Promise<unknown>, times = rounds): Promise<void> {
  const ms: number[] = []
  for (let n = 0; n < times; n++) {
    const begun = now()
    await call()
    ms.push(now() - begun)
  }
  console.log(`| ${there} | ${called} | ${median(ms).toFixed(2)} | ${Math.max(...ms).toFixed(2)} |`)
}

async function addLive({ sql }: Place, columns: string, values: string, count = size): Promise<void> {
  await sql.query(`insert into pawl.live (run_id, lane, start_at, updated_at, at${columns})
    select gen_random_uuid(), 1, ${NOW}, ${NOW}, ${values} from generate_series(1, ${count}) n`)
  await sql.query(`insert into pawl.run (run_id, lane, created_at, digest, input)
    select run_id, lane, ${NOW}, 'd', '{"json":1}' from pawl.live on conflict do nothing`)
}

async function claims(servers: Servers): Promise<void> {
  const situations: readonly [string, string, string][] = [
    ['nothing', '', ''],
    ['sleeping runs', '', `${NOW} + 86400000 + n`],
    ['runs that others hold', ', session, epoch, nonce, deliveries', `${NOW} - 600000, ${OTHER}, 1, 1, 1`],
    ['runs paused by this build', ', status, parked_build', `${NEVER}, 'paused', 'b'`],
    ['due runs pinned to another build', ', pin', `${NOW} - 600000, 'x'`],
  ]
  for (const [there, columns, values] of situations) {
    await withStore(servers, async (place) => {
      if (values !== '') await addLive(place, columns, values)
      await row(there, 'claim', () => place.store.claim(claimOf()))
      await row(there, 'claim, reconciling', () => place.store.claim(claimOf({ reconcile: true })))
    })
  }
  await withStore(servers, async (place) => {
    await addLive(place, '', `${NOW} - 1000`)
    await row('ready runs', 'claim of 256', () => place.store.claim(claimOf()))
  })
  await withStore(servers, async (place) => {
    const old = await connectPostgres(new URL('/bench_scale', servers.postgresUrl).href)
    await old.query('begin; select pg_current_xact_id()')
    await addLive(place, '', `${NOW} - 1000`)
    await place.sql.query('delete from pawl.live')
    await row('runs that came and went while a transaction is open', 'claim', () => place.store.claim(claimOf()))
    await old.end()
  })
}

async function sessions(servers: Servers): Promise<void> {
  await withStore(servers, async (place) => {
    await addLive(place, '', `${NOW} + 86400000 + n`, size * 10)
    const close = async (): Promise<void> => {
      await place.store.renew(beat(OTHER, { close: true }))
      await place.store.renew(beat(OTHER))
    }
    await row('ten times as many sleeping runs', 'a session closes', close, 5)
    await row('ten times as many sleeping runs', 'claim, reconciling', () =>
      place.store.claim(claimOf({ reconcile: true })),
    )
  })
}

async function lanes(servers: Servers): Promise<void> {
  for (const count of [64, 1_000]) {
    await withStore(servers, async ({ store, sql }) => {
      await sql.query(`insert into pawl.lane (kind, queue, name, priority)
        select 'run', 'default', 'n' || n, 0 from generate_series(1, ${count}) n`)
      await row(`${count} lanes`, 'claim', () => store.claim(claimOf()))
    })
  }
}

async function histories(servers: Servers): Promise<void> {
  await withStore(servers, async ({ store, sql }) => {
    const runId = randomUUID()
    await sql.query(`insert into pawl.turn (run_id, generation, seq, count, turn_id, epoch, body)
      select '${runId}', 1, n, 1, 1, 1, repeat('x', 200) from generate_series(0, ${size - 1}) n`)
    const read = async (): Promise<void> => {
      for (let after = 0; after < size; after += 500)
        await store.load([{ type: 'history', runId, generation: 1, after, turns: 500 }])
    }
    await row('a history of so many turns', 'reading all of it', read, 3)
  })
}

async function lists(servers: Servers): Promise<void> {
  await withStore(servers, async ({ store, sql }) => {
    await sql.query(`insert into pawl.run (run_id, lane, created_at, digest, input)
      select gen_random_uuid(), 1, n, 'd', '{"json":1}' from generate_series(1, ${size * 10}) n`)
    await sql.query(`insert into pawl.closed (run_id, status, closed_at, generation, seq, count, turn_id, epoch, body)
      select run_id, case when created_at % 1000 = 0 then 'failed' else 'completed' end, created_at, 1, 0, 1, 1, 1, '{}'
      from pawl.run`)
    await sql.query('analyze')
    const queries: readonly [string, object][] = [
      ['the newest', {}],
      ['running', { statuses: ['running'] }],
      ['failed', { statuses: ['failed'] }],
      ['an unknown workflow id', { workflowId: 'nobody' }],
      ['an unknown name', { names: ['nobody'] }],
      ['count of completed', { statuses: ['completed'], count: true }],
    ]
    for (const [called, query] of queries)
      await row('ten times as many ended runs', `list: ${called}`, () => store.list({ limit: 50, ...query }), 5)
  })
}

async function creations(servers: Servers): Promise<void> {
  await withStore(servers, async ({ store }) => {
    const many = (count: number, more: object = {}): object[] => Array.from({ length: count }, () => newRun(more))
    const eager = { eager: { session: SESSION, nonce: 1 } }
    const named = (): object => newRun({ workflowId: randomUUID(), reuse: 'reject' })
    const told = (): object => newRun({ workflowId: randomUUID(), message: { id: 'm', body: '{}' } })
    await row('nothing', 'create 256 plain', () => store.create(many(256)))
    await row('nothing', 'create 256 eager', () => store.create(many(256, eager)))
    await row('nothing', 'create 255 plain and 1 named', () => store.create([...many(255), named()]))
    await row('nothing', 'create 255 plain and 1 with a message', () => store.create([...many(255), told()]))
  })
}

await main()
