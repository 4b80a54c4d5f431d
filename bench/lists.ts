// Lists and counts over many runs, on Postgres and SQLite, with every kind of filter, through the HTTP API:
//   node lists.ts [--size 1000000] [--rounds 40] [--store postgres|sqlite] [--plans]
// p50 and p99 in milliseconds of the first page of 50 runs, and of a count that stops at 10,000; the store is loaded with
// SQL. With --plans, the plan of each query of Postgres that took longer than 20 ms.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { connectPostgres, freshDatabase } from './database.ts'
import { apartMs, fillPostgres, fillSqlite, firstAt } from './many-runs.ts'
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
const slowMs = 20

/** Postgres logs the plans of slow queries. */
async function logPlans(url: string): Promise<void> {
  const connection = await connectPostgres(url)
  const set = (name: string, value: string) => connection.query(`alter database bench_lists set ${name} = ${value}`)
  await set('session_preload_libraries', 'auto_explain')
  await set('auto_explain.log_min_duration', `${slowMs}`)
  await set('auto_explain.log_analyze', 'on')
  await connection.end()
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
  await fillPostgres(url, size)
  if (options.plans) await logPlans(url)
  await measure(url, 'Postgres')
  if (options.plans) console.log(readFileSync(join(servers.folder, 'postgres', 'server.log'), 'utf8'))
}

async function onSqlite(servers: Servers): Promise<void> {
  const file = join(servers.folder, 'lists.db')
  const { open } = await import('pawl')
  await (await open(`sqlite:${file}`)).close()
  fillSqlite(file, size)
  await measure(`sqlite:${file}`, 'SQLite')
}

const servers = await startServers()
try {
  if (options.store.includes('postgres')) await onPostgres(servers)
  if (options.store.includes('sqlite')) await onSqlite(servers)
} finally {
  await servers.stop()
}
