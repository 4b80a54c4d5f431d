// Whole runs on their way to another store: runs the shared statements in transactions of Postgres. Each operation is
// one transaction, so that a run that is locked delays no other.
import type pg from 'pg'
import { limits } from '../../core/base/limits.ts'
import { Hints, RowsLocked, type TransferOperation, type TransferOutcome } from '../../core/stores/driver.ts'
import { SqlTransfer, type Statement, type TransferDialect } from '../sql/transfer.ts'
import { isMissing, withClient } from './calls.ts'
import { explain } from './connection.ts'
import { numbered } from './dialect.ts'
import { nameOf } from './functions/index.ts'
import type { Hints as PostgresHints } from './hints.ts'

export interface TransferPorts {
  readonly pool: pg.Pool
  readonly schema: string
  readonly hints: Pick<PostgresHints, 'tell'>
  /** The time that tests hand in; `null` for the server's own. */
  readonly now: () => number | null
  readonly install: () => Promise<void>
}

// Codes of transactions that lost a race: for a row that another one inserted, or for locks.
const LOST = new Set(['23505', '40P01'])
const LOCKED = '55P03'

export class PostgresTransfer {
  readonly #ports: TransferPorts
  readonly #dialect: TransferDialect

  constructor(ports: TransferPorts) {
    const { schema } = ports
    this.#ports = ports
    const advisory = (name: string): Statement => ({
      text: `select pg_advisory_xact_lock(hashtextextended(?, 0))`,
      values: [`${schema}:${name}`],
    })
    this.#dialect = {
      table: (name) => `${schema}.${name}`,
      boolean: (value) => value,
      // As those who start a workflow id, who start a run again, and who write a run.
      locks: (runId, workflowId) => [
        ...(workflowId === undefined ? [] : [advisory(workflowId)]),
        advisory(runId),
        { text: `select 1 from ${schema}.live where run_id = ? for update`, values: [runId] },
      ],
      createdInClosed: false,
    }
  }

  async run(operation: TransferOperation): Promise<TransferOutcome> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#attempt(operation)
      } catch (error) {
        const { code = '' } = error as { code?: string }
        if (code === LOCKED) throw new RowsLocked(error)
        if (tries > limits.transferTries || !(LOST.has(code) || isMissing(error))) throw explain(error)
        if (isMissing(error)) await this.#ports.install()
      }
    }
  }

  #attempt(operation: TransferOperation): Promise<TransferOutcome> {
    const { pool, schema, now, hints } = this.#ports
    return withClient(pool.connect(), async (client) => {
      await client.query('begin isolation level read committed')
      const { rows } = await client.query(
        `select ${nameOf(schema, 'own_transaction')}(), ${nameOf(schema, 'durable')}(), ${nameOf(schema, 'clock')}($1) as now`,
        [now()],
      )
      const heard = new Hints()
      const steps = new SqlTransfer(this.#dialect, (rows[0] as { now: number }).now, heard).run(operation)
      const outcome = await answered(client, steps)
      await client.query('commit')
      hints.tell(heard.all())
      return outcome
    })
  }
}

async function answered<Out>(
  client: pg.PoolClient,
  steps: Generator<Statement, Out, readonly unknown[]>,
): Promise<Out> {
  for (let next = steps.next(); ; ) {
    if (next.done) return next.value
    const { text, values } = next.value
    next = steps.next((await client.query(numbered(text), [...values])).rows as unknown[])
  }
}
