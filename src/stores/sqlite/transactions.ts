// Steps that run in a transaction on the file. Each has a connection of its own: on the store's, other writes would get
// into it between two queries. One at a time in this process, since a file has one writer anyway.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { limits } from '../../core/base/limits.ts'
import type { Clock } from '../../core/runtime/clock.ts'
import type { Sql, StepOf } from '../../core/stores/driver.ts'
import { askedTooLate, endedInside, NOTE, notUnderWay, tookTooLong } from '../sql/step.ts'
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
  /** Resolves when the one that has the file lets go of it. The store's own writes wait for that. */
  current: Promise<void> | undefined

  constructor(file: string, clock: Clock, identity: FileIdentity) {
    this.#file = file
    this.#clock = clock
    this.#identity = identity
  }

  run(of: StepOf, body: Body): Promise<string> {
    // Between two of them everybody else gets a chance to write.
    const turn = this.#last.then(() => this.#clock.breathe()).then(() => this.#hold(of, body))
    this.#last = turn.catch(() => {})
    return turn
  }

  /** Resolves when none is under way. */
  async over(): Promise<void> {
    await this.#last
  }

  async #hold(of: StepOf, body: Body): Promise<string> {
    const free = Promise.withResolvers<void>()
    const database = await this.#begun(free.promise)
    try {
      const { known, isLive } = this.#own(database, () => look(database, of, this.#file))
      if (known !== undefined) return known
      if (!isLive) throw notUnderWay(of)
      const text = await this.#bounded(of, (over) => ask(database, of, body, over))
      if (!database.isTransaction) throw endedInside(of)
      this.#own(database, () => record(database, of, text))
      this.#identity.check()
      return text
    } finally {
      // Whatever is not committed by now is rolled back by it.
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
    // A file that is not there would be made anew.
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

  // Nobody else can write meanwhile, not even to keep a lease.
  async #bounded<T>(of: StepOf, work: (over: AbortSignal) => Promise<T>): Promise<T> {
    const ms = limits.sqliteTransactionMsMax
    const over = new AbortController()
    const late = Promise.withResolvers<never>()
    const callOff = this.#clock.after(ms, () => late.reject(tookTooLong(of, ms)))
    try {
      return await Promise.race([work(over.signal), late.promise])
    } finally {
      over.abort()
      callOff()
    }
  }

  /** A statement of the store's own. */
  #own<T>(database: DatabaseSync, statement: () => T): T {
    try {
      return statement()
    } catch (error) {
      throw explain(diagnose(error, database, this.#file), this.#file)
    }
  }
}

/** What the step came to before, if it has, and whether its run is under way. */
function look(
  database: DatabaseSync,
  of: StepOf,
  file: string,
): { known?: string; isLive: boolean } {
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
      // As plain objects: the driver's have no prototype.
      return rows.map((row) => ({ ...row }))
    },
  })
}

function record(database: DatabaseSync, of: StepOf, text: string): void {
  const { runId, generation, key } = of
  const note = database.prepare(
    'insert into pawl_note (run_id, generation, key, name, body) values (?, ?, ?, ?, ?)',
  )
  note.run(runId, generation, key, NOTE, text)
  database.exec('commit')
}

/** What SQLite has no type for, as it is usually kept there. */
function bound(value: unknown): SQLInputValue {
  if (typeof value === 'boolean') return Number(value)
  if (value instanceof Date) return value.toISOString()
  return (value ?? null) as SQLInputValue
}
