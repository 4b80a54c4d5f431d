// How soon the runs of a worker that was killed go on: few kills, far apart, so that nothing else comes in between.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, inject, test, vi } from 'vitest'
import { type FreshDatabase, freshDatabase } from '../support/database.ts'
import { describeReport, killWorkers } from './kill-workers.ts'

const seed = Number(process.env['PAWL_SEED'] ?? Date.now() % 1_000_000)
const folder = mkdtempSync(join(tmpdir(), 'pawl-recovery-'))
const databases: FreshDatabase[] = []

const stores: Record<string, () => Promise<string>> = {
  sqlite: async () => `sqlite:${join(folder, 'recovery.db')}`,
  file: async () => `file:${join(folder, 'objects')}`,
  postgres: async () => {
    const database = await freshDatabase(inject('postgresUrl'))
    databases.push(database)
    return database.url
  },
}

afterAll(async () => {
  await Promise.all(databases.map((database) => database.drop()))
  rmSync(folder, { recursive: true, force: true })
})

const leaseMs = 4_000
// Lease and 2 s is what it takes on a machine with nothing else to do; where this runs there are other tests.
const recoveryMsMax = 2 * (leaseMs + 2_000)

vi.setConfig({ maxConcurrency: 3 })

describe.concurrent.each(Object.entries(stores))('on %s', (name, open) => {
  test('runs go on soon after the lease of a worker that was killed has ended', {
    timeout: 120_000,
  }, async () => {
    const pace = { runs: 300, pauseMs: 8_000, stepMsMax: 3_000, leaseMs }
    const store = await open()
    const report = await killWorkers({ store, kills: 3, stops: 0, ...pace, seed })
    const text = describeReport(report)
    console.log(`recovery ${name}:\n${text}`)
    expect(report.violations, text).toEqual([])
    expect(report.recovered, text).toBeGreaterThan(0)
    expect(report.recoveryMsP99, text).toBeLessThan(recoveryMsMax)
  })
})
