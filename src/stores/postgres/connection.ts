// Reaching a Postgres database: the driver, the pool, the schema, or an error that says what to do.
import type pg from 'pg'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { refused, unavailable } from '../../core/runtime/availability.ts'
import { FOR_MANY_ROWS } from './functions/plans.ts'
import type { Place } from './place.ts'

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

/** What a connection is for: it says what the server should do if it hangs. */
export type Purpose = 'pawl' | 'pawl hints' | 'pawl lists' | 'pawl steps'

/** Set by a start-up option. Where it is missing, a pooler has dropped the options. */
export const MARK = 'pawl.direct'

/**
 * Behind a pooler in transaction mode (`isPooled`) there are no start-up options, since connections of the server are
 * shared; the functions set what a transaction needs.
 */
export function connectionOptions(
  place: Place,
  purpose: Purpose,
  isPooled = false,
): pg.ClientConfig {
  return {
    connectionString: place.url,
    application_name: purpose,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    // A connection that has silently died must not hold up what waits behind it.
    query_timeout: 30_000,
    ...(!isPooled && { options: startUpOptions(place, purpose) }),
  }
}

// A host that has vanished keeps its locks until the server notices, which takes hours by default.
const ALIVE = '-c tcp_keepalives_idle=15 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3'

// The server takes the last of two that say the same: what pawl relies on stands behind what the URL says.
function startUpOptions({ options }: Place, purpose: Purpose): string {
  const relied = `-c ${MARK}=on`
  // What a body in a transaction may do, and in which isolation, is its author's business.
  if (purpose === 'pawl steps') return `${ALIVE} ${options} ${relied}`
  const ways = purpose === 'pawl lists' ? [] : [...FOR_MANY_ROWS, 'jit']
  const lookups = ways.map((way) => `-c ${way}=off`).join(' ')
  return `${ALIVE} ${lookups} -c statement_timeout=25s -c lock_timeout=${limits.lockMsMax} ${options} -c default_transaction_isolation=read\\ committed ${relied}`
}

/**
 * What is wrong with the data itself: not a value of its type, a constraint, more than the server can hold. Of the last
 * kind only what is about a value or a row: the server's own limits, as for notifications, pass.
 */
const REFUSED = /^(22|23)/
const TOO_LARGE = /index row|row is too big|string buffer|too long/

/** What went wrong, as one of pawl's errors where there is something to say about it. */
export function explain(error: unknown): unknown {
  if (error instanceof PawlError) return error
  const { code = '', message = '' } = (error ?? {}) as { code?: string; message?: string }
  // First, because its message may quote what was sent.
  if (REFUSED.test(code) || (code.startsWith('54') && TOO_LARGE.test(message)))
    return refused('Postgres', error)
  const refusal = refusals[code] ?? (MISDIRECTED.test(message) ? MISDIRECTION : undefined)
  if (refusal) return new PawlError(refusal[0], `${message}. ${refusal[1]}`, { cause: error })
  return unavailable('Postgres', error)
}

/** What the server, the driver or a pooler says of a URL that no waiting mends, without a code of its own. */
const MISDIRECTED =
  /does not support SSL|no such database|invalid sslmode|unrecognized configuration parameter|invalid command-line argument|requires a value/
const MISDIRECTION = ['STORE_URL_INVALID', 'Correct the store URL.'] as const

const refusals: Readonly<Record<string, readonly [PawlError['code'], string]>> = {
  '25006': ['STORE_READ_ONLY', 'This server takes no writes: connect to the primary.'],
  '28P01': ['STORE_URL_INVALID', 'Check the user and password in the store URL.'],
  '28000': ['STORE_URL_INVALID', 'Check the user in the store URL, and the rules in pg_hba.conf.'],
  '42939': ['STORE_URL_INVALID', 'Choose another name in ?schema=: pg_ is for the server itself.'],
  '3D000': [
    'STORE_URL_INVALID',
    'Create the database first, or correct its name in the store URL.',
  ],
  '42501': [
    'STORE_READ_ONLY',
    'The user needs a schema of its own: `create schema pawl authorization <user>`, or the right to create one.',
  ],
}
