// A purge of many runs beside a full load, on Postgres and SQLite: how much slower a backlog of three-step workflows is
// drained meanwhile, how fast runs go, and how large tables and files are after each of several cycles:
//   node purge.ts [--size 1000000] [--cycles 10] [--store postgres|sqlite]
// The worker that drains is the one that purges. Each figure is the median of several drains.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { connectPostgres, freshDatabase } from './database.ts'
import { fillPostgres, fillSqlite } from './many-runs.ts'
import { type Servers, startServers } from './servers.ts'
import { median } from './statistics.ts'
import { now, sleep } from './time.ts'

const { values: options } = parseArgs({
  options: {
    size: { type: 'string', default: '1000000' },
    cycles: { type: 'string', default: '10' },
    store: { type: 'string', multiple: true, default: ['postgres', 'sqlite'] },
  },
})
const size = Number(options.size)
const cycles = Number(options.cycles)
const backlog = 2_000
const drainsBefore = 7
const perCycle = 20_000

interface Subject {
  readonly name: string
  readonly url: string
  readonly fill: () => Promise<void>
  /** Waits until the space of what was purged can be used again. */
  readonly settled: () => Promise<void>
  /** Bytes of tables, indexes and files. */
  readonly bytes: () => Promise<number>
}

async function measure({ name, url, fill, bytes, settled }: Subject): Promise<void> {
  const { open, workflow } = await import('pawl')
  const three = workflow('three', async (ctx, n: number) => {
    for (const step of ['a', 'b', 'c']) await ctx.run(step, () => n)
  })
  const engine = await open(url, { workflows: [three] })
  await fill()
  const full = await bytes()
  const worker = engine.work({ signals: false })
  await worker.ready
  const inputs = Array.from({ length: backlog }, (_, n) => ({ input: n }))
  const drain = async (): Promise<number> => {
    const begun = now()
    const runs = await engine.startMany(three, inputs)
    await Promise.all(runs.map((run) => run.result()))
    return backlog / ((now() - begun) / 1_000)
  }
  for (let n = 0; n < 3; n++) await drain()
  const before: number[] = []
  for (let n = 0; n < drainsBefore; n++) before.push(await drain())
  const ended = { status: ['completed', 'failed', 'cancelled'] } as const
  const count = await engine.count(ended)
  const begun = now()
  await engine.retention.set({ keep: '30d' })
  const during: number[] = []
  while ((await engine.retention.get())?.lastPass === undefined) during.push(await drain())
  const seconds = (now() - begun) / 1_000
  const { purged, needed } = (await engine.retention.get())?.lastPass ?? { purged: 0, needed: 0 }
  const [was, is] = [median(before), median(during)]
  console.log(`\n${name}: ${count.toLocaleString('en')} ended runs\n`)
  console.log('| | |\n| --- | --- |')
  console.log(`| drain of ${backlog} three-step workflows, alone | ${was.toFixed(0)}/s |`)
  console.log(`| the same beside the purge, ${during.length} times | ${is.toFixed(0)}/s (${(is / was).toFixed(2)}) |`)
  console.log(
    `| purged | ${(purged / seconds).toFixed(0)} runs/s, ${seconds.toFixed(0)} s; ${needed} children of runs in progress stay |`,
  )
  console.log(`| size before | ${megabytes(full)} |`)
  console.log(`| size after | ${megabytes(await bytes())} |`)
  const sizes: string[] = []
  await engine.retention.set({ keep: 0 })
  for (let cycle = 0; cycle < cycles; cycle++) {
    for (let n = 0; n < perCycle / backlog; n++) await drain()
    await engine.retention.purge({ keep: 0 })
    await settled()
    sizes.push(megabytes(await bytes()))
  }
  console.log(`| after each of ${cycles} cycles of ${perCycle.toLocaleString('en')} runs | ${sizes.join(', ')} |`)
  await engine.close()
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(0)} MB`
}

async function onPostgres(servers: Servers): Promise<void> {
  const url = await freshDatabase(servers, 'bench_purge')
  const bytes = async (): Promise<number> => {
    const connection = await connectPostgres(url)
    const { rows } = await connection.query('select pg_database_size(current_database()) as bytes')
    await connection.end()
    return Number((rows[0] as { bytes: string }).bytes)
  }
  const connection = await connectPostgres(url)
  // Every minute by default, and a cycle here is over in seconds.
  await connection.query(`alter system set autovacuum_naptime = '2s'`)
  await connection.query('select pg_reload_conf()')
  await connection.end()
  const settled = async (): Promise<void> => {
    const watching = await connectPostgres(url)
    const begun = (await watching.query('select now() as now')).rows[0] as { now: Date }
    const text = `select count(*) as n from pg_stat_user_tables
      where relname in ('run', 'turn', 'closed') and last_autovacuum > $1`
    while (Number((await watching.query(text, [begun.now])).rows[0]?.n) < 3) await sleep(200)
    await watching.end()
  }
  await measure({ name: 'Postgres', url, fill: () => fillPostgres(url, size), bytes, settled })
}

async function onSqlite(servers: Servers): Promise<void> {
  const file = join(servers.folder, 'purge.db')
  const bytes = async (): Promise<number> => statSync(file).size
  await measure({
    name: 'SQLite',
    url: `sqlite:${file}`,
    fill: async () => fillSqlite(file, size),
    bytes,
    settled: async () => {},
  })
}

const servers = await startServers()
try {
  if (options.store.includes('postgres')) await onPostgres(servers)
  if (options.store.includes('sqlite')) await onSqlite(servers)
} finally {
  await servers.stop()
}
