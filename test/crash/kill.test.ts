// `kill -9` and SIGSTOP of real workers on each store. PAWL_KILLS and PAWL_RUNS raise the numbers; the long form
// is `node test/crash/kill.ts --store sqlite --kills 1000 --runs 50000`.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, inject, test, vi } from 'vitest'
import { type FreshDatabase, freshDatabase } from '../support/database.ts'
import { radosgwStartMsMax, sharedRadosgw } from '../support/radosgw.ts'
import { reachable } from './kill.ts'
import { describeReport, type KillOptions, type KillReport, killWorkers } from './kill-workers.ts'

const seed = Number(process.env['PAWL_SEED'] ?? Date.now() % 1_000_000)
const stops = 12

const folder = mkdtempSync(join(tmpdir(), 'pawl-kill-'))
const databases: FreshDatabase[] = []

const kills = Number(process.env['PAWL_KILLS'] ?? 100)
const runs = Number(process.env['PAWL_RUNS'] ?? 5_000)

interface Plan extends Pick<KillOptions, 'kills' | 'runs'> {
  readonly open: () => Promise<string>
}

const stores: Record<string, Plan> = {
  sqlite: { kills, runs, open: async () => `sqlite:${join(folder, 'kill.db')}` },
  postgres: {
    kills,
    runs,
    open: async () => {
      const database = await freshDatabase(inject('postgresUrl'))
      databases.push(database)
      return database.url
    },
  },
  file: { kills: kills / 2, runs: runs / 5, open: async () => `file:${join(folder, 'objects')}` },
  radosgw: {
    kills: kills / 4,
    runs: runs / 10,
    open: async () => reachable(await sharedRadosgw(inject('radosgwDoor'))),
  },
}

afterAll(async () => {
  await Promise.all(databases.map((database) => database.drop()))
  rmSync(folder, { recursive: true, force: true })
})

function expectNothingLost(report: KillReport, kills: number, runs: number): void {
  const text = describeReport(report)
  expect(report.violations, text).toEqual([])
  expect(report.kills).toBeGreaterThanOrEqual(kills)
  // Stops longer than the lease, after which the stale holder is free to try and write.
  expect(report.stops).toBeGreaterThanOrEqual(10)
  expect(report.acknowledged).toBeGreaterThanOrEqual(runs)
  expect(report.succeeded / report.operations, text).toBeGreaterThanOrEqual(0.95)
  // A test whose blows hit nothing proves nothing.
  expect(report.interrupted, text).toBeGreaterThan(kills / 10)
  expect(report.takenOver, text).toBeGreaterThan(kills / 2)
  expect(report.signals).toBeGreaterThan(runs / 50)
}

// Two at once: most of a blow is the pause before it. With more they would fight for the same cores and prove less about
// each, which the numbers of what was interrupted and taken over would tell.
vi.setConfig({ maxConcurrency: 2 })

describe.concurrent.each(Object.entries(stores))('on %s', (name, { open, ...plan }) => {
  const { kills, runs } = plan
  test(`INV1, INV2, INV3, INV5, INV7: ${kills} kills and ${stops} stops over ${runs} runs`, {
    timeout: 60_000 + kills * 2_500 + radosgwStartMsMax,
  }, async () => {
    console.log(`kill ${name}: seed ${seed}`)
    const report = await killWorkers({ ...plan, store: await open(), stops, seed })
    console.log(`kill ${name}:\n${describeReport(report)}`)
    expectNothingLost(report, kills, runs)
  })
})
