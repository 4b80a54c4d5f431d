// Kills real workers while a client starts runs, then judges what is left.
// Usage: node test/crash/kill.ts --store sqlite|postgres|file|radosgw --kills 1000 --runs 50000 [--stops 50] [--seed 1]
//   [--workers 4] [--pauseMs 700] [--settleMsMax 300000]
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type Engine, open, type Status } from '../../src/index.ts'
import { SeededRandom } from '../../src/testing/seeded-random.ts'
import { freshDatabase } from '../support/database.ts'
import { startPostgres } from '../support/postgres.ts'
import { freshBucket, type Radosgw, startRadosgw } from '../support/radosgw.ts'
import { checkAll, countInterrupted, type Evidence } from './check.ts'
import { CrashClient } from './client.ts'
import { readRuns } from './evidence.ts'
import { Fleet } from './fleet.ts'
import { type LedgerLine, readLedgers } from './ledger.ts'

export interface KillOptions {
  readonly store: string
  readonly kills: number
  readonly stops: number
  readonly runs: number
  readonly seed: number
  readonly workers?: number
  readonly leaseMs?: number
  /** The mean pause between two blows. */
  readonly pauseMs?: number
  /** How long what was begun may take to end once nobody kills any more. */
  readonly settleMsMax?: number
  readonly progress?: (text: string) => void
}

export interface KillReport {
  readonly seed: number
  readonly kills: number
  readonly stops: number
  readonly acknowledged: number
  readonly signals: number
  readonly operations: number
  readonly succeeded: number
  readonly executions: number
  /** Step bodies that a kill or a stop cut off before their result was recorded. */
  readonly interrupted: number
  /** Runs whose steps ran in more than one process. */
  readonly takenOver: number
  /** Runs that a worker was still holding when it found its lease gone: what stops are for. */
  readonly leasesLost: number
  readonly strikeSeconds: number
  readonly settleSeconds: number
  readonly violations: readonly string[]
  readonly complaints: readonly string[]
  readonly failures: readonly string[]
}

const unended: readonly Status[] = ['pending', 'running', 'waiting', 'compensating', 'paused']
const defaults = { workers: 3, leaseMs: 1_500, pauseMs: 700, settleMsMax: 60_000 }

export async function killWorkers(given: KillOptions): Promise<KillReport> {
  const options = { ...defaults, ...given }
  const folder = await mkdtemp(join(tmpdir(), 'pawl-crash-'))
  const fleet = new Fleet({ ...options, folder })
  const engine = await open(options.store)
  try {
    const random = new SeededRandom(options.seed)
    const client = new CrashClient(engine, random.fork('client'))
    // Every second worker serves one queue only, so that some activities travel as tasks.
    for (let n = 0; n < options.workers; n++) fleet.start(n % 2 === 0 ? 'default' : 'default,other')
    const begun = performance.now()
    const struck = await strikeAndStart(fleet, client, random.fork('blows'), options)
    const calm = performance.now()
    await settled(engine, fleet, options.settleMsMax)
    const ended = performance.now()
    fleet.check()
    await fleet.end()
    return {
      ...(await judge(options.store, client, fleet, folder)),
      ...struck,
      seed: options.seed,
      strikeSeconds: (calm - begun) / 1_000,
      settleSeconds: (ended - calm) / 1_000,
      complaints: fleet.complaints,
    }
  } finally {
    await fleet.end()
    await engine.close()
    await rm(folder, { recursive: true, force: true })
  }
}

type Settings = KillOptions & typeof defaults

async function strikeAndStart(
  fleet: Fleet,
  client: CrashClient,
  random: SeededRandom,
  options: Settings,
): Promise<{ kills: number; stops: number }> {
  const blows = options.kills + options.stops
  let kills = 0
  let stops = 0
  // Runs are asked for in step with the blows, a little ahead, so that both reach their number together.
  const wanted = (): number =>
    Math.min(options.runs, Math.ceil((options.runs * (kills + stops + 3)) / blows) + 50)
  const over = (): boolean => kills + stops >= blows && client.started.size >= options.runs
  const work = client.work(wanted, over)
  const frozen = new Set<Promise<void>>()
  while (kills + stops < blows) {
    await sleep(options.pauseMs * (0.5 + random.fraction()))
    fleet.check()
    const ready = fleet.ready
    if (ready.length === 0) continue
    const worker = random.pick(ready)
    // Whoever is stopped misses more than its whole lease; one at a time, or nobody is left to take over.
    const left = blows - kills - stops
    const stop = frozen.size === 0 && random.chance((options.stops - stops) / left)
    if (stop || (kills >= options.kills && frozen.size === 0)) {
      stops++
      const pause = fleet.freeze(worker, options.leaseMs * (1.2 + random.fraction()))
      frozen.add(pause)
      void pause.finally(() => frozen.delete(pause))
    } else if (kills < options.kills) {
      kills++
      if (kills % 100 === 0) options.progress?.(`${kills} kills, ${client.started.size} runs`)
      await fleet.kill(worker)
    }
  }
  await Promise.all(frozen)
  await work
  return { kills, stops }
}

/** Waits until every run has ended, or until no run can be expected to any more. */
async function settled(engine: Engine, fleet: Fleet, msMax: number): Promise<void> {
  const deadline = performance.now() + msMax
  while (performance.now() < deadline) {
    if ((await engine.count({ status: unended })) === 0) return
    fleet.check()
    await sleep(200)
  }
}

async function judge(store: string, client: CrashClient, fleet: Fleet, folder: string) {
  const ledger = readLedgers(folder)
  const { started, signals } = client
  const runs = await readRuns(store, started.keys())
  const evidence: Evidence = { started, signals, runs, ledger, resumed: fleet.resumed }
  return {
    acknowledged: started.size,
    signals: [...signals.values()].reduce((sum, ids) => sum + ids.length, 0),
    operations: client.operations,
    succeeded: client.succeeded,
    executions: ledger.filter((line) => line.type === 'begun').length,
    interrupted: countInterrupted(evidence),
    takenOver: countTakenOver(ledger),
    leasesLost: ledger.filter((line) => line.type === 'lost').length,
    violations: [...client.violations, ...checkAll(evidence)],
    failures: client.failures,
  }
}

function countTakenOver(ledger: readonly LedgerLine[]): number {
  const processes = new Map<string, Set<number>>()
  for (const { runId, pid } of ledger) {
    processes.set(runId, (processes.get(runId) ?? new Set()).add(pid))
  }
  return [...processes.values()].filter((pids) => pids.size > 1).length
}

export function describeReport(report: KillReport): string {
  const { violations, complaints, failures, ...numbers } = report
  const lines = Object.entries(numbers).map(([name, value]) => `  ${name}: ${round(value)}`)
  const list = (title: string, items: readonly string[]): string[] =>
    items.length === 0 ? [] : [`  ${title} (${items.length}):`, ...items.slice(0, 20)]
  return [
    ...lines,
    ...list('complaints of workers', complaints),
    ...list('failed operations', failures),
    ...list('VIOLATIONS', violations),
  ].join('\n')
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      store: { type: 'string', default: 'sqlite' },
      kills: { type: 'string', default: '1000' },
      stops: { type: 'string', default: '50' },
      runs: { type: 'string', default: '50000' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      workers: { type: 'string', default: '4' },
      pauseMs: { type: 'string', default: String(defaults.pauseMs) },
      settleMsMax: { type: 'string', default: '300000' },
    },
  })
  const { store, ...rest } = values
  const numbers = Object.fromEntries(
    Object.entries(rest).map(([name, text]) => [name, Number(text)]),
  ) as unknown as Omit<KillOptions, 'store'>
  console.log(`seed ${numbers.seed}`)
  const report = await onStore(store, (url) =>
    killWorkers({ ...numbers, store: url, progress: (text) => console.log(text) }),
  )
  console.log(describeReport(report))
  if (report.violations.length > 0 || report.succeeded < report.operations * 0.95) {
    process.exitCode = 1
  }
}

/** Somewhere new to keep runs, for as long as it is used. */
const places: Record<string, <T>(use: (url: string) => Promise<T>) => Promise<T>> = {
  sqlite: (use) => inFolder((folder) => use(`sqlite:${join(folder, 'crash.db')}`)),
  file: (use) => inFolder((folder) => use(`file:${join(folder, 'objects')}`)),
  postgres: async (use) => {
    const server = await startPostgres()
    const database = await freshDatabase(server.url)
    try {
      return await use(database.url)
    } finally {
      await database.drop()
      await server.stop()
    }
  },
  radosgw: async (use) => {
    const server = await startRadosgw()
    try {
      return await use(await reachable(server))
    } finally {
      await server.stop()
    }
  },
}

/** A bucket whose credentials are in the environment, where the workers find them. */
export async function reachable(server: Radosgw): Promise<string> {
  const { accessKeyId, secretAccessKey } = server.credentials
  process.env['AWS_ACCESS_KEY_ID'] = accessKeyId
  process.env['AWS_SECRET_ACCESS_KEY'] = secretAccessKey
  return freshBucket(server)
}

async function onStore<T>(kind: string, use: (url: string) => Promise<T>): Promise<T> {
  const place = places[kind]
  if (!place) throw new Error(`--store is one of ${Object.keys(places).join(', ')}, not ${kind}`)
  return place(use)
}

async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-crash-db-'))
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

if (import.meta.main) await main()
