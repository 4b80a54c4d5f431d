// Steps that run in a transaction on the file. Each has a connection of its own, because on the store's connection
// other writes would get into it between two queries. One at a time in this process, because a file has one writer.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { limits } from '../../core/base/limits.ts'
import type { Clock } from '../../core/runtime/clock.ts'
import type { Sql, StepOf } from '../../core/stores/driver.ts'
import { askedTooLate, endedInside, NOTE, notInProgress, tookTooLong } from '../sql/step.ts'
import { explain, openAnother } from './connection.ts'
import type { FileIdentity } from './identity.ts'
import { whenFree } from './lock.ts'
import { diagnose, refuseNewer, versionOf } from './migrate.ts'

type Body = (sql: Sql) => Promise<string>

export class SqliteTransactions {
  readonly #file: string
  readonly #clock: Clock
  readonly #identity: FileIdentity
  #last: Promise<unknown> = Promise.resolve()
  /** Resolves when the transaction that has the file ends. The store's own writes wait for that. */
  current: Promise<void> | undefined

  constructor(file: string, clock: Clock, identity: FileIdentity) {
    this.#file = file
    this.#clock = clock
    this.#identity = identity
  }

  run(of: StepOf, body: Body): Promise<string> {
    // Between two transactions, other writes get a chance.
    const turn = this.#last.then(() => this.#clock.breathe()).then(() => this.#hold(of, body))
    this.#last = turn.catch(() => {})
    return turn
  }

  /** Resolves when no transaction is in progress. */
  async over(): Promise<void> {
    await this.#last
  }

  async #hold(of: StepOf, body: Body): Promise<string> {
    const free = Promise.withResolvers<void>()
    const database = await this.#begun(free.promise)
    try {
      const { known, isLive } = this.#own(database, () => look(database, of, this.#file))
      if (known !== undefined) return known
      if (!isLive) throw notInProgress(of)
      const text = await this.#bounded(of, (over) => ask(database, of, body, over))
      if (!database.isTransaction) throw endedInside(of)
      this.#own(database, () => record(database, of, text))
      this.#identity.check()
      return text
    } finally {
      // This rolls back what is not committed.
      database.close()
      this.current = undefined
      free.resolve()
    }
  }

  async #begun(free: Promise<void>): Promise<DatabaseSync> {
    const wait = { clock: this.#clock, file: this.#file, patienceMs: limits.sqliteTransactionMsMax }
    try {
      const database = await whenFree(() => this.#beginOnce(), wait)
      this.current = free
      return database
    } catch (error) {
      throw explain(error, this.#file)
    }
  }

  #beginOnce(): DatabaseSync {
    // SQLite would create a file that does not exist.
    this.#identity.check()
    const database = openAnother(this.#file)
    try {
      database.exec('begin immediate')
      return database
    } catch (error) {
      database.close()
      throw error
    }
  }

  // No other write is possible meanwhile, not even to renew a session.
  async #bounded<T>(of: StepOf, work: (over: AbortSignal) => Promise<T>): Promise<T> {
    const ms = limits.sqliteTransactionMsMax
    const over = new AbortController()
    const late = Promise.withResolvers<never>()
    const cancel = this.#clock.after(ms, () => late.reject(tookTooLong(of, ms)))
    try {
      return await Promise.race([work(over.signal), late.promise])
    } finally {
      over.abort()
      cancel()
    }
  }

  /** Runs a statement of the store itself. */
  #own<T>(database: DatabaseSync, statement: () => T): T {
    try {
      return statement()
    } catch (error) {
      throw explain(diagnose(error, database, this.#file), this.#file)
    }
  }
}

/** The result of the step if it has committed before, and whether its run is in progress. */
function look(database: DatabaseSync, of: StepOf, file: string): { known?: string; isLive: boolean } {
  const { runId, generation, key } = of
  refuseNewer(versionOf(database), file)
  const live = database.prepare('select 1 from pawl_live where run_id = ? and generation = ?')
  const note = database.prepare(
    'select body from pawl_note where run_id = ? and generation = ? and key = ? and name = ?',
  )
  const found = note.get(runId, generation, key, NOTE) as { body: string } | undefined
  const isLive = live.get(runId, generation) !== undefined
  return { isLive, ...(found && { known: found.body }) }
}

function ask(database: DatabaseSync, of: StepOf, body: Body, over: AbortSignal): Promise<string> {
  return body({
    query: async (text, values = []) => {
      if (over.aborted) throw askedTooLate(of)
      const rows = database.prepare(text).all(...values.map(bound))
      // As plain objects, because the driver's have no prototype.
      return rows.map((row) => ({ ...row }))
    },
  })
}

function record(database: DatabaseSync, of: StepOf, text: string): void {
  const { runId, generation, key } = of
  const note = database.prepare('insert into pawl_note (run_id, generation, key, name, body) values (?, ?, ?, ?, ?)')
  note.run(runId, generation, key, NOTE, text)
  database.exec('commit')
}

/** A value that SQLite has no type for, as it is usually stored there. */
function bound(value: unknown): SQLInputValue {
  if (typeof value === 'boolean') return Number(value)
  if (value instanceof Date) return value.toISOString()
  return (value ?? null) as SQLInputValue
}
