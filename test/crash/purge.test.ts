// P14: processes that purge are killed in the middle, again and again: every run is there wholly, or not at all.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { open, workflow } from '../../src/index.ts'
import { type FreshDatabase, freshDatabase } from '../support/database.ts'

const RUNS = 1_500
const KILLS = 6
const TABLES = ['name', 'closed', 'turn', 'inbox', 'task', 'note', 'attribute', 'attribute_item'] as const
const main = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts')
const quick = workflow('quick', async (ctx, n: number) => {
  ctx.setAttributes({ n, tags: ['a', 'b'] })
  return ctx.run('double', () => n * 2)
})

let folder: string
let database: FreshDatabase

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-purge-'))
  database = await freshDatabase(inject('postgresUrl'))
})

afterAll(async () => {
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

/** Counts rows whose run is gone, runs that have neither a state nor an end, and names of runs that are gone. */
function orphans(table: (name: string) => string): string[] {
  const lost = (name: string): string => `select count(*) as n from ${table(name)} t
    where not exists (select 1 from ${table('run')} r where r.run_id = t.run_id)`
  const unknown = `select count(*) as n from ${table('run')} r
    where not exists (select 1 from ${table('closed')} c where c.run_id = r.run_id)
      and not exists (select 1 from ${table('live')} l where l.run_id = r.run_id)`
  return [...TABLES.map(lost), unknown]
}

async function onSqlite(url: string): Promise<number[]> {
  const file = new DatabaseSync(url.slice('sqlite:'.length))
  const counts = orphans((name) => `pawl_${name}`).map((text) => (file.prepare(text).get() as { n: number }).n)
  file.close()
  return counts
}

async function onPostgres(url: string): Promise<number[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const counts: number[] = []
  for (const text of orphans((name) => `pawl.${name}`)) {
    const { rows } = await client.query<{ n: string }>(text)
    counts.push(Number(rows[0]?.n))
  }
  await client.end()
  return counts
}

const stores = [
  ['sqlite', () => `sqlite:${join(folder, 'purge.db')}`, onSqlite],
  ['postgres', () => database.url, onPostgres],
] as const

describe.each(stores)('on %s', (_name, place, count) => {
  test('P14: no run is half gone, whenever a purge is killed', { timeout: 120_000 }, async () => {
    const url = place()
    await using engine = await open(url, { workflows: [quick] })
    const worker = engine.work({ signals: false })
    for (let n = 0; n < RUNS; n += 500) {
      const inputs = Array.from({ length: 500 }, (_, at) => ({ input: n + at, workflowId: `quick-${(n + at) % 50}` }))
      const runs = await engine.startMany(quick, inputs)
      await Promise.all(runs.map((run) => run.result()))
    }
    await worker.drain()
    let left = RUNS
    for (let kill = 0; kill < KILLS; kill++) {
      const args = [main, 'purge', '--keep', '0s', '--yes', '--store', url]
      const child = spawn(process.execPath, args, { stdio: 'ignore' })
      const ended = once(child, 'exit')
      const goal = Math.max(1, left - 20 * 2 ** kill)
      // Kills it once it has deleted some, or lets it finish if it was faster.
      while (child.exitCode === null && (await engine.count({ workflow: quick })) > goal) continue
      child.kill('SIGKILL')
      await ended
      expect(await count(url), `after kill ${kill}`).toEqual(Array.from({ length: TABLES.length + 1 }, () => 0))
      left = await engine.count({ workflow: quick })
    }
    expect(left).toBeLessThan(RUNS)
    await engine.retention.purge({ keep: 0 })
    expect(await engine.count({})).toBe(0)
    expect(await count(url)).toEqual(Array.from({ length: TABLES.length + 1 }, () => 0))
  })
})
