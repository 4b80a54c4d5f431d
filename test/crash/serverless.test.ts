// Runs completed by processes that each serve a single call, a third of them killed. The long form is
// `node test/crash/serverless.ts --store postgres --runs 1000`.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { freshDatabase } from '../support/database.ts'
import { completeByCalls } from './serverless-calls.ts'

const seed = Number(process.env['PAWL_SEED'] ?? Date.now() % 1_000_000)
const runs = Number(process.env['PAWL_RUNS'] ?? 40)

async function onStore(kind: string, use: (store: string) => Promise<void>): Promise<void> {
  const database = kind === 'postgres' ? await freshDatabase(inject('postgresUrl')) : undefined
  const folder = await mkdtemp(join(tmpdir(), 'pawl-serverless-db-'))
  try {
    await use(database?.url ?? `sqlite:${join(folder, 'calls.db')}`)
  } finally {
    await database?.drop()
    await rm(folder, { recursive: true, force: true })
  }
}

describe.concurrent.each(['sqlite', 'postgres'])('on %s', (kind) => {
  test('W14: processes that each serve one call complete every run, though a third of them is killed', {
    timeout: 60_000 + runs * 500,
  }, async () => {
    await onStore(kind, async (store) => {
      const report = await completeByCalls({ store, runs, seed, forMs: 1_000 })
      const text = JSON.stringify(report)
      expect(report.violations, text).toEqual([])
      expect(report.failures, text).toEqual([])
      expect(report.acknowledged).toBeGreaterThanOrEqual(runs)
      expect(report.calls, text).toBeGreaterThanOrEqual(4)
      expect(report.killed, text).toBeGreaterThanOrEqual(Math.floor(report.calls / 4))
    })
  })
})
