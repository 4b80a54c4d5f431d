import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { formatDuration } from '../../core/base/time.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import type { Findings } from '../../stores/objects/doctor/doctor.ts'
import { type CommonOptions, withStoreUrl } from '../options.ts'
import { columns, counted, paint, plain, print, printJson, showStore, wrap } from '../output.ts'
import { refuseServer, withoutServerHelp } from '../server-option.ts'

interface Options extends CommonOptions {
  readonly rebuild?: true
  readonly sweep?: true
  readonly all?: true
}

/** How many objects were rebuilt and swept. */
interface Done {
  readonly rebuilt?: number
  readonly swept?: number
}

const PROBLEMS_SHOWN = 20

export function doctorCommand(): Command {
  return withoutServerHelp(
    withStoreUrl(
      new Command('doctor')
        .description('check a store on object storage and report problems')
        .option('--json', 'print only JSON')
        .option('--rebuild', 'rebuild the readable projections, runs/ and names/')
        .option('--sweep', 'delete objects that are no longer needed')
        .option('--all', 'check the projections of all runs, not only of some'),
    ),
  ).action(doctor)
}

async function doctor(options: Options): Promise<void> {
  refuseServer(options, 'doctor')
  const { store, json, all } = options
  refuseOtherStores(store)
  // Loaded here, because no other command needs them.
  const { examine, rebuild } = await import('../../stores/objects/doctor/doctor.ts')
  const { openBucket } = await import('../../stores/objects/open.ts')
  const bucket = await openBucket(store, systemClock)
  try {
    const findings = await examine(bucket, all ? { projections: Number.POSITIVE_INFINITY } : {})
    const isWell = findings.problems.length === 0
    // A damaged store is not changed: objects that look unneeded may be needed to repair it.
    const done: Done = {
      ...(options.rebuild && isWell && { rebuilt: await rebuild(bucket) }),
      ...(options.sweep && isWell && { swept: await sweep(store) }),
    }
    if (json) printJson({ ...findings, ...done })
    else report(findings, done, options)
    if (!isWell) process.exitCode = 1
  } finally {
    await bucket.close()
  }
}

function refuseOtherStores(store: string): void {
  const scheme = /^([a-z][a-z0-9+]*):/i.exec(store)?.[1]?.toLowerCase() ?? ''
  const instead = otherStores[scheme]
  if (instead !== undefined) {
    throw new PawlError(
      'NOT_SUPPORTED',
      `pawl doctor checks stores on object storage (s3:, file:), not ${showStore(store)}. ${instead}.`,
    )
  }
  if (scheme !== 's3' && scheme !== 'file') {
    throw new PawlError(
      'STORE_URL_INVALID',
      `--store is '${showStore(store)}'; pawl doctor expects s3://bucket/prefix or file:./folder.`,
    )
  }
  const folder = /^file:(?:\/\/[^/?#]*(?=\/))?([^?#]+)/i.exec(store)?.[1]
  // Opening the store would create the folder.
  if (folder !== undefined && !existsSync(decoded(folder))) {
    throw new PawlError(
      'STORE_URL_INVALID',
      `there is no folder ${folder}, so there is no store in it. Check --store, PAWL_STORE and the current folder.`,
    )
  }
}

const otherStores: Readonly<Record<string, string>> = {
  sqlite: "Check the file with: sqlite3 <file> 'PRAGMA integrity_check'",
  postgres: 'Check the tables with: pg_amcheck',
  postgresql: 'Check the tables with: pg_amcheck',
  memory: 'A memory store ends with its process',
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

async function sweep(url: string): Promise<number> {
  const { openObjects } = await import('../../stores/objects/open.ts')
  const store = await openObjects(url, systemClock)
  try {
    return await store.compactor.sweepAll()
  } finally {
    await store.close()
  }
}

function report(findings: Findings, done: Done, options: Options): void {
  const { log, snapshots, segments, runs, projections, problems } = findings
  const fact = (name: string, ...parts: (string | false)[]): void =>
    print(`${paint('dim', name.padEnd(12))}${parts.filter(Boolean).join(', ')}`)
  fact('store', showStore(options.store))
  fact(
    'log',
    `${counted(log.objects, 'object')} (${log.bytes.toLocaleString('en')} bytes) up to ${log.last}`,
    log.covered > 0 && `${log.covered} covered by a snapshot`,
    log.ghosts > 0 && `${log.ghosts} written too late and ignored`,
  )
  fact('snapshots', String(snapshots.objects), snapshots.newest > 0 && `newest ${snapshots.newest}`)
  fact('segments', String(segments.objects), segments.orphans > 0 && `${segments.orphans} orphaned`)
  fact('runs', `${runs.live} live`, `${runs.ended} ended`)
  fact('sessions', String(findings.sessions))
  fact('tasks', String(findings.tasks))
  fact('projections', ...projectionFacts(projections))
  if (done.rebuilt !== undefined) fact('rebuilt', `${counted(done.rebuilt, 'object')} written or deleted`)
  if (done.swept !== undefined) fact('swept', sweptFact(done.swept))
  print()
  if (problems.length === 0) return print(conclusion(projections, done))
  reportProblems(problems)
  if (options.rebuild || options.sweep) print('Nothing was rebuilt or swept: solve the problems first.')
}

function conclusion({ missing, old }: Findings['projections'], { rebuilt }: Done): string {
  const stale = rebuilt === undefined ? missing + old : 0
  if (stale === 0) return paint('green', 'No problems.')
  const are = stale === 1 ? 'is' : 'are'
  return paint(
    'yellow',
    `Nothing is lost, but ${counted(stale, 'projection')} ${are} out of date. Workers update them within seconds; if none is running: pawl doctor --rebuild`,
  )
}

function projectionFacts({ looked, missing, old }: Findings['projections']): string[] {
  const hint = missing + old > 0 ? ' (to write them: pawl doctor --rebuild)' : ''
  return [`${counted(looked, 'run')} checked`, `${missing} missing`, `${old} out of date${hint}`]
}

function sweptFact(swept: number): string {
  const grace = formatDuration(limits.objectGraceMs)
  return `${counted(swept, 'object')} deleted (objects needed within the last ${grace} are kept)`
}

function reportProblems(problems: Findings['problems']): void {
  print(paint('red', `${counted(problems.length, 'problem')}:`))
  for (const { problem, advice } of problems.slice(0, PROBLEMS_SHOWN)) {
    for (const [index, line] of wrap(plain(problem), columns() - 2).entries())
      print(`${index === 0 ? '- ' : '  '}${line}`)
    for (const line of wrap(advice, columns() - 4)) print(`    ${paint('cyan', line)}`)
  }
  const more = problems.length - PROBLEMS_SHOWN
  if (more > 0) print(`and ${more} more; --json lists all of them`)
}
