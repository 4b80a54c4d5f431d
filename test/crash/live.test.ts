// `kill -9` of servers and workers while clients follow runs. PAWL_LIVE_KILLS raises the number; the long form is
// `node test/crash/live.ts --kills 200`.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, inject, test } from 'vitest'
import { type FreshDatabase, freshDatabase } from '../support/database.ts'
import { describeLive, killLive } from './live-kills.ts'

const kills = Number(process.env['PAWL_LIVE_KILLS'] ?? 20)
const folder = mkdtempSync(join(tmpdir(), 'pawl-live-'))
const databases: FreshDatabase[] = []

afterAll(async () => {
  await Promise.all(databases.map((database) => database.drop()))
  rmSync(folder, { recursive: true, force: true })
})

const stores: Readonly<Record<string, () => Promise<string>>> = {
  sqlite: async () => `sqlite:${join(folder, 'live.db')}`,
  postgres: async () => {
    const database = await freshDatabase(inject('postgresUrl'))
    databases.push(database)
    return database.url
  },
}

test.each(Object.entries(stores))(
  'on %s every reader has every event once, whichever process is killed',
  {
    timeout: 120_000 + kills * 3_000,
  },
  async (name, place) => {
    const seed = Number(process.env['PAWL_SEED'] ?? Date.now() % 1_000_000)
    const report = await killLive({ store: await place(), kills, seed })
    const text = describeLive(report)
    console.log(`live ${name}:\n${text}`)
    expect(report.violations, text).toEqual([])
    // A test whose kills cut nothing off proves nothing.
    expect(report.resumed, text).toBeGreaterThan(kills)
    expect(report.events, text).toBeGreaterThan(1_000)
  },
)
