// The benchmark: every adapter in turn, round after round, so that a machine that drifts drifts for all
// of them alike. Each round has fresh stores. Figures are saved after every round.
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'
import { dirname } from 'node:path'
import pawlManifest from '../package.json' with { type: 'json' }
import type { Adapter } from './adapter.ts'
import { measureRound } from './measure.ts'
import { type Options, readOptions, usage } from './options.ts'
import { peerVersion } from './peers/load.ts'
import { renderReport } from './report.ts'
import { type Machine, mediansOf, type Results, type Row } from './results.ts'
import { type Servers, startServers } from './servers.ts'
import { WorkerProcess } from './worker-process.ts'

async function main(): Promise<void> {
  if (process.argv.includes('--help')) return console.log(usage)
  const startedAt = new Date().toISOString()
  const options = readOptions(process.argv.slice(2), startedAt)
  const servers = await startServers()
  // Without this an interrupt would leave the servers and their files behind.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void servers.stop().finally(() => process.exit(1)))
  }
  try {
    const results = await runBenchmark(options, servers, startedAt)
    console.log(renderReport(results.rows))
    console.error(`\nfigures: ${options.outFile}`)
  } finally {
    await servers.stop()
  }
}

async function runBenchmark(options: Options, servers: Servers, startedAt: string): Promise<Results> {
  const { sizes } = options
  const results: Results = { startedAt, machine: describe(servers), sizes, rows: [], skipped: {} }
  await WorkerProcess.prime()
  const taking: { adapter: Adapter; row: Row }[] = []
  for (const adapter of options.adapters) {
    const reason = await unavailable(adapter, servers)
    if (reason === undefined) taking.push({ adapter, row: emptyRow(adapter) })
    else results.skipped[adapter.id] = reason
  }
  for (const [id, reason] of Object.entries(results.skipped)) {
    console.error(`${id}: skipped, ${reason}`)
  }
  results.rows = taking.map(({ row }) => row)
  for (let round = 1; round <= options.rounds; round++) {
    for (const { adapter, row } of taking) {
      await addRound(adapter, row, options, servers, round)
      save(options.outFile, results)
    }
  }
  return results
}

async function addRound(adapter: Adapter, row: Row, options: Options, servers: Servers, round: number): Promise<void> {
  console.error(`round ${round}/${options.rounds}: ${adapter.id}`)
  try {
    const measured = await measureRound(adapter, servers, options)
    row.rounds.push(measured)
    console.error(`  ${summary({ ...row, rounds: [measured] })}`)
  } catch (error) {
    // Even the store could not be made; the other adapters should still have their turn.
    const reason = error instanceof Error ? error.message : String(error)
    const failed = { kind: 'failed', reason } as const
    const wanted = adapter.workloads.filter((workload) => options.workloads.includes(workload))
    row.rounds.push(Object.fromEntries(wanted.map((workload) => [workload, failed])))
    console.error(`  failed: ${reason}`)
  }
}

function summary(row: Row): string {
  const cells = Object.entries(mediansOf(row)).map(([thing, cell]) => {
    if (cell.kind !== 'measured') return `${thing} ${cell.kind}`
    const { p50, drainPerSecond, residentMegabytes } = cell.figures
    if (p50 !== undefined) return `${thing} ${p50.toFixed(2)} ms`
    if (drainPerSecond !== undefined) return `${thing} ${drainPerSecond.toFixed(0)}/s`
    return `${thing} ${residentMegabytes?.toFixed(0)} MB`
  })
  return cells.join(', ')
}

async function unavailable(adapter: Adapter, servers: Servers): Promise<string | undefined> {
  const missing = adapter.packages.find((name) => versionOf(name) === 'not installed')
  if (missing) return `${missing} is not installed: npm run peers -w bench`
  return await adapter.unavailable?.(servers)
}

function emptyRow({ id, packages, settings }: Adapter): Row {
  const versions = Object.fromEntries(packages.map((name) => [name, versionOf(name)]))
  return { id, versions, settings, rounds: [] }
}

const versionOf = (name: string): string => (name === pawlManifest.name ? pawlManifest.version : peerVersion(name))

function describe(servers: Servers): Machine {
  return {
    node: process.version,
    processors: cpus().map(({ model }) => model),
    memoryGigabytes: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    postgres: servers.postgresVersion,
    redis: servers.redisUrl !== undefined,
  }
}

function save(file: string, results: Results): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`)
}

await main()
// Some peers leave timers behind in this process.
process.exit(0)
