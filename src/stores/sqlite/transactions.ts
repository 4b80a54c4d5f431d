// Steps that run in a transaction on the file. Each has a connection of its own: on the store's, other writes would get
// into it between two queries. One at a time in this process, since a file has one writer anyway.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { limits } from '../../kernel/limits.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { askedTooLate, endedInside, NOTE, notUnderWay, tookTooLong } from '../sql-step.ts'
import type { Sql, StepOf } from '../store.ts'
import { explain, isBusy, openAnother } from './connection.ts'

type Body = (sql: Sql) => Promise<string>

export class SqliteTransactions {
  readonly #file: string
  readonly #clock: Clock
  #last: Promise<unknown> = Promise.resolve()
  /** Resolves when the one that has the file lets go of it. The store's own writes wait for that. */
  current: Promise<void> | undefined

  constructor(file: string, clock: Clock) {
    this.#file = file
    this.#clock = clock
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
    const database = openAnother(this.#file)
    try {
      await this.#begin(database, free.promise)
      const { known, isLive } = this.#own(() => look(database, of))
      if (known !== undefined) return known
      if (!isLive) throw notUnderWay(of)
      const text = await this.#bounded(of, (over) => ask(database, of, body, over))
      if (!database.isTransaction) throw endedInside(of)
      this.#own(() => record(database, of, text))
      return text
    } finally {
      // Whatever is not committed by now is rolled back by it.
      database.close()
      this.current = undefined
      free.resolve()
    }
  }

  async #begin(database: DatabaseSync, free: Promise<void>): Promise<void> {
    const asked = this.#clock.monotonic()
    for (let tries = 1; ; tries++) {
      try {
        database.exec('begin immediate')
        this.current = free
        return
      } catch (error) {
        const waited = this.#clock.monotonic() - asked
        if (!isBusy(error) || waited > limits.sqliteTransactionMsMax)
          throw explain(error, this.#file)
        await sleep(this.#clock, 1 + (tries % 16))
      }
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
  #own<T>(statement: () => T): T {
    try {
      return statement()
    } catch (error) {
      throw explain(error, this.#file)
    }
  }
}

/** What the step came to before, if it has, and whether its run is under way. */
function look(database: DatabaseSync, of: StepOf): { known?: string; isLive: boolean } {
  const { runId, generation, key } = of
  const live = database.prepare('select 1 from live where run_id = ? and generation = ?')
  const note = database.prepare(
    'select body from note where run_id = ? and generation = ? and key = ? and name = ?',
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
  const note = database.prepare('insert into note values (?, ?, ?, ?, ?)')
  note.run(runId, generation, key, NOTE, text)
  database.exec('commit')
}

/** What SQLite has no type for, as it is usually kept there. */
function bound(value: unknown): SQLInputValue {
  if (typeof value === 'boolean') return Number(value)
  if (value instanceof Date) return value.toISOString()
  return (value ?? null) as SQLInputValue
}
