// What the machine itself can do: the floors and ceilings every engine lives with. Same servers and the
// same noise gate as the benchmark. node limits.ts [--rounds 3] [--hasty]
import { closeSync, fdatasyncSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import type { Client } from 'pg'
import { connectPostgres, freshDatabase } from './database.ts'
import { loadPeer } from './peers/load.ts'
import { hastyRules, measureQuietly, patientRules } from './quiet.ts'
import { type Servers, startServers } from './servers.ts'
import { median, summarize } from './statistics.ts'
import { now } from './time.ts'

const measureMs = 2_500
const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, hasty: { type: 'boolean', default: false } },
})
const rounds = Number(options.rounds)
const rules = options.hasty ? hastyRules : patientRules

async function main(): Promise<void> {
  const servers = await startServers()
  try {
    console.log('| limit | per second | p50 ms | p99 ms | quiet rounds |')
    console.log('| --- | --- | --- | --- | --- |')
    await measurePostgres(servers)
    await measureNotifications(servers)
    await measureFile(servers)
    await measureSqlite(servers)
    await measureRedis(servers)
  } finally {
    await servers.stop()
  }
}

async function measurePostgres(servers: Servers): Promise<void> {
  const url = await freshDatabase(servers, 'bench_limits')
  const lanes = await Promise.all(Array.from({ length: 16 }, () => connectPostgres(url)))
  const [first] = lanes
  if (!first) return
  await first.query('CREATE TABLE entry (id bigserial PRIMARY KEY, body text)')
  for (const count of [1, 4, 16]) {
    await limit(`Postgres one-row commits, ${count} connections`, () => race(lanes, count, insertOne))
  }
  for (const count of [100, 1_000]) {
    const insertMany = insertOf(count)
    await limit(`Postgres rows, ${count} per commit`, () => race(lanes, 1, insertMany), count)
  }
  await limit('Postgres SELECT 1', () => race(lanes, 1, (lane) => lane.query(selectOne)))
  for (const lane of lanes) await lane.query('SET synchronous_commit = off')
  await limit('Postgres one-row commits, not durable', () => race(lanes, 1, insertOne))
  await Promise.all(lanes.map((lane) => lane.end()))
}

const selectOne = { name: 'select-one', text: 'SELECT 1' }

const insertOne = (lane: Client): Promise<unknown> =>
  lane.query({ name: 'one', text: 'INSERT INTO entry (body) VALUES ($1)', values: ['x'] })

function insertOf(count: number): (lane: Client) => Promise<unknown> {
  const values = [Array.from({ length: count }, () => 'x')]
  const text = 'INSERT INTO entry (body) SELECT unnest($1::text[])'
  return (lane) => lane.query({ name: 'many', text, values })
}

const race = (lanes: readonly Client[], count: number, use: (lane: Client) => Promise<unknown>): Promise<number[]> =>
  repeat(lanes.slice(0, count).map((lane) => () => use(lane)))

async function measureNotifications(servers: Servers): Promise<void> {
  const url = await freshDatabase(servers, 'bench_limits')
  const [speaker, listener] = await Promise.all([connectPostgres(url), connectPostgres(url)])
  await listener.query('LISTEN bench')
  let heard: () => void = () => {}
  listener.on('notification', () => heard())
  const notify = async (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>()
    heard = resolve
    await speaker.query('NOTIFY bench')
    await promise
  }
  await limit('Postgres NOTIFY to LISTEN', () => repeat([notify]))
  await Promise.all([speaker.end(), listener.end()])
}

async function measureFile({ folder }: Servers): Promise<void> {
  const path = join(folder, 'limits.bin')
  const file = openSync(path, 'w')
  const page = Buffer.alloc(8_192, 1)
  await limit('fdatasync, 8 kB overwritten', () =>
    repeat([
      () => {
        writeSync(file, page, 0, page.length, 0)
        fdatasyncSync(file)
      },
    ]),
  )
  await limit('fsync, 8 kB appended', () =>
    repeat([
      () => {
        writeSync(file, page)
        fsyncSync(file)
      },
    ]),
  )
  closeSync(file)
  rmSync(path)
}

async function measureSqlite({ folder }: Servers): Promise<void> {
  const database = new DatabaseSync(join(folder, 'limits.db'))
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE entry (id integer PRIMARY KEY, body text)')
  const insert = database.prepare('INSERT INTO entry (body) VALUES (?)')
  const insertMany = (): void => {
    database.exec('BEGIN')
    for (let row = 0; row < 1_000; row++) insert.run('x')
    database.exec('COMMIT')
  }
  database.exec('PRAGMA synchronous = FULL')
  await limit('SQLite one-row commits', () => repeat([() => insert.run('x')]))
  await limit('SQLite rows, 1000 per commit', () => repeat([insertMany]), 1_000)
  database.exec('PRAGMA synchronous = NORMAL')
  await limit('SQLite one-row commits, not durable', () => repeat([() => insert.run('x')]))
  database.close()
}

interface RedisModule {
  Redis: new (url: string) => { set(key: string, value: string): Promise<unknown>; quit(): unknown }
}

async function measureRedis({ redisUrl }: Servers): Promise<void> {
  if (!redisUrl) return console.error('no redis-server on this machine: its limits are left out')
  const { Redis } = await loadPeer<RedisModule>('ioredis')
  const redis = new Redis(redisUrl)
  for (const inFlight of [1, 64]) {
    const lanes = Array.from({ length: inFlight }, () => () => redis.set('key', 'value'))
    await limit(`Redis SET, ${inFlight} in flight, fsync always`, () => repeat(lanes))
  }
  await redis.quit()
}

/** Every lane calls its operation over and over; gives what each call took. */
async function repeat(lanes: readonly (() => unknown)[]): Promise<number[]> {
  const samples: number[] = []
  const deadline = now() + measureMs
  await Promise.all(
    lanes.map(async (operation) => {
      while (now() < deadline) {
        const before = now()
        await operation()
        samples.push(now() - before)
      }
    }),
  )
  return samples
}

async function limit(name: string, measure: () => Promise<number[]>, perOperation = 1): Promise<void> {
  const measured: { perSecond: number; p50: number; p99: number; noisy: boolean }[] = []
  for (let round = 0; round < rounds; round++) {
    const { result, noisy } = await measureQuietly(rules, measure)
    const perSecond = (result.length * perOperation) / (measureMs / 1_000)
    measured.push({ perSecond, ...summarize(result), noisy })
  }
  const quiet = measured.filter(({ noisy }) => !noisy)
  const used = quiet.length > 0 ? quiet : measured
  const perSecond = median(used.map((it) => it.perSecond)).toFixed(0)
  const p50 = median(used.map((it) => it.p50)).toFixed(3)
  const p99 = median(used.map((it) => it.p99)).toFixed(3)
  console.log(`| ${name} | ${perSecond} | ${p50} | ${p99} | ${quiet.length}/${rounds} |`)
}

await main()
