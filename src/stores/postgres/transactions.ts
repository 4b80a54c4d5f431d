// Steps that run in a transaction of the database. They have connections of their own, so that sessions are renewed
// however long a step takes.
import type pg from 'pg'
import { PermanentError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import type { Sql, StepOf } from '../../core/stores/driver.ts'
import { askedTooLate, endedInside, NOTE, notInProgress } from '../sql/step.ts'
import { isMissing } from './calls.ts'
import { explain } from './connection.ts'
import { nameOf } from './functions/index.ts'

type Body = (sql: Sql) => Promise<string>

/** The result of a transaction, and whether this transaction should commit. */
interface Outcome {
  readonly text: string
  readonly keep: boolean
}

export interface TransactionPorts {
  readonly pool: pg.Pool
  readonly schema: string
  /** Behind a pooler, connections of the server are shared, and nothing is set for one of them. */
  readonly isPooled: boolean
  /** Brings the database up to date, or throws why it cannot. */
  readonly install: () => Promise<void>
}

export class PostgresTransactions {
  readonly #pool: pg.Pool
  readonly #schema: string
  readonly #isPooled: boolean
  readonly #install: () => Promise<void>
  readonly #known = new WeakSet<pg.PoolClient>()

  constructor({ pool, schema, isPooled, install }: TransactionPorts) {
    this.#pool = pool
    this.#schema = schema
    this.#isPooled = isPooled
    this.#install = install
    pool.on('error', ignore)
  }

  async run(of: StepOf, body: Body): Promise<string> {
    try {
      return await this.#attempt(of, body)
    } catch (error) {
      if (!(error instanceof NotInstalled)) throw error
    }
    await this.#install()
    return this.#attempt(of, body)
  }

  async #attempt(of: StepOf, body: Body): Promise<string> {
    const client = await this.#connect()
    // A connection that is lost between two queries emits an error; the next query fails.
    client.on('error', ignore)
    let isOver = false
    try {
      await own(client, 'begin')
      const { text, keep } = await this.#within(client, of, body)
      await own(client, keep ? 'commit' : 'rollback')
      isOver = true
      return text
    } catch (error) {
      isOver = await client.query('rollback').then(
        () => true,
        () => false,
      )
      throw error
    } finally {
      client.off('error', ignore)
      // Closed if its state is unknown; the server rolls back then.
      client.release(!isOver)
    }
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }

  async #connect(): Promise<pg.PoolClient> {
    try {
      const client = await this.#pool.connect()
      if (!this.#isPooled && !this.#known.has(client)) {
        this.#known.add(client)
        // So that the server notices a client that has vanished. A server that cannot says so, and continues.
        await client.query("set client_connection_check_interval = '5s'").catch(ignore)
      }
      return client
    } catch (error) {
      throw explain(error)
    }
  }

  async #within(client: pg.PoolClient, of: StepOf, body: Body): Promise<Outcome> {
    const { runId, generation, key } = of
    // The time of its begin distinguishes the transaction from the next. A transaction id would keep the server from
    // cleaning up deleted rows for as long as the body takes. A newer release may have dropped this release's clock.
    const [before] = await own<{ live: boolean; begun: string }>(
      client,
      `select ${nameOf(this.#schema, 'clock')}(null), transaction_timestamp()::text as begun, exists (
        select 1 from ${this.#schema}.live where run_id = $1 and generation = $2) as live`,
      [runId, generation],
    )
    const known = await this.#recorded(client, of)
    if (known !== undefined) return { text: known, keep: false }
    if (!before?.live) throw notInProgress(of)
    const text = await ask(client, of, body)
    // Only now, because a run that is locked while the body runs could not continue meanwhile.
    const [after] = await own<{ begun: string }>(
      client,
      `select transaction_timestamp()::text as begun,
        set_config('idle_in_transaction_session_timeout', '${limits.transactionIdleMsMax}', true) from ${this.#schema}.live
        where run_id = $1 and generation = $2 for share`,
      [runId, generation],
    )
    if (!after) throw notInProgress(of)
    if (after.begun !== before.begun) throw endedInside(of)
    const noted = await own(
      client,
      `insert into ${this.#schema}.note values ($1, $2, $3, $4, $5) on conflict do nothing returning body`,
      [runId, generation, key, NOTE, text],
    )
    if (noted.length > 0) return { text, keep: true }
    // Another attempt was faster. This transaction is rolled back, and the result of the other counts.
    return { text: (await this.#recorded(client, of)) ?? text, keep: false }
  }

  async #recorded(client: pg.PoolClient, of: StepOf): Promise<string | undefined> {
    const [note] = await own<{ body: string }>(
      client,
      `select body from ${this.#schema}.note where run_id = $1 and generation = $2 and key = $3 and name = $4`,
      [of.runId, of.generation, of.key, NOTE],
    )
    return note?.body
  }
}

function ignore(): void {}

async function ask(client: pg.PoolClient, of: StepOf, body: Body): Promise<string> {
  let isOver = false
  const query: Sql['query'] = async (text, values = []) => {
    // The pool may have lent the connection to another caller by now.
    if (isOver) throw askedTooLate(of)
    return (await client.query(text, [...values])).rows as unknown[]
  }
  try {
    return await body({ query })
  } finally {
    isOver = true
  }
}

/** Runs a statement of the store itself. */
async function own<Row>(client: pg.PoolClient, text: string, values: readonly unknown[] = []): Promise<Row[]> {
  try {
    return (await client.query(text, [...values])).rows as Row[]
  } catch (error) {
    if (isMissing(error)) throw new NotInstalled()
    throw (error as { code?: string }).code === '25P02' ? wentOn(error) : explain(error)
  }
}

/** A table or function that a statement of the store needs does not exist. The body's own are not meant. */
class NotInstalled extends Error {}

function wentOn(cause: unknown): PermanentError {
  return new PermanentError(
    'a query of the transaction failed, and its function went on. Postgres takes nothing more after an error: let it through, or put a savepoint before what may fail.',
    { cause },
  )
}
