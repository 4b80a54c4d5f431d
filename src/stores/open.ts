// From a URL to a store. Drivers are loaded only when their store is asked for.
import { PawlError } from '../kernel/errors.ts'
import type { Clock } from '../runtime/clock.ts'
import { MemoryStore } from './memory/store.ts'
import type { CredentialProvider } from './objects/credentials.ts'
import type { Store } from './store.ts'

const EXAMPLES =
  "'sqlite:./pawl.db', 'postgres://user@host/database', 's3://bucket/prefix', 'file:./folder', 'memory:'"

export interface StoreOptions {
  /** Where the s3 store gets its credentials; by default from the environment, then from the profile file. */
  readonly credentials?: CredentialProvider
}

export async function openStore(
  url: string,
  clock: Clock,
  options: StoreOptions = {},
): Promise<Store> {
  const scheme =
    typeof url === 'string' ? /^([a-z][a-z0-9+]*):/i.exec(url)?.[1]?.toLowerCase() : undefined
  switch (scheme) {
    case 'memory':
      return new MemoryStore({ clock })
    case 'sqlite': {
      const { SqliteStore } = await import('./sqlite/index.ts')
      return SqliteStore.open(url, clock)
    }
    case 'postgres':
    case 'postgresql': {
      const { PostgresStore } = await import('./postgres/index.ts')
      return PostgresStore.open(url, clock)
    }
    case 's3':
    case 'file': {
      const { openObjects } = await import('./objects/index.ts')
      const { credentials } = options
      return openObjects(url, clock, credentials ? { s3: { credentials } } : {})
    }
    default:
      throw new PawlError(
        'STORE_URL_INVALID',
        `${scheme === undefined ? 'the store URL has no scheme' : `there is no store for '${scheme}:'`}. Expected one of ${EXAMPLES}.`,
      )
  }
}
