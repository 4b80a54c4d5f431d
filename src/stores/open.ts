// From a URL to a store. Drivers are loaded only when their store is asked for.

import { PawlError } from '../core/base/errors.ts'
import { limits } from '../core/base/limits.ts'
import { formatDuration } from '../core/base/time.ts'
import { persist } from '../core/runtime/availability.ts'
import type { Clock } from '../core/runtime/clock.ts'
import type { Logger } from '../core/runtime/logger.ts'
import type { Random } from '../core/runtime/random.ts'
import { MemoryStore, type Store } from '../core/stores/driver.ts'
import type { CredentialProvider } from './objects/credentials.ts'

const EXAMPLES = "'sqlite:./pawl.db', 'postgres://user@host/database', 's3://bucket/prefix', 'file:./folder', 'memory:'"

export interface StoreOptions {
  /** Where the s3 store gets its credentials; by default from the environment, then from the profile file. */
  readonly credentials?: CredentialProvider
}

export interface OpenPorts {
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

/**
 * Opens a store, and waits for one that is unavailable as long as a client waits for any answer. What waiting cannot
 * mend, such as a wrong password or a schema that is too new, is thrown at once.
 */
export async function openPatiently(
  url: string,
  { clock, random, logger }: OpenPorts,
  options: StoreOptions = {},
): Promise<Store> {
  let reason = 'it has not answered yet'
  const patienceMs = limits.storePatienceMs
  const cancelNotice = clock.after(limits.openNoticeMs, () => {
    const patience = formatDuration(patienceMs)
    logger.log('warn', `waiting up to ${patience} for the store to become available: ${reason}`)
  })
  const attempt = async (): Promise<{ readonly store: Store } | { readonly error: unknown }> => {
    try {
      return { store: await openStore(url, clock, options) }
    } catch (error) {
      if (!(error instanceof PawlError) || error.code !== 'STORE_UNAVAILABLE') return { error }
      reason = error.message
      throw error
    }
  }
  try {
    const opened = await persist(attempt, { clock, random, patienceMs })
    if ('error' in opened) throw opened.error
    return opened.store
  } finally {
    cancelNotice()
  }
}

export async function openStore(url: string, clock: Clock, options: StoreOptions = {}): Promise<Store> {
  const scheme = typeof url === 'string' ? /^([a-z][a-z0-9+]*):/i.exec(url)?.[1]?.toLowerCase() : undefined
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
