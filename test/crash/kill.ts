// Kills real workers while a client starts runs, then judges what is left.
// Usage: node test/crash/kill.ts --store sqlite|postgres|file|radosgw --kills 1000 --runs 50000 [--stops 50] [--seed 1]
//   [--clock-jumps 0] [--failovers 0] [--workers 4] [--pause-ms 700] [--step-ms-max 80] [--settle-ms-max 300000] [--json]
// Clocks are set by libfaketime: that of the server on Postgres, that of this process and all workers on SQLite. It cannot
// set the clock of the file system, which a folder uses. Only Postgres fails over: to a synchronous standby, so that
// nothing may be lost.
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { freshDatabase } from '../support/database.ts'
import { fakeTime, SettableClock } from '../support/faketime.ts'
import { startOwnPostgres, startPostgres } from '../support/postgres.ts'
import { PostgresCluster } from '../support/postgres-cluster.ts'
import { freshBucket, type Radosgw, startRadosgw } from '../support/radosgw.ts'
import { defaults, describeReport, type KillOptions, type KillReport, killWorkers } from './kill-workers.ts'

const usual = {
  kills: 1_000,
  stops: 50,
  runs: 50_000,
  'clock-jumps': 0,
  failovers: 0,
  seed: Date.now() % 1_000_000,
  workers: 4,
  'pause-ms': defaults.pauseMs,
  'step-ms-max': defaults.stepMsMax,
  'settle-ms-max': 300_000,
}
type Numbers = typeof usual

async function main(): Promise<void> {
  const numeric = Object.keys(usual).map((name) => [name, { type: 'string' }] as const)
  const { values } = parseArgs({
    options: {
      store: { type: 'string', default: 'sqlite' },
      json: { type: 'boolean', default: false },
      ...Object.fromEntries(numeric),
    },
  })
  const given = Object.entries(values).filter(([name]) => name in usual)
  const numbers = {
    ...usual,
    ...Object.fromEntries(given.map(([name, text]) => [name, Number(text)])),
  }
  const say = values.json ? () => {} : (text: string) => console.log(text)
  say(`seed ${numbers.seed}`)
  const { kills, stops, runs, seed, failovers, workers } = numbers
  const use: Use<KillReport> = (place) =>
    killWorkers({
      ...{ kills, stops, runs, seed, failovers, workers },
      clockJumps: numbers['clock-jumps'],
      pauseMs: numbers['pause-ms'],
      stepMsMax: numbers['step-ms-max'],
      settleMsMax: numbers['settle-ms-max'],
      progress: say,
      ...place,
    })
  const report = await onStore(values.store, use, numbers)
  console.log(values.json ? JSON.stringify(report) : describeReport(report))
  if (report.violations.length > 0 || report.succeeded < report.operations * 0.95) {
    process.exitCode = 1
  }
}

type Place = Pick<KillOptions, 'store' | 'clock' | 'failOver'>
type Use<T> = (place: Place) => Promise<T>

/** Somewhere new to keep runs, for as long as it is used. */
const places: Record<string, <T>(use: Use<T>, numbers: Numbers) => Promise<T>> = {
  sqlite: (use) => inFolder((folder) => use(own(`sqlite:${join(folder, 'crash.db')}`))),
  file: (use) => inFolder((folder) => use({ store: `file:${join(folder, 'objects')}` })),
  postgres: (use, numbers) => {
    if (numbers.failovers > 0) return onCluster(use)
    return numbers['clock-jumps'] > 0 ? onSettablePostgres(use) : onPostgres(use)
  },
  radosgw: async (use) => {
    const server = await startRadosgw()
    try {
      return await use({ store: await reachable(server) })
    } finally {
      await server.stop()
    }
  },
}

/** With the clock that this process and its children have. */
function own(store: string): Place {
  const clock = SettableClock.own()
  return { store, ...(clock && { clock }) }
}

export async function onPostgres<T>(use: Use<T>): Promise<T> {
  const server = await startPostgres()
  const database = await freshDatabase(server.url)
  try {
    return await use({ store: database.url })
  } finally {
    await database.drop()
    await server.stop()
  }
}

async function onSettablePostgres<T>(use: Use<T>): Promise<T> {
  const { clock, environment, remove } = await fakeTime()
  const server = await startOwnPostgres({ environment })
  try {
    return await use({ store: server.url, clock })
  } finally {
    await server.stop()
    remove()
  }
}

async function onCluster<T>(use: Use<T>): Promise<T> {
  const cluster = await PostgresCluster.start(true)
  try {
    return await use({ store: cluster.url, failOver: () => cluster.failOver() })
  } finally {
    await cluster.stop()
  }
}

/** A bucket whose credentials are in the environment, where the workers find them. */
export async function reachable(server: Radosgw): Promise<string> {
  const { accessKeyId, secretAccessKey } = server.credentials
  process.env['AWS_ACCESS_KEY_ID'] = accessKeyId
  process.env['AWS_SECRET_ACCESS_KEY'] = secretAccessKey
  return freshBucket(server)
}

export async function onStore<T>(kind: string, use: Use<T>, numbers: Numbers = usual): Promise<T> {
  const place = places[kind]
  if (!place) throw new Error(`--store is one of ${Object.keys(places).join(', ')}, not ${kind}`)
  if (numbers.failovers > 0 && (kind !== 'postgres' || numbers['clock-jumps'] > 0))
    throw new Error('--failovers is for --store postgres, and not together with --clock-jumps')
  if (numbers['clock-jumps'] > 0 && kind !== 'sqlite' && kind !== 'postgres')
    throw new Error('--clock-jumps is for --store sqlite and postgres')
  return place(use, numbers)
}

export async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-crash-db-'))
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

// The clock of a process is set from its beginning on or never, so this one starts itself again under one.
async function underSettableClock(): Promise<void> {
  const { environment, remove } = await fakeTime()
  const { status } = spawnSync(process.execPath, process.argv.slice(1), {
    env: { ...process.env, ...environment },
    stdio: 'inherit',
  })
  remove()
  process.exitCode = status ?? 1
}

if (import.meta.main) {
  const jumps = process.argv.some((each) => each.startsWith('--clock-jumps'))
  const server = process.argv.some((each) => each.endsWith('postgres'))
  if (jumps && !server && !SettableClock.own()) await underSettableClock()
  else await main()
}
