// The URL of a Postgres store, as settings for pawl and for the driver.
import { PawlError } from '../../core/base/errors.ts'
import { unknownParameter } from '../url-parameters.ts'

export interface Place {
  /** The connection string without the parts that are pawl's own. */
  readonly url: string
  /** Where to listen for hints, if that differs: a pooler in transaction mode forwards no notifications. */
  readonly listenUrl?: string
  /** The schema's name, quoted. */
  readonly schema: string
  readonly channel: string
  readonly pool: number
  /** Start-up options of the user, as `-c name=value …`. */
  readonly options: string
}

const OURS = ['schema', 'pool', 'listen', 'options'] as const

/** Parameters that the driver takes in a URL. */
const DRIVERS = [
  'application_name',
  'binary',
  'client_encoding',
  'connect_timeout',
  'database',
  'encoding',
  'fallback_application_name',
  'host',
  'idle_in_transaction_session_timeout',
  'keepalives',
  'keepalives_idle',
  'lock_timeout',
  'password',
  'port',
  'query_timeout',
  'ssl',
  'sslcert',
  'sslkey',
  'sslmode',
  'sslnegotiation',
  'sslpassword',
  'sslrootcert',
  'statement_timeout',
  'target_session_attrs',
  'uselibpqcompat',
  'user',
]

export function placeOf(given: string): Place {
  const url = readUrl(given, 'the Postgres URL')
  checkParameters(url)
  const { searchParams } = url
  const name = searchParams.get('schema') ?? 'pawl'
  if (!/^[a-z_][a-z0-9_]{0,47}$/.test(name)) {
    throw new PawlError(
      'STORE_URL_INVALID',
      `schema '${name}' is not a name pawl uses: small letters, digits and underscores, at most 48.`,
    )
  }
  const pool = Number(searchParams.get('pool') ?? 8)
  if (!Number.isInteger(pool) || pool < 3 || pool > 1_000) {
    throw new PawlError('STORE_URL_INVALID', 'pool must be a whole number from 3 to 1000.')
  }
  const listen = searchParams.get('listen')
  if (listen !== null) readUrl(listen, 'the URL in the parameter `listen`')
  const options = searchParams.get('options') ?? ''
  for (const own of OURS) searchParams.delete(own)
  return {
    url: url.toString(),
    schema: `"${name}"`,
    channel: `pawl_${name}`,
    pool,
    options,
    ...(listen !== null && { listenUrl: listen }),
  }
}

function readUrl(given: string, what: string): URL {
  try {
    return new URL(given)
  } catch {
    throw new PawlError(
      'STORE_URL_INVALID',
      `${what} cannot be read. Expected 'postgres://user:password@host:5432/database?schema=pawl'; special characters ` +
        'in the password must be percent-encoded.',
    )
  }
}

function checkParameters({ searchParams }: URL): void {
  const known = [...OURS, ...DRIVERS]
  for (const name of searchParams.keys()) if (!known.includes(name)) throw unknownParameter(name, 'postgres', known)
}
