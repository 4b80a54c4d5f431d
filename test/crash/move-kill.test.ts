// `kill -9` of `pawl move`. The long form is `node test/crash/move-kill.ts --runs 10000 --kills 100`.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { freshDatabase } from '../support/database.ts'
import { moveAndKill } from './move-kills.ts'

const seed = Number(process.env['PAWL_SEED'] ?? Date.now() % 1_000_000)

test('runs move from SQLite to Postgres to a folder although their moves are killed, and finish once', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-move-kill-'))
  const database = await freshDatabase(inject('postgresUrl'))
  try {
    const stores = [`sqlite:${join(folder, 'trial.db')}`, database.url, `file:${join(folder, 'objects')}`]
    const report = await moveAndKill({ stores, runs: 200, kills: 3, seed, pauseMsMax: 1_500 })
    expect(report.violations, JSON.stringify(report)).toEqual([])
  } finally {
    await database.drop()
    await rm(folder, { recursive: true })
  }
}, 120_000)
