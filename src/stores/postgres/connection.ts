// Reaching a Postgres database: the driver, the pool, the schema, or an error that says what to do.
import type pg from 'pg'
import { digest } from '../../kernel/digest.ts'
import { PawlError } from '../../kernel/errors.ts'
import { refused, unavailable } from '../../runtime/availability.ts'
import { functions } from './functions/index.ts'
import { migrations } from './schema.ts'

export interface Place {
  /** The connection string without the parts that are pawl's own. */
  readonly url: string
  /** The schema's name, quoted. */
  readonly schema: string
  readonly channel: string
  readonly pool: number
}

export function placeOf(given: string): Place {
  let url: URL
  try {
    url = new URL(given)
  } catch {
    throw new PawlError(
      'STORE_URL_INVALID',
      "the Postgres URL cannot be read. Expected 'postgres://user:password@host:5432/database?schema=pawl'; special characters in the password must be percent-encoded.",
    )
  }
  const name = url.searchParams.get('schema') ?? 'pawl'
  if (!/^[a-z_][a-z0-9_]{0,47}$/.test(name)) {
    throw new PawlError(
      'STORE_URL_INVALID',
      `schema '${name}' is not a name pawl uses: small letters, digits and underscores, at most 48.`,
    )
  }
  const pool = Number(url.searchParams.get('pool') ?? 8)
  if (!Number.isInteger(pool) || pool < 3 || pool > 1_000) {
    throw new PawlError('STORE_URL_INVALID', 'pool must be a whole number from 3 to 1000.')
  }
  url.searchParams.delete('schema')
  url.searchParams.delete('pool')
  return { url: url.toString(), schema: `"${name}"`, channel: `pawl_${name}`, pool }
}

export async function loadDriver(): Promise<typeof pg> {
  try {
    const driver = await import('pg')
    return driver.default
  } catch (error) {
    throw new PawlError(
      'DRIVER_MISSING',
      "the Postgres store needs the package 'pg'. Run: npm install pg",
      {
        cause: error,
      },
    )
  }
}

export function connectionOptions(
  place: Place,
  name: string,
  asynchronous = false,
): pg.ClientConfig {
  return {
    connectionString: place.url,
    application_name: name,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    // A connection that has silently died must not hold up what waits behind it.
    query_timeout: 30_000,
    options: `-c synchronous_commit=${asynchronous ? 'off' : 'on'}`,
  }
}

/** What is wrong with the data itself: not a value of its type, a constraint, more than the server can hold. */
const REFUSED = /^(22|23|54)/

/** What went wrong, as one of pawl's errors where there is something to say about it. */
export function explain(error: unknown): unknown {
  if (error instanceof PawlError) return error
  const { code = '', message = '' } = (error ?? {}) as { code?: string; message?: string }
  const refusal = refusals[code]
  if (refusal) return new PawlError(refusal[0], `${message}. ${refusal[1]}`, { cause: error })
  return REFUSED.test(code) ? refused('Postgres', error) : unavailable('Postgres', error)
}

const refusals: Readonly<Record<string, readonly [PawlError['code'], string]>> = {
  '25006': ['STORE_READ_ONLY', 'This server takes no writes: connect to the primary.'],
  '28P01': ['STORE_URL_INVALID', 'Check the user and password in the store URL.'],
  '28000': ['STORE_URL_INVALID', 'Check the user in the store URL, and the rules in pg_hba.conf.'],
  '3D000': [
    'STORE_URL_INVALID',
    'Create the database first, or correct its name in the store URL.',
  ],
  '42501': [
    'STORE_READ_ONLY',
    'The user needs a schema of its own: `create schema pawl authorization <user>`, or the right to create one.',
  ],
}

/** Brings the schema up to date. Processes that start together wait for each other. */
export async function migrate(client: pg.ClientBase, { schema }: Place): Promise<void> {
  const wanted = digest(functions(schema))
  const before = await versionOf(client, schema)
  if (before?.version === migrations.length && before.functions === wanted) return
  refuseNewer(before, schema)
  const lock = `hashtextextended('pawl ' || $1, 0)`
  // Taken before the transaction begins, so that it sees all that was done by those it waited for.
  await client.query(`select pg_advisory_lock(${lock})`, [schema])
  try {
    await client.query('begin')
    await migrateLocked(client, schema, wanted)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  } finally {
    await client.query(`select pg_advisory_unlock(${lock})`, [schema]).catch(() => {})
  }
}

async function migrateLocked(client: pg.ClientBase, schema: string, wanted: string): Promise<void> {
  const current = await versionOf(client, schema)
  refuseNewer(current, schema)
  if (!current) {
    // Without the right to create schemas this still works in one that was made for us.
    const name = schema.slice(1, -1)
    const { rows } = await client.query('select 1 from pg_namespace where nspname = $1', [name])
    if (rows.length === 0) await client.query(`create schema ${schema}`)
    await client.query(
      `create table ${schema}.about (version int4 not null, functions text not null)`,
    )
    await client.query(`insert into ${schema}.about values (0, '')`)
  }
  for (const migration of migrations.slice(current?.version ?? 0)) {
    await client.query(migration.replaceAll('{schema}', schema))
  }
  await client.query(functions(schema))
  const about = [migrations.length, wanted]
  await client.query(`update ${schema}.about set version = $1, functions = $2`, about)
}

type Version = { readonly version: number; readonly functions: string } | undefined

async function versionOf(client: pg.ClientBase, schema: string): Promise<Version> {
  const { rows } = await client.query('select to_regclass($1) as found', [`${schema}.about`])
  if (!(rows[0] as { found: string | null }).found) return undefined
  const about = await client.query(`select version, functions from ${schema}.about`)
  return about.rows[0] as Version
}

function refuseNewer(found: Version, schema: string): void {
  if (!found || found.version <= migrations.length) return
  throw new PawlError(
    'SCHEMA_TOO_NEW',
    `schema ${schema} was written by a newer pawl (version ${found.version}, this one knows ${migrations.length}). Upgrade pawl in this process.`,
  )
}
