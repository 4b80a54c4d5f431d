// Connects to a database, directly or through a pooler, and checks that pawl can use it.
import type pg from 'pg'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import type { Clock } from '../../core/runtime/clock.ts'
import { withClient } from './calls.ts'
import { connectionOptions, explain, MARK } from './connection.ts'
import { migrate } from './migrate.ts'
import type { Place } from './place.ts'

export interface Reached {
  readonly pool: pg.Pool
  /** Behind a pooler that assigns connections of the server by transaction. */
  readonly isPooled: boolean
}

/** Opens the pool of the store and brings the database up to date. */
export async function reach(driver: typeof pg, place: Place, clock: Clock): Promise<Reached> {
  const direct = await attempt(driver, place, clock, false)
  const reached = direct ?? (await attempt(driver, place, clock, true))
  if (!reached) throw new PawlError('STORE_UNAVAILABLE', 'Postgres: no connection was given.')
  return reached
}

/** `undefined` if the start-up options do not reach the server. */
async function attempt(driver: typeof pg, place: Place, clock: Clock, isPooled: boolean): Promise<Reached | undefined> {
  const pool = poolOf(driver, place, 'pawl', isPooled)
  try {
    const connecting = pool.connect().catch((error: unknown) => {
      throw mayNotConnect(error)
    })
    const isUsed = await withClient(connecting, async (client) => {
      const usable = await isUsable(client, isPooled)
      if (usable) await migrate(client, place, clock)
      return usable
    })
    if (isUsed) return { pool, isPooled }
  } catch (error) {
    if (isPooled || !isOptionRefused(error)) {
      await pool.end()
      throw explain(error)
    }
  }
  await pool.end()
  return undefined
}

/** Opens connections as they are needed. */
export function poolOf(driver: typeof pg, place: Place, purpose: 'pawl' | 'pawl lists', isPooled: boolean): pg.Pool {
  const types = new driver.TypeOverrides()
  types.setTypeParser(20, Number)
  const pool = new driver.Pool({
    ...connectionOptions(place, purpose, isPooled),
    max: purpose === 'pawl' ? place.pool : limits.listConnectionsMax,
    idleTimeoutMillis: limits.connectionIdleMs,
    types,
  })
  pool.on('error', () => {})
  return pool
}

/** Thrown before the schema is used, so it is about the database. */
function mayNotConnect(error: unknown): unknown {
  const { code, message } = error as { code?: string; message?: string }
  if (code !== '42501') return error
  return new PawlError(
    'STORE_URL_INVALID',
    `${message}. The user may not connect to it: \`grant connect on database <name> to <user>\`, or correct the name ` +
      'in the store URL.',
    { cause: error },
  )
}

/** True if PgBouncer says that it takes no start-up options. */
function isOptionRefused(error: unknown): boolean {
  const { code, message = '' } = error as { code?: string; message?: string }
  return code === '08P01' && /unsupported startup parameter/.test(message)
}

/** False if the start-up options were dropped on the way. */
async function isUsable(client: pg.ClientBase, isPooled: boolean): Promise<boolean> {
  const { rows } = await client.query(
    `select current_setting($1, true) as mark, current_setting('transaction_isolation') as isolation,
      current_setting('server_encoding') as encoding, current_database() as database`,
    [MARK],
  )
  const { mark, isolation, encoding, database } = rows[0] as Record<string, string | null>
  if (!isPooled && mark !== 'on') return false
  if (encoding !== 'UTF8') {
    throw new PawlError(
      'STORE_UNSUITABLE',
      `database '${database}' is encoded in ${encoding}, which cannot hold every text. Create one with: ` +
        "create database pawl encoding 'UTF8' template template0",
    )
  }
  if (isolation !== 'read committed' && isolation !== 'read uncommitted') {
    throw new PawlError(
      'STORE_UNSUITABLE',
      `transactions in database '${database}' are in ${isolation}, and behind a pooler pawl cannot change that. ` +
        "Run: alter role <user> set default_transaction_isolation = 'read committed'",
    )
  }
  return true
}
