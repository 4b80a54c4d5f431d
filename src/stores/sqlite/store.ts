// pawl on one SQLite file. All writes that wait go into one transaction, of whatever methods they are, because each
// transaction is one flush to the disk, and that flush is nearly all it costs. Several processes may share the file; a
// process that finds it locked tries again a little later.
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { isUnavailable, unavailable } from '../../core/runtime/availability.ts'
import type { Clock } from '../../core/runtime/clock.ts'
import type * as seam from '../../core/stores/driver.ts'
import { Pump, rules } from '../../core/stores/driver.ts'
import { explain, fileOf, openConnection, reserveLog, shrink } from './connection.ts'
import { FileIdentity } from './identity.ts'
import { Lanes } from './lanes.ts'
import { type LockWait, whenFree } from './lock.ts'
import { LogWatch } from './log-watch.ts'
import { diagnose, refuseNewer } from './migrate.ts'
import { SqliteReader } from './read.ts'
import { SqliteRows } from './rows.ts'
import { type Statements, statements, type Updates, updatesOf } from './statements.ts'
import { SqliteTransactions } from './transactions.ts'
import { transferred } from './transfer.ts'

/** A write that is `flushed` survives the loss of power once it is acknowledged; one that is `written` may not. */
type Lasting = 'flushed' | 'written'

interface Pending {
  readonly lasting: Lasting
  readonly work: (rows: SqliteRows) => unknown
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

interface Written {
  readonly results: readonly unknown[]
  /** What others should hear, now that it is durable. */
  readonly hints: readonly seam.Hint[]
}

const FLUSHES_BETWEEN_BREATHS = 4

export class SqliteStore implements seam.Store {
  readonly traits: seam.Traits = { name: 'sqlite', durability: 'fsync', lanes: 1, push: true }
  readonly #database: DatabaseSync
  readonly #file: string
  readonly #clock: Clock
  readonly #sql: Statements
  readonly #updates: Updates
  readonly #lanes: Lanes
  readonly #reader: SqliteReader
  readonly #transactions: SqliteTransactions
  readonly #identity: FileIdentity
  readonly #wait: LockWait
  /** The version of the data at the last transaction of this store. */
  #writtenAt = 0
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #schema: StatementSync
  readonly #listeners = new Set<(hint: seam.Hint) => void>()
  readonly #pending: Pending[] = []
  readonly #pump: Pump
  /** How the connection commits. */
  #lasting: Lasting = 'flushed'
  /** Flushes since timers and I/O last ran. */
  #flushes = 0
  #watch: LogWatch | undefined
  #closed = false

  static async open(url: string, clock: Clock): Promise<SqliteStore> {
    const file = fileOf(url)
    try {
      return await whenFree(() => new SqliteStore(file, clock), { file, clock })
    } catch (error) {
      throw explain(error, file)
    }
  }

  /** May throw that the file is locked; then it can be called again. */
  private constructor(file: string, clock: Clock) {
    this.#database = openConnection(file)
    this.#file = file
    this.#clock = clock
    this.#wait = { clock, file }
    this.#pump = new Pump({ hasWork: () => this.#pending.length > 0, step: () => this.#step() })
    try {
      this.#sql = statements(this.#database)
      this.#updates = updatesOf(this.#database)
      this.#lanes = new Lanes(this.#sql)
      this.#reader = new SqliteReader(this.#database, this.#sql)
      this.#begin = this.#database.prepare('begin immediate')
      this.#commit = this.#database.prepare('commit')
      this.#schema = this.#database.prepare('pragma user_version')
      this.#identity = new FileIdentity(file, clock)
      this.#transactions = new SqliteTransactions(file, clock, this.#identity)
    } catch (error) {
      const found = diagnose(error, this.#database, file)
      this.#database.close()
      throw found
    }
  }

  create(runs: readonly seam.NewRun[]): Promise<readonly seam.Created[]> {
    return this.#write((rows) => runs.map((run) => rules.create(rows, run)))
  }

  post(messages: readonly seam.Post[]): Promise<readonly seam.Posted[]> {
    return this.#write((rows) => messages.map((message) => rules.post(rows, message)))
  }

  commit(turns: readonly seam.TurnCommit[]): Promise<readonly seam.Committed[]> {
    return this.#write((rows) => turns.map((turn) => rules.commit(rows, turn)))
  }

  settle(outcomes: readonly seam.TaskOutcome[]): Promise<readonly seam.TaskSettled[]> {
    return this.#write((rows) => outcomes.map((outcome) => rules.settle(rows, outcome)))
  }

  note(notes: readonly seam.Note[]): Promise<readonly seam.Noted[]> {
    const lasting = notes.some(({ once }) => once) ? 'flushed' : 'written'
    return this.#write((rows) => notes.map((note) => rules.note(rows, note)), lasting)
  }

  async ended(query: seam.EndedQuery): Promise<seam.EndedPage> {
    return this.#read(({ now }) => this.#reader.ended(query, now))
  }

  // In small transactions, because each blocks the process, and other writes wait for it.
  async purge(runs: readonly seam.EndedRun[]): Promise<readonly seam.Purged[]> {
    const outcomes: seam.Purged[] = []
    for (let at = 0; at < runs.length; at += limits.purgeAtOnce) {
      const some = runs.slice(at, at + limits.purgeAtOnce)
      const purged = await this.#write((rows) => {
        const made = some.map((run) => rules.purge(rows, run))
        shrink(this.#database)
        return made
      })
      outcomes.push(...purged)
    }
    return outcomes
  }

  append(batches: readonly seam.StreamBatch[]): Promise<readonly seam.Appended[]> {
    return this.#write((rows) => batches.map((batch) => rules.append(rows, batch)))
  }

  async records(operations: readonly seam.RecordOperation[]): Promise<readonly seam.RecordOutcome[]> {
    if (operations.every(({ type }) => type !== 'put'))
      return this.#read((rows) => operations.map((operation) => rules.operate(rows, operation)))
    return this.#write((rows) => operations.map((operation) => rules.operate(rows, operation)))
  }

  async transact(of: seam.StepOf, body: (sql: seam.Sql) => Promise<string>): Promise<string> {
    if (this.#closed) throw closedAlready()
    return this.#transactions.run(of, body)
  }

  async transfer(operations: readonly seam.TransferOperation[]): Promise<readonly seam.TransferOutcome[]> {
    return Promise.all(
      operations.map((operation) => this.#write((rows) => transferred(this.#database, rows, operation))),
    )
  }

  renew(beat: seam.SessionBeat): Promise<seam.Renewed> {
    // A worker starts, and will write much and often.
    if (beat.beat === 1 && !this.#closed) reserveLog(this.#database, this.#file)
    return this.#write((rows) => rules.renew(rows, beat))
  }

  // An idle worker does not need to write to learn that nothing is due.
  async claim(request: seam.ClaimRequest): Promise<seam.Claimed> {
    const idle = await this.#read((rows) => {
      // A worker that writes nothing must learn of a newer schema, too.
      this.#heedOthers()
      return rules.idleClaim(rows, request, () => rows.isAnythingDue(request))
    })
    return idle ?? this.#write((rows) => rules.claim(rows, request), 'written')
  }

  async load(asks: readonly seam.LoadAsk[]): Promise<readonly seam.Loaded[]> {
    return this.#read(({ now }) => asks.map((ask) => this.#reader.load(ask, now)))
  }

  async list(query: seam.ListQuery): Promise<seam.Listed> {
    let isFirst = true
    return this.#reader.list(query, async (read) => {
      if (!isFirst) await this.#clock.breathe()
      isFirst = false
      return this.#read(({ now }) => read(now))
    })
  }

  wake(listener: (hint: seam.Hint) => void): () => void {
    this.#listeners.add(listener)
    this.#watch ??= this.#watchLog()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      this.#watch?.close()
      this.#watch = undefined
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    await this.#transactions.over()
    await this.#pump.idle()
    this.#closed = true
    this.#watch?.close()
    this.#database.close()
  }

  #write<T>(work: (rows: SqliteRows) => T, lasting: Lasting = 'flushed'): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#pending.push({ lasting, work, resolve, reject })
      this.#pump.start()
    })
  }

  // The call into SQLite blocks the process, so timers and I/O run after every few flushes; not before each, because a
  // caller that waits for a single write would wait for them, too.
  #step(): Promise<void> {
    if (this.#flushes === 0) void this.#clock.breathe().then(() => (this.#flushes = 0))
    const flush = (): Promise<void> => this.#flush(this.#pending.splice(0, limits.batchElements))
    return this.#flushes++ < FLUSHES_BETWEEN_BREATHS ? flush() : this.#clock.breathe().then(flush)
  }

  async #flush(batch: Pending[]): Promise<void> {
    try {
      const { results, hints } = await this.#transaction(batch)
      for (const [index, each] of batch.entries()) each.resolve(results[index] as never)
      for (const hint of hints) for (const listener of this.#listeners) listener(hint)
    } catch (error) {
      this.#lanes.forget()
      if (batch.length > 1 && !isUnavailable(error)) {
        for (const each of batch) await this.#flush([each])
      } else for (const each of batch) each.reject(error)
    }
  }

  async #transaction(batch: Pending[]): Promise<Written> {
    try {
      return await whenFree(() => this.#transactOnce(batch), {
        ...this.#wait,
        ready: () => this.#transactions.current,
      })
    } catch (error) {
      throw this.#explained(error)
    }
  }

  // Synchronous from begin to commit, because a lock that is held across an await could meet itself.
  #transactOnce(batch: Pending[]): Written {
    if (this.#closed) throw closedAlready()
    this.#identity.checkNowAndThen()
    this.#commitsAre(batch.some(({ lasting }) => lasting === 'flushed') ? 'flushed' : 'written')
    this.#begin.run()
    try {
      this.#heedOthers()
      const rows = this.#rows()
      const results = batch.map(({ work }) => work(rows))
      this.#commit.run()
      return { results, hints: rows.hints.all() }
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('rollback')
      throw error
    }
  }

  // A lease need not survive a crash of the machine, because no process that uses this file does. Any later write
  // flushes it, too: a turn never outlives the lease it was written under, and the next renewal is flushed.
  #commitsAre(lasting: Lasting): void {
    if (lasting === this.#lasting) return
    // As a statement of its own, because it takes effect when it is prepared.
    this.#database.exec(`pragma synchronous = ${lasting === 'flushed' ? 'full' : 'normal'}`)
    this.#lasting = lasting
  }

  // If another connection wrote, the tables may be those of a newer release, and lanes that are kept in memory may no
  // longer exist: the file may have been restored from a backup.
  #heedOthers(): void {
    const version = this.#reader.dataVersion()
    if (version === this.#writtenAt) return
    this.#lanes.forget()
    refuseNewer((this.#schema.get() as { user_version: number }).user_version, this.#file)
    this.#writtenAt = version
  }

  #rows(): SqliteRows {
    return new SqliteRows(this.#sql, this.#updates, this.#lanes, this.#clock.now())
  }

  async #read<T>(read: (rows: SqliteRows) => T): Promise<T> {
    try {
      return await whenFree(() => {
        if (this.#closed) throw closedAlready()
        this.#identity.checkNowAndThen()
        return read(this.#rows())
      }, this.#wait)
    } catch (error) {
      throw this.#explained(error)
    }
  }

  #explained(error: unknown): unknown {
    return explain(diagnose(error, this.#database, this.#file), this.#file)
  }

  #watchLog(): LogWatch {
    return new LogWatch({
      file: this.#file,
      clock: this.#clock,
      version: () => this.#reader.dataVersion(),
      changed: () => {
        for (const listener of this.#listeners) listener({ type: 'changed' })
      },
    })
  }
}

function closedAlready(): PawlError {
  return unavailable('SQLite', new Error('the store is closed'))
}
