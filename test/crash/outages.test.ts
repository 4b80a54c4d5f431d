// For a few seconds the store refuses everything, with errors that look as if they would never pass: a role that may not
// log in, credentials that are not accepted, a file that another program keeps locked. Runs that are in progress survive.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, describe, expect, inject, test, vi } from 'vitest'
import { startS3Simulator } from '../../src/testing/s3-simulator.ts'
import { freshDatabase } from '../support/database.ts'
import { describeReport, type KillOptions, killWorkers } from './kill-workers.ts'

const seed = Number(process.env['PAWL_SEED'] ?? Date.now() % 1_000_000)
const outageMs = 3_000
/** Within the longer lease the holder of a run keeps it through the outage; within the shorter none does. */
const leases = { longer: 15_000, shorter: 1_500 } as const

type Place = Pick<KillOptions, 'store' | 'outage' | 'leaseMs'>
const ends: (() => Promise<void> | void)[] = []
afterAll(async () => {
  for (const end of ends.reverse()) await end()
})

// As when credentials are replaced: old connections are closed, and new ones refused.
async function onPostgres(): Promise<Place> {
  const database = await freshDatabase(inject('postgresUrl'))
  const admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
  const url = new URL(database.url)
  const role = url.pathname.slice(1)
  await admin.query(`create role ${role} login`)
  await admin.query(`grant create on database ${role} to ${role}`)
  ends.push(async () => {
    await admin.end()
    await database.drop()
    const server = new pg.Client({ connectionString: inject('postgresUrl') })
    await server.connect()
    await server.query(`drop role ${role}`)
    await server.end()
  })
  url.username = role
  const outage = async (): Promise<void> => {
    await admin.query(`alter role ${role} nologin`)
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [role])
    await sleep(outageMs)
    await admin.query(`alter role ${role} login`)
  }
  return { store: url.href, outage, leaseMs: leases.longer }
}

async function onSqlite(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-outage-'))
  ends.push(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'outage.db')
  const outage = async (): Promise<void> => {
    const other = new DatabaseSync(file, { timeout: 5_000 })
    other.exec('begin exclusive')
    await sleep(outageMs)
    other.exec('rollback')
    other.close()
  }
  return { store: `sqlite:${file}`, outage, leaseMs: leases.shorter }
}

async function onS3(): Promise<Place> {
  const simulator = await startS3Simulator()
  ends.push(() => simulator.stop())
  // Where the workers find them.
  process.env['AWS_ACCESS_KEY_ID'] = simulator.credentials.accessKeyId
  process.env['AWS_SECRET_ACCESS_KEY'] = simulator.credentials.secretAccessKey
  const outage = async (): Promise<void> => {
    simulator.faults.refusal = { status: 403, code: 'AccessDenied' }
    await sleep(outageMs)
    simulator.faults.refusal = undefined
  }
  return { store: simulator.url, outage, leaseMs: leases.shorter }
}

vi.setConfig({ maxConcurrency: 3 })

describe.concurrent.each(Object.entries({ postgres: onPostgres, sqlite: onSqlite, s3: onS3 }))(
  'on %s',
  (name, place) => {
    test('stores D1: a store that refuses everything for a while costs time, and nothing else', {
      timeout: 180_000,
    }, async () => {
      console.log(`outages ${name}: seed ${seed}`)
      const blows = { kills: 0, stops: 0, outages: 1 }
      const pace = { runs: 120, stepMsMax: 1_500, pauseMs: 1_500 }
      const where = await place()
      const report = await killWorkers({ ...where, ...blows, ...pace, seed })
      console.log(`outages ${name}:\n${describeReport(report)}`)
      expect(report.violations, describeReport(report)).toEqual([])
      expect(report.outages).toBe(1)
      if (where.leaseMs === leases.longer) expect(report.interrupted).toBe(0)
      else expect(report.interrupted, describeReport(report)).toBeGreaterThan(0)
      expect(report.succeeded).toBe(report.operations)
    })
  },
)
