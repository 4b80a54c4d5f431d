// The packages of earlier releases beside this one on one store, under load and with kills, in both directions; and
// clients of one release with servers of another.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { open, type Status } from 'pawl'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { VERSION } from '../../src/stores/objects/format.ts'
import { checkAll } from '../crash/check.ts'
import { checkAttempts, checkOverlaps } from '../crash/check-bodies.ts'
import { readRuns } from '../crash/evidence.ts'
import { Fleet } from '../crash/fleet.ts'
import type { KillReport } from '../crash/kill-workers.ts'
import { readLedgers } from '../crash/ledger.ts'
import { type FreshDatabase, freshDatabase } from '../support/database.ts'
import { asRelease, current, earlier, recent, unpacked } from '../upgrades/releases.ts'
import { until } from '../workflows/each-store.ts'

const seed = Number(process.env['PAWL_SEED'] ?? Date.now() % 1_000_000)
const kills = Number(process.env['PAWL_KILLS'] ?? 6)
const runs = Number(process.env['PAWL_RUNS'] ?? 80)
const unended: readonly Status[] = ['pending', 'running', 'waiting', 'compensating', 'paused']

/** The format in which the earlier release writes objects. */
const EARLIER_FORMAT: number = 3

const execute = promisify(execFile)
const databases: FreshDatabase[] = []
let folder: string
let places = 0
type Name = 'earlier' | 'recent' | 'this'
/** The folder of each package. */
const packages: Partial<Record<Name, string>> = {}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-releases-'))
  for (const [name, release] of Object.entries({ earlier, recent })) packages[name as Name] = await unpacked(release)
  packages['this'] = await current()
}, 180_000)

afterAll(async () => {
  await Promise.all(databases.map((database) => database.drop()))
  for (const each of [folder, dirname(packages['this'] ?? folder)]) await rm(each, { recursive: true, force: true })
})

async function newStore(kind: string): Promise<string> {
  const name = `place-${++places}`
  if (kind !== 'postgres') return `${kind}:${join(folder, kind === 'sqlite' ? `${name}.db` : name)}`
  const database = await freshDatabase(inject('postgresUrl'))
  databases.push(database)
  return database.url
}

/** Runs a program beside this file with the package of a release. */
async function program(release: Name, script: string, ...args: readonly string[]): Promise<unknown> {
  const flags = asRelease(packages[release])
  const { stdout } = await execute(process.execPath, [...flags, join(import.meta.dirname, script), ...args])
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
}

// Two at once: most of the time is spent between blows.
vi.setConfig({ maxConcurrency: 2, testTimeout: 60_000 + kills * 2_500 })

/** Workers of both releases from the beginning; the release that created the store starts the runs. */
async function expectSideBySide(kind: string, release: Name, created: Name): Promise<void> {
  const [theirs = '', ours = ''] = [packages[release], packages['this']]
  const given = [theirs, ours, String(kills), String(runs), String(seed)]
  const report = (await program(created, 'mixed-releases.ts', await newStore(kind), ...given)) as KillReport
  const text = JSON.stringify(report, undefined, 1)
  expect(report.violations, text).toEqual([])
  expect(report.failures, text).toEqual([])
  expect(report.kills).toBeGreaterThanOrEqual(kills)
  expect(report.acknowledged).toBeGreaterThanOrEqual(runs)
  // Both took part, and continued what the other had begun.
  for (const each of [theirs, ours]) expect(report.byRelease[each], text).toBeGreaterThan(0)
  expect(report.takenOver, text).toBeGreaterThan(kills)
}

function schemaOf(url: string): unknown {
  const database = new DatabaseSync(url.slice('sqlite:'.length))
  const row = database.prepare('pragma user_version').get() as { user_version: number }
  database.close()
  return row.user_version
}

/** The older worker can use the file no more, and fails no run; this release completes what it had begun. */
async function expectUpgrade(release: Name, url: string): Promise<void> {
  const ledgers = await mkdtemp(join(folder, 'ledgers-'))
  const releaseOf = (n: number): string | undefined => packages[n === 0 ? release : 'this']
  const fleet = new Fleet({ store: url, folder: ledgers, leaseMs: 1_500, stepMsMax: 80, releaseOf })
  const old = fleet.start('default,other')
  const { started } = (await program(release, 'begin-runs.ts', url, '4')) as { readonly started: [string, number][] }
  await until(
    () => readLedgers(ledgers).length,
    (lines) => lines > 20,
  )
  const engine = await open(url)
  fleet.start('default,other')
  try {
    await until(
      () => old.complaints,
      (text) => text.includes('newer pawl'),
    )
    expect(await program(release, 'begin-runs.ts', url, '1')).toEqual({ code: 'SCHEMA_TOO_NEW' })
    await until(
      () => engine.count({ status: unended }),
      (count) => count === 0,
    )
    fleet.check()
    expect(old.state).toBe('ready')
  } finally {
    await engine.close()
    await fleet.end()
  }
  const ledger = readLedgers(ledgers)
  const all = { started: new Map(started), signals: new Map<string, string[]>() }
  const evidence = { ...all, runs: await readRuns(url, all.started.keys()), ledger, resumed: [] }
  const bodies = { ledger, killed: [], resumed: [] }
  expect([...checkAll(evidence), ...checkOverlaps(bodies), ...checkAttempts(bodies)]).toEqual([])
  expect(ledger.some(({ pid, type }) => pid === old.pid && type === 'recorded')).toBe(true)
}

describe.concurrent('INV17: two releases on one store', () => {
  test('postgres: this release joins an earlier one', () => expectSideBySide('postgres', 'earlier', 'earlier'))
  test('postgres: an earlier release joins this one', () => expectSideBySide('postgres', 'earlier', 'this'))

  test('file: an earlier release, as the format of its objects allows', async () => {
    if (VERSION !== EARLIER_FORMAT) return expectUpgrade('earlier', await newStore('file'))
    await expectSideBySide('file', 'earlier', 'earlier')
    await expectSideBySide('file', 'earlier', 'this')
  })

  for (const release of ['earlier', 'recent'] as const) {
    test(`sqlite: the ${release} release, as the schema of its file allows`, async () => {
      const [theirs, ours] = [await newStore('sqlite'), await newStore('sqlite')]
      await program(release, 'begin-runs.ts', theirs, '0')
      await program('this', 'begin-runs.ts', ours, '0')
      if (schemaOf(theirs) !== schemaOf(ours)) return expectUpgrade(release, theirs)
      await expectSideBySide('sqlite', release, release)
      await expectSideBySide('sqlite', release, 'this')
    })
  }

  test.each([
    ['a server of this release serves a client of a recent one', 'this', 'recent'],
    ['a server of a recent release serves a client of this one', 'recent', 'this'],
  ] as const)('%s', async (_, serves, asks) => {
    const token = 'at-least-16-characters'
    const flags = asRelease(packages[serves])
    const script = [join(import.meta.dirname, 'wire-server.ts'), await newStore('sqlite'), token]
    const child: ChildProcess = spawn(process.execPath, [...flags, ...script], { stdio: ['pipe', 'pipe', 'inherit'] })
    try {
      const [url] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
      expect(await program(asks, 'wire-client.ts', url.toString().trim(), token)).toEqual({
        isNew: [true, false],
        added: 16,
        asked: 16,
        listed: { status: 'waiting', waitingFor: 'signal:go' },
        reason: 'signal',
        total: 116,
        isDate: true,
        types: expect.arrayContaining(['StepCompleted', 'UpdateCompleted', 'SignalReceived', 'RunCompleted']),
        failed: expect.stringContaining('as planned'),
        missing: 'RUN_NOT_FOUND',
        counts: [1, 1, 'admin'],
      })
    } finally {
      const exited = once(child, 'exit')
      child.stdin?.end()
      await exited
    }
  })
})
