// Brings a database up to date: its tables, and the functions of this release beside those of others.
import type pg from 'pg'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { type Clock, sleep } from '../../core/runtime/clock.ts'
import { functions, release } from './functions/index.ts'
import type { Place } from './place.ts'
import { migrations, OLDEST_AT_WORK } from './schema.ts'

/** Building an index over many runs takes long. */
const MIGRATION_MS_MAX = 3_600_000

/**
 * Processes that start together wait for each other, and those that use the tables meanwhile are not delayed for long.
 * With `again` the functions are installed even if they seem to exist.
 */
export async function migrate(client: pg.ClientBase, { schema }: Place, clock: Clock, again = false): Promise<void> {
  if (!again && isUpToDate(await stateOf(client, schema))) return
  const deadline = clock.monotonic() + limits.storePatienceMs
  for (;;) {
    try {
      return await migrateOnce(client, schema, again)
    } catch (error) {
      const isLocked = (error as { code?: string }).code === '55P03'
      if (!isLocked || clock.monotonic() > deadline) throw error
      // Statements that wait behind the lock that was not granted get their turn.
      await sleep(clock, limits.migrationPauseMs)
    }
  }
}

async function migrateOnce(client: pg.ClientBase, schema: string, again: boolean): Promise<void> {
  const run = (text: string, values: unknown[] = []) =>
    client.query({ text, values, query_timeout: MIGRATION_MS_MAX } as pg.QueryConfig)
  await run('begin isolation level read committed')
  try {
    await run('set local statement_timeout = 0')
    await run('set local lock_timeout = 0')
    // A lock of the transaction and not of the session, because a pooler may give the next statement to another
    // connection. The statements that follow see what the processes it waited for have done.
    await run(`select pg_advisory_xact_lock(hashtextextended('pawl ' || $1, 0))`, [schema])
    // All later statements would wait behind a table lock that is requested and not granted.
    await run(`set local lock_timeout = ${limits.lockMsMax}`)
    const state = await stateOf(client, schema)
    if (again || !isUpToDate(state)) await bringUpToDate(run, schema, state)
    await run('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}

type Run = (text: string, values?: unknown[]) => Promise<pg.QueryResult>

async function bringUpToDate(run: Run, schema: string, state: State | undefined): Promise<void> {
  if (!state) await makeSchema(run, schema)
  const version = state?.version ?? 0
  for (const migration of migrations.slice(version)) {
    await run(migration.replaceAll('{schema}', schema))
  }
  if (version < migrations.length) {
    const about = [migrations.length, OLDEST_AT_WORK]
    await run(`update ${schema}.about set version = $1, oldest = $2`, about)
  }
  if (state && version < OLDEST_AT_WORK) await dropReleases(run, schema, 'true')
  await dropReleases(run, schema, `used_at < ${NOW} - ${limits.releaseUnusedMs}`)
  await run(functions(schema))
  await run(
    `insert into ${schema}.release (release, used_at) values ($1, ${NOW})
      on conflict (release) do update set used_at = excluded.used_at`,
    [release],
  )
}

const NOW = 'floor(extract(epoch from clock_timestamp()) * 1000)::int8'

async function makeSchema(run: Run, schema: string): Promise<void> {
  // Without the right to create schemas this still works in one that exists.
  const name = schema.slice(1, -1)
  const { rows } = await run('select 1 from pg_namespace where nspname = $1', [name])
  if (rows.length === 0) await run(`create schema ${schema}`)
  // A release that knows only these two columns reads them to learn that it is too old.
  await run(`create table ${schema}.about (version int4 not null, functions text not null)`)
  await run(`insert into ${schema}.about values (0, '')`)
}

/** A process that still uses dropped functions installs them again, or learns that it must be upgraded. */
async function dropReleases(run: Run, schema: string, which: string): Promise<void> {
  const { rows } = await run(`delete from ${schema}.release where release <> $1 and ${which} returning release`, [
    release,
  ])
  for (const { release: old } of rows as { release: string }[]) {
    const found = await run(
      `select oid::regprocedure::text as signature from pg_proc
        where pronamespace = $1::regnamespace and right(proname, 13) = '_' || $2`,
      [schema, old],
    )
    const signatures = (found.rows as { signature: string }[]).map(({ signature }) => signature)
    if (signatures.length > 0) await run(`drop function ${signatures.join(', ')}`)
  }
}

interface State {
  readonly version: number
  /** Absent in tables of releases that could not run side by side. */
  readonly oldest?: number
  readonly isInstalled: boolean
}

async function stateOf(client: pg.ClientBase, schema: string): Promise<State | undefined> {
  // From the catalogue itself, because a connection's cache of it may be older than the lock it has just waited for.
  const { rows } = await client.query(
    `select exists (select 1 from pg_class where relnamespace = n.oid and relname = 'about') as found,
      exists (select 1 from pg_proc where pronamespace = n.oid and proname = $2) as installed
    from pg_namespace n where nspname = $1`,
    [schema.slice(1, -1), `claim_${release}`],
  )
  const [{ found, installed } = {}] = rows as { found?: boolean; installed?: boolean }[]
  if (!found) return undefined
  const about = await client.query(`select to_json(a) as about from ${schema}.about a`)
  const { version, oldest } = (about.rows[0] as { about: { version: number; oldest?: number } }).about
  const state = {
    version,
    ...(oldest !== undefined && { oldest }),
    isInstalled: installed === true,
  }
  refuseNewer(state, schema)
  return state
}

function isUpToDate(state: State | undefined): boolean {
  return state !== undefined && state.version >= migrations.length && state.isInstalled
}

function refuseNewer({ version, oldest = version }: State, schema: string): void {
  if (version <= migrations.length || oldest <= migrations.length) return
  throw new PawlError(
    'SCHEMA_TOO_NEW',
    `schema ${schema} was written by a newer pawl (version ${version}, this one knows ${migrations.length}). ` +
      'Upgrade pawl in this process.',
  )
}
