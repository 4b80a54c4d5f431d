// Lists and counts over many runs, on Postgres and SQLite, with every kind of filter, through the HTTP API:
//   node lists.ts [--size 1000000] [--rounds 40] [--store postgres|sqlite] [--plans]
// p50 and p99 in milliseconds of the first page of 50 runs, and of a count that stops at 10,000; the store is loaded with
// SQL. With --plans, the plan of each query of Postgres that took longer than 20 ms.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { connectPostgres, freshDatabase } from './database.ts'
import { type Servers, startServers } from './servers.ts'
import { summarize } from './statistics.ts'
import { now } from './time.ts'

const { values: options } = parseArgs({
  options: {
    size: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '40' },
    store: { type: 'string', multiple: true, default: ['postgres', 'sqlite'] },
    plans: { type: 'boolean', default: false },
  },
})
const size = Number(options.size)
const rounds = Number(options.rounds)
const countMost = 10_000
const firstAt = 1_760_000_000_000
const apartMs = 1_000
const slowMs = 20

/** How a database words what the rows are made of; `n` numbers the runs. */
interface Words {
  readonly table: (name: string) => string
  readonly id: (n: string) => string
  readonly numbers: (count: number) => string
}

const postgres: Words = {
  table: (name) => `pawl.${name}`,
  id: (n) => `('01980000-0000-7000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`,
  numbers: (count) => `generate_series(1, ${count}) n`,
}
const sqlite: Words = {
  table: (name) => `pawl_${name}`,
  id: (n) => `printf('01980000-0000-7000-8000-%012x', ${n})`,
  numbers: (count) => `(select value as n from generate_series(1, ${count}))`,
}

/** A twentieth of the runs is in progress, a thirty-third failed, a tenth are children. */
function rowsOf({ table, id, numbers }: Words): string[] {
  const from = `from ${numbers(size)}`
  const createdAt = `${firstAt} + n * ${apartMs}`
  const lane = 'case when n % 10000 = 1 then 50 else 1 + n % 49 end'
  const isLive = 'n % 20 = 0'
  const live = `case when n % 2000 = 0 then 'paused' else 'waiting' end`
  const waits = `case when n % 100000 = 0 then 'signal:rare' when n % 3 = 0 then 'signal:approval'
    when n % 3 = 1 then 'timer' else 'activity:charge' end`
  const hasFailed = 'n % 33 = 1'
  const ended = `case when ${hasFailed} then 'failed' when n % 50 = 3 then 'cancelled' else 'completed' end`
  const failure = `case when ${hasFailed} then 'failed:E' || (n % 20) end`
  const attribute = (name: string, kind: 'text' | 'number', value: string): string => {
    const columns = kind === 'text' ? `'text', ${value}, null` : `'number', null, ${value}`
    return `insert into ${table('attribute')} (run_id, name, kind, text, number)
      select ${id('n')}, '${name}', ${columns} ${from}`
  }
  const lanes = Array.from({ length: 50 }, (_, n) => `(${n + 1}, 'run', 'default', 'w${n + 1}', 0)`)
  return [
    `insert into ${table('lane')} (lane, kind, queue, name, priority) OVERRIDING values ${lanes.join(', ')}`,
    `insert into ${table('run')} (run_id, lane, workflow_id, parent_id, parent_generation, parent_key, created_at, digest,
      input) select ${id('n')}, ${lane}, 'order-' || n, case when n % 10 = 5 then ${id('n - 5')} end,
      case when n % 10 = 5 then 1 end, case when n % 10 = 5 then 'k' end, ${createdAt}, 'd', '{"json":1}' ${from}`,
    `insert into ${table('live')} (run_id, lane, start_at, updated_at, at, status, reason)
      select ${id('n')}, ${lane}, ${createdAt}, ${createdAt}, 8640000000000000, ${live}, ${waits} ${from} where ${isLive}`,
    `insert into ${table('closed')} (run_id, status, closed_at, generation, seq, count, turn_id, epoch, body, reason
      CREATED) select ${id('n')}, ${ended}, ${createdAt}, 1, 0, 1, 1, 1,
      '{"build":"b","events":[{"type":"RunCompleted","at":1,"value":{"json":1}}]}', ${failure} AT ${from}
      where not (${isLive})`,
    attribute('region', 'text', `'r' || (n % 5)`),
    attribute('customer', 'text', `'c' || (n % 100000)`),
    attribute('total', 'number', 'n % 1000'),
  ]
}

async function fillPostgres(url: string): Promise<void> {
  const connection = await connectPostgres(url)
  for (const text of rowsOf(postgres)) {
    await connection.query(
      text.replace('OVERRIDING', 'overriding system value').replace('CREATED', '').replace('AT from', 'from'),
    )
  }
  await connection.query('vacuum analyze')
  if (options.plans) {
    const set = (name: string, value: string) => connection.query(`alter database bench_lists set ${name} = ${value}`)
    await set('session_preload_libraries', 'auto_explain')
    await set('auto_explain.log_min_duration', `${slowMs}`)
    await set('auto_explain.log_analyze', 'on')
  }
  await connection.end()
}

function fillSqlite(file: string): void {
  const database = new DatabaseSync(file)
  database.exec('pragma synchronous = off; begin')
  const made = sqlite.numbers(size)
  const recursive = `(with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${size})
    select n from numbers)`
  const createdAt = `${firstAt} + n * ${apartMs}`
  for (const text of rowsOf(sqlite)) {
    const words = text
      .replace('OVERRIDING', '')
      .replace('CREATED', ', created_at')
      .replace('AT from', `, ${createdAt} from`)
    database.exec(words.replaceAll(made, recursive))
  }
  database.exec('commit; analyze')
  database.close()
}

const at = (n: number): string => new Date(firstAt + n * apartMs).toISOString()
const text = (value: unknown): string => encodeURIComponent(JSON.stringify(value))
const idOf = (n: number): string => `01980000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`

const filters: readonly string[] = [
  '',
  'status=failed',
  'status=waiting',
  'status=failed,cancelled',
  'status=completed',
  'workflow=w7',
  'workflow=w50',
  'workflow=w7,w8',
  'workflow=nobody',
  'workflow=w7&status=failed',
  'workflow=w50&status=waiting',
  `attributes=${text({ region: 'r1' })}`,
  `attributes=${text({ customer: 'c77' })}`,
  `attributes=${text({ customer: 'nobody' })}`,
  `attributes=${text({ region: 'r1', customer: 'c76' })}`,
  `attributes=${text({ region: 'r1' })}&status=failed`,
  `attributes=${text({ region: 'nowhere' })}&status=completed`,
  `attributes=${text({ total: { gte: 990 } })}`,
  `attributes=${text({ total: { gte: 990 } })}&status=failed`,
  `attributes=${text({ total: { gt: 5_000 } })}`,
  'workflowId=order-500000',
  'workflowIdPrefix=order-99999',
  'workflowIdPrefix=order-1',
  'workflowIdPrefix=nothing',
  `parentRunId=${idOf(500_000)}`,
  'waitingFor=signal:approval',
  'waitingFor=signal:rare',
  'waitingFor=signal',
  'waitingFor=signal:none',
  'failure=E7',
  'failure=None',
  'failure=E7&workflow=w7',
  'build=none',
  `startedAfter=${at(size - 3_600)}`,
  `startedAfter=${at(size / 2)}&startedBefore=${at(size / 2 + 3_600)}&status=failed`,
]

async function measure(storeUrl: string, store: string): Promise<void> {
  const { open } = await import('pawl')
  const { server } = await import('pawl/server')
  const engine = await open(storeUrl)
  const api = server(engine)
  const { url } = await api.listen({ port: 0 })
  const get = async (path: string): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${url}/api/v1/${path}`)
    const body = (await answer.json()) as Record<string, unknown>
    if (!answer.ok) throw new Error(`${path}: ${JSON.stringify(body)}`)
    return body
  }
  const time = async (path: string): Promise<readonly number[]> => {
    const ms: number[] = []
    for (let n = 0; n < rounds; n++) {
      const begun = now()
      await get(path)
      ms.push(now() - begun)
    }
    return ms
  }
  const shown = (samples: readonly number[]): string => {
    const { p50, p99 } = summarize(samples)
    return `${p50.toFixed(1)} | ${p99.toFixed(1)}`
  }
  console.log(`\n${store}, ${size.toLocaleString('en')} runs\n`)
  console.log('| filter | runs | page, p50 | p99 | count, p50 | p99 |')
  console.log('| --- | --- | --- | --- | --- | --- |')
  const everything: number[] = []
  for (const filter of filters) {
    const count = `runs/count?${filter}&atMost=${countMost}`
    const runs = (await get(count))['count'] as number
    const [pages, counts] = [await time(`runs?${filter}`), await time(count)]
    everything.push(...pages, ...counts)
    const name = decodeURIComponent(filter) || 'none'
    console.log(`| \`${name}\` | ${runs === countMost ? '10,000 +' : runs} | ${shown(pages)} | ${shown(counts)} |`)
  }
  console.log(`| all of them | | ${shown(everything)} | | |`)
  await api.close()
  await engine.close()
}

async function onPostgres(servers: Servers): Promise<void> {
  const url = await freshDatabase(servers, 'bench_lists')
  const { open } = await import('pawl')
  await (await open(url)).close()
  await fillPostgres(url)
  await measure(url, 'Postgres')
  if (options.plans) console.log(readFileSync(join(servers.folder, 'postgres', 'server.log'), 'utf8'))
}

async function onSqlite(servers: Servers): Promise<void> {
  const file = join(servers.folder, 'lists.db')
  const { open } = await import('pawl')
  await (await open(`sqlite:${file}`)).close()
  fillSqlite(file)
  await measure(`sqlite:${file}`, 'SQLite')
}

const servers = await startServers()
try {
  if (options.store.includes('postgres')) await onPostgres(servers)
  if (options.store.includes('sqlite')) await onSqlite(servers)
} finally {
  await servers.stop()
}
