// Calls the functions of this release on the pool of the store.

import type pg from 'pg'
import type { Clock } from '../../core/runtime/clock.ts'
import { RowsLocked } from '../../core/stores/driver.ts'
import { explain } from './connection.ts'
import { nameOf } from './functions/index.ts'
import { migrate } from './migrate.ts'
import type { Place } from './place.ts'

export interface CallPorts {
  readonly pool: pg.Pool
  /** For lists and counts, which may read whole tables and take long, while renewals must not wait. */
  readonly lists: pg.Pool
  readonly place: Place
  readonly clock: Clock
  /** The time that tests hand in; `null` for the server's own. */
  readonly now: () => number | null
  /** Behind a pooler, the next connection may not know a prepared statement. */
  readonly isPooled: boolean
  /** Called after every failed call, because another server may answer the next one. */
  readonly failed: () => void
}

// Codes for a function, table or column that does not exist: a newer release has changed the tables, the functions were
// dropped as unused, or another server has taken over that never had them.
const MISSING = new Set(['42883', '42P01', '42703', '3F000'])

export function isMissing(error: unknown): boolean {
  return MISSING.has((error as { code?: string } | undefined)?.code ?? '')
}

function isLocked(error: unknown): boolean {
  return (error as { code?: string }).code === '55P03'
}

export class PostgresCalls {
  readonly #ports: CallPorts
  #installing: Promise<void> | undefined

  constructor(ports: CallPorts) {
    this.#ports = ports
  }

  async call<T>(name: string, ...values: unknown[]): Promise<T> {
    const places = values.map((_, index) => `, $${index + 2}`).join('')
    const text = `select ${nameOf(this.#ports.place.schema, name)}($1${places}) as answer`
    const rows = await this.query<{ answer: T }>(text, [this.#ports.now(), ...values], name)
    return rows[0]?.answer as T
  }

  /**
   * A statement with a name is parsed and planned once for each connection, and uses indexes. One without a name is
   * planned each time, and may read whole tables if that is best.
   */
  async query<Row>(text: string, values: readonly unknown[], name?: string): Promise<Row[]> {
    try {
      return await this.#send(text, values, name)
    } catch (error) {
      if (isLocked(error)) throw new RowsLocked(error)
      this.#ports.failed()
      if (!isMissing(error)) throw explain(error)
    }
    try {
      await this.install()
      return await this.#send(text, values, name)
    } catch (error) {
      throw explain(error)
    }
  }

  async #send<Row>(text: string, values: readonly unknown[], name?: string): Promise<Row[]> {
    const { pool, lists, isPooled } = this.#ports
    const query = { text, values: [...values] }
    if (name === undefined) return (await lists.query(query)).rows as Row[]
    return (await pool.query({ ...query, ...(!isPooled && { name }) })).rows as Row[]
  }

  /** Calls that miss something at the same time wait for one installation. */
  install(): Promise<void> {
    this.#installing ??= this.#installOnce().finally(() => {
      this.#installing = undefined
    })
    return this.#installing
  }

  async #installOnce(): Promise<void> {
    const { pool, place, clock } = this.#ports
    await withClient(pool.connect(), (client) => migrate(client, place, clock, true))
  }
}

// A connection of a pool, for several queries in a row.

/**
 * A connection that is lost between two queries emits an error, and the pool does not listen while it is lent: without
 * a listener the process would end. The next query fails. After a failure the connection is not used again, because it
 * may be lost, in the middle of a transaction, or still busy.
 */
export async function withClient<T>(
  connecting: Promise<pg.PoolClient>,
  use: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await connecting
  let isSound = true
  const lose = (): void => {
    isSound = false
  }
  client.on('error', lose)
  try {
    return await use(client)
  } catch (error) {
    lose()
    throw error
  } finally {
    client.off('error', lose)
    client.release(!isSound)
  }
}
