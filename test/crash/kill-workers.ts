// Kills real workers while a client starts runs, then judges what is left.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Engine, open, type Status } from '../../src/index.ts'
import { SeededRandom } from '../../src/testing/seeded-random.ts'
import type { SettableClock } from '../support/faketime.ts'
import { Blows, type Counts } from './blows.ts'
import { checkAll, checkNaps, countInterrupted, type Evidence } from './check.ts'
import { checkAttempts, checkOverlaps, percentile, recoveries } from './check-bodies.ts'
import { CrashClient } from './client.ts'
import { readRuns } from './evidence.ts'
import { Fleet } from './fleet.ts'
import { type LedgerLine, readLedgers } from './ledger.ts'

export interface KillOptions {
  readonly store: string
  readonly kills: number
  readonly stops: number
  readonly clockJumps?: number
  readonly failovers?: number
  readonly outages?: number
  readonly runs: number
  readonly seed: number
  /** The clock of the store, if it can be set. */
  readonly clock?: SettableClock
  /** Has the store fail over to another server. */
  readonly failOver?: () => Promise<void>
  /** Has the store refuse everything for a while. */
  readonly outage?: () => Promise<void>
  readonly stepMsMax?: number
  readonly workers?: number
  readonly leaseMs?: number
  /** The mean pause between two blows. */
  readonly pauseMs?: number
  /** The folder of the release that the nth worker runs, if that is not this source. */
  readonly releaseOf?: (n: number) => string | undefined
  /** How long what was begun may take to end once nobody kills any more. */
  readonly settleMsMax?: number
  readonly progress?: (text: string) => void
}

export interface KillReport extends Counts {
  readonly seed: number
  readonly acknowledged: number
  readonly signals: number
  readonly operations: number
  readonly succeeded: number
  readonly executions: number
  /** The same by the folder of the release; '' is this source. */
  readonly byRelease: Readonly<Record<string, number>>
  /** Step bodies that a kill or a stop cut off before their result was recorded. */
  readonly interrupted: number
  /** Runs whose steps ran in more than one process. */
  readonly takenOver: number
  /** Runs that a worker was still holding when it found its lease gone: what stops are for. */
  readonly leasesLost: number
  /** From a kill to the next attempt of a step that was running, undisturbed; and how many took longer than lease + 2 s. */
  readonly recovered: number
  readonly recoveryMsP50: number
  readonly recoveryMsP99: number
  readonly recoveryMsMax: number
  readonly recoveredLate: number
  readonly strikeSeconds: number
  readonly settleSeconds: number
  readonly violations: readonly string[]
  readonly complaints: readonly string[]
  readonly failures: readonly string[]
}

const unended: readonly Status[] = ['pending', 'running', 'waiting', 'compensating', 'paused']
export const defaults = {
  workers: 3,
  leaseMs: 1_500,
  pauseMs: 700,
  settleMsMax: 60_000,
  stepMsMax: 80,
  clockJumps: 0,
  failovers: 0,
  outages: 0,
}
/** A run whose worker was killed goes on this long after its lease has ended, at the latest. */
const recoveryMsMax = 2_000

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
    // The first release that starts would do all the work.
    while (options.releaseOf && fleet.ready.length < options.workers) await sleep(20)
    const begun = performance.now()
    const blows = new Blows(options, { ...options, fleet }, random.fork('blows'))
    await strikeAndStart(fleet, client, blows, options)
    const calm = performance.now()
    await settled(engine, fleet, options.settleMsMax)
    const ended = performance.now()
    fleet.check()
    await fleet.end()
    return {
      ...(await judge(options, client, fleet, blows, folder)),
      ...blows.done,
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

async function strikeAndStart(fleet: Fleet, client: CrashClient, blows: Blows, options: Settings): Promise<void> {
  // Runs are asked for in step with the blows, a little ahead, so that both reach their number together.
  const wanted = (): number =>
    Math.min(options.runs, Math.ceil((options.runs * (blows.progress + 1)) / blows.total) + 50)
  const over = (): boolean => blows.count >= blows.total && client.started.size >= options.runs
  const work = client.work(wanted, over)
  while (blows.count < blows.total) {
    await blows.pause(options.pauseMs)
    fleet.check()
    const { kills } = blows.done
    await blows.strike()
    if (blows.done.kills > kills && blows.done.kills % 100 === 0)
      options.progress?.(`${blows.done.kills} kills, ${client.started.size} runs`)
  }
  await blows.end()
  await work
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

async function judge(
  { store, leaseMs }: Settings,
  client: CrashClient,
  fleet: Fleet,
  { setForward, failedOver }: Blows,
  folder: string,
) {
  const ledger = readLedgers(folder)
  const { started, signals } = client
  const { killed, resumed } = fleet
  const runs = await readRuns(store, started.keys())
  const evidence: Evidence = { started, signals, runs, ledger, resumed }
  const bodies = { ledger, killed, resumed, failedOver }
  const recovered = recoveries(bodies, fleet.struck).sort((a, b) => a - b)
  return {
    acknowledged: started.size,
    signals: [...signals.values()].reduce((sum, ids) => sum + ids.length, 0),
    operations: client.operations,
    succeeded: client.succeeded,
    executions: ledger.filter((line) => line.type === 'begun').length,
    byRelease: countByRelease(ledger, fleet),
    interrupted: countInterrupted(evidence),
    takenOver: countTakenOver(ledger),
    leasesLost: ledger.filter((line) => line.type === 'lost').length,
    recovered: recovered.length,
    recoveryMsP50: percentile(recovered, 0.5),
    recoveryMsP99: percentile(recovered, 0.99),
    recoveryMsMax: percentile(recovered, 1),
    recoveredLate: recovered.filter((ms) => ms > leaseMs + recoveryMsMax).length,
    violations: [
      ...client.violations,
      ...checkAll(evidence),
      ...checkOverlaps(bodies),
      ...checkAttempts(bodies),
      ...checkNaps(evidence, setForward),
    ],
    failures: client.failures,
  }
}

function countByRelease(ledger: readonly LedgerLine[], { all }: Fleet): Record<string, number> {
  const releases = new Map(all.map(({ pid, release = '' }) => [pid, release]))
  const counts: Record<string, number> = {}
  for (const { type, pid } of ledger) {
    const release = releases.get(pid) ?? ''
    if (type === 'begun') counts[release] = (counts[release] ?? 0) + 1
  }
  return counts
}

function countTakenOver(ledger: readonly LedgerLine[]): number {
  const processes = new Map<string, Set<number>>()
  for (const { runId, pid } of ledger) {
    processes.set(runId, (processes.get(runId) ?? new Set()).add(pid))
  }
  return [...processes.values()].filter((pids) => pids.size > 1).length
}

export function describeReport(report: KillReport): string {
  const { violations, complaints, failures, byRelease, ...numbers } = report
  const lines = Object.entries(numbers).map(([name, value]) => `  ${name}: ${round(value)}`)
  const list = (title: string, items: readonly string[]): string[] =>
    items.length === 0 ? [] : [`  ${title} (${items.length}):`, ...items.slice(0, 20)]
  return [
    ...lines,
    ...Object.entries(byRelease).map(([release, count]) => `  by ${release || 'this source'}: ${count}`),
    ...list('complaints of workers', complaints),
    ...list('failed operations', failures),
    ...list('VIOLATIONS', violations),
  ].join('\n')
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
