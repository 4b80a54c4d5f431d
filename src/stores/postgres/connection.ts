// Options of connections to Postgres, and its errors as errors that say what to do.
import type pg from 'pg'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { refused, unavailable } from '../../core/runtime/availability.ts'
import { FOR_MANY_ROWS } from './functions/transaction.ts'
import type { Place } from './place.ts'

export async function loadDriver(): Promise<typeof pg> {
  try {
    const driver = await import('pg')
    return driver.default
  } catch (error) {
    throw new PawlError('DRIVER_MISSING', "the Postgres store needs the package 'pg'. Run: npm install pg", {
      cause: error,
    })
  }
}

/** What a connection is for, which decides its options. */
export type Purpose = 'pawl' | 'pawl hints' | 'pawl lists' | 'pawl steps'

/** A setting that a start-up option makes. If it is missing, a pooler has dropped the options. */
export const MARK = 'pawl.direct'

/**
 * Behind a pooler in transaction mode (`isPooled`) there are no start-up options, because connections of the server are
 * shared. The functions set what a transaction needs.
 */
export function connectionOptions(place: Place, purpose: Purpose, isPooled = false): pg.ClientConfig {
  return {
    connectionString: place.url,
    application_name: purpose,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    // A connection that has silently died must not delay the calls that wait behind it.
    query_timeout: 30_000,
    ...(!isPooled && { options: startUpOptions(place, purpose) }),
  }
}

// A host that has vanished keeps its locks until the server notices, which takes hours by default.
const ALIVE = '-c tcp_keepalives_idle=15 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3'

// Of two options with the same name the server takes the last, so those that pawl relies on follow those of the URL.
function startUpOptions({ options }: Place, purpose: Purpose): string {
  const relied = `-c ${MARK}=on`
  // The author of a body decides what it may do in its transaction, and in which isolation.
  if (purpose === 'pawl steps') return `${ALIVE} ${options} ${relied}`
  const ways = purpose === 'pawl lists' ? [] : [...FOR_MANY_ROWS, 'jit']
  const lookups = ways.map((way) => `-c ${way}=off`).join(' ')
  return `${ALIVE} ${lookups} -c statement_timeout=25s -c lock_timeout=${limits.lockMsMax} ${options} -c default_transaction_isolation=read\\ committed ${relied}`
}

/**
 * Codes for data that the server refuses: not a value of its type, a constraint, too large a value or row. Limits of
 * the server itself, as for notifications, are not among them, because they may pass.
 */
const REFUSED = /^(22|23)/
const TOO_LARGE = /index row|row is too big|string buffer|too long/

/** An error of the driver as one of pawl's errors. */
export function explain(error: unknown): unknown {
  if (error instanceof PawlError) return error
  const { code = '', message = '' } = (error ?? {}) as { code?: string; message?: string }
  // First, because the message may quote the data.
  if (REFUSED.test(code) || (code.startsWith('54') && TOO_LARGE.test(message))) return refused('Postgres', error)
  const refusal = refusals[code] ?? (MISDIRECTED.test(message) ? MISDIRECTION : undefined)
  if (refusal) return new PawlError(refusal[0], `${message}. ${refusal[1]}`, { cause: error })
  return unavailable('Postgres', error)
}

/** Messages without a code about a URL that is wrong, from the server, the driver or a pooler. */
const MISDIRECTED =
  /does not support SSL|no such database|invalid sslmode|unrecognized configuration parameter|invalid command-line argument|requires a value/
const MISDIRECTION = ['STORE_URL_INVALID', 'Correct the store URL.'] as const

const refusals: Readonly<Record<string, readonly [PawlError['code'], string]>> = {
  '25006': ['STORE_READ_ONLY', 'This server takes no writes: connect to the primary.'],
  '28P01': ['STORE_URL_INVALID', 'Check the user and password in the store URL.'],
  '28000': ['STORE_URL_INVALID', 'Check the user in the store URL, and the rules in pg_hba.conf.'],
  '42939': ['STORE_URL_INVALID', 'Choose another name in ?schema=: pg_ is for the server itself.'],
  '3D000': ['STORE_URL_INVALID', 'Create the database first, or correct its name in the store URL.'],
  '42501': [
    'STORE_READ_ONLY',
    'The user needs a schema of its own: `create schema pawl authorization <user>`, or the right to create one.',
  ],
}
