// pawl on one SQLite file. Everything that waits to be written goes into one transaction, of whatever kinds it is:
// each transaction is one flush to the disk, and that flush is nearly all it costs. Several processes may share the
// file; whoever finds it locked tries again a little later.
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { isUnavailable, unavailable } from '../../core/runtime/availability.ts'
import type { Clock } from '../../core/runtime/clock.ts'
import type {
  Claimed,
  ClaimRequest,
  Committed,
  Created,
  Hint,
  Listed,
  ListQuery,
  LoadAsk,
  Loaded,
  NewRun,
  Note,
  Noted,
  Post,
  Posted,
  RecordOperation,
  RecordOutcome,
  Renewed,
  SessionBeat,
  Sql,
  StepOf,
  Store,
  TaskOutcome,
  TaskSettled,
  Traits,
  TurnCommit,
} from '../../core/stores/driver.ts'
import { explain, fileOf, openConnection, reserveLog } from './connection.ts'
import { FileIdentity } from './identity.ts'
import { type LockWait, whenFree } from './lock.ts'
import { LogWatch } from './log-watch.ts'
import { diagnose, refuseNewer } from './migrate.ts'
import { SqliteReader } from './read.ts'
import { SqliteTransactions } from './transactions.ts'
import { SqliteWriter } from './write.ts'

/** Whether a write is acknowledged only when it would survive the loss of power. */
type Lasting = 'flushed' | 'written'

interface Pending {
  readonly lasting: Lasting
  readonly work: (now: number) => unknown
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

const FLUSHES_BETWEEN_BREATHS = 4

export class SqliteStore implements Store {
  readonly traits: Traits = { name: 'sqlite', durability: 'fsync', lanes: 1, push: true }
  readonly #database: DatabaseSync
  readonly #file: string
  readonly #clock: Clock
  readonly #writer: SqliteWriter
  readonly #reader: SqliteReader
  readonly #transactions: SqliteTransactions
  readonly #identity: FileIdentity
  readonly #wait: LockWait
  /** The version of the data in the last transaction here. */
  #writtenAt = 0
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #schema: StatementSync
  readonly #listeners = new Set<(hint: Hint) => void>()
  #pending: Pending[] = []
  #flushing = false
  /** How the connection is set to commit. */
  #lasting: Lasting = 'flushed'
  /** Since timers and I/O had their turn. */
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

  /** May throw that the file is locked: then it can be called again. */
  private constructor(file: string, clock: Clock) {
    this.#database = openConnection(file)
    this.#file = file
    this.#clock = clock
    this.#wait = { clock, file }
    try {
      this.#writer = new SqliteWriter(this.#database)
      this.#reader = new SqliteReader(this.#database)
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

  create(runs: readonly NewRun[]): Promise<readonly Created[]> {
    return this.#write((now) => runs.map((run) => this.#writer.create(run, now)))
  }

  post(messages: readonly Post[]): Promise<readonly Posted[]> {
    return this.#write((now) => messages.map((message) => this.#writer.post(message, now)))
  }

  commit(turns: readonly TurnCommit[]): Promise<readonly Committed[]> {
    return this.#write((now) => turns.map((turn) => this.#writer.commit(turn, now)))
  }

  settle(outcomes: readonly TaskOutcome[]): Promise<readonly TaskSettled[]> {
    return this.#write((now) => outcomes.map((outcome) => this.#writer.settle(outcome, now)))
  }

  note(notes: readonly Note[]): Promise<readonly Noted[]> {
    const lasting = notes.some(({ once }) => once) ? 'flushed' : 'written'
    return this.#write(() => notes.map((note) => this.#writer.note(note)), lasting)
  }

  async records(operations: readonly RecordOperation[]): Promise<readonly RecordOutcome[]> {
    if (operations.every(({ type }) => type !== 'put'))
      return this.#read(() => operations.map((operation) => this.#reader.operate(operation)))
    return this.#write(() => operations.map((operation) => this.#writer.operate(operation)))
  }

  async transact(of: StepOf, body: (sql: Sql) => Promise<string>): Promise<string> {
    if (this.#closed) throw closedAlready()
    return this.#transactions.run(of, body)
  }

  renew(beat: SessionBeat): Promise<Renewed> {
    // A worker is about to write much, and often.
    if (beat.beat === 1 && !this.#closed) reserveLog(this.#database, this.#file)
    return this.#write((now) => this.#writer.renew(beat, now))
  }

  // One instant for the whole claim: what is not due at it is due later, and is said so.
  async claim(request: ClaimRequest): Promise<Claimed> {
    const look = await this.#read((now) => {
      // A worker that writes nothing must learn of a newer schema, too.
      this.#heedOthers()
      return { now, due: this.#reader.isAnythingDue(request, this.#writer.lanes, now) }
    })
    const granted = look.due
      ? await this.#write((now) => ({ now, ...this.#writer.claim(request, now) }), 'written')
      : { now: look.now, runs: [], tasks: [] }
    return this.#read(() => ({
      ...granted,
      ...this.#reader.outlook(request, this.#writer.lanes, granted.now),
    }))
  }

  async load(asks: readonly LoadAsk[]): Promise<readonly Loaded[]> {
    return this.#read((now) => asks.map((ask) => this.#reader.load(ask, now)))
  }

  async list(query: ListQuery): Promise<Listed> {
    let isFirst = true
    return this.#reader.list(query, async (read) => {
      if (!isFirst) await this.#clock.breathe()
      isFirst = false
      return this.#read(read)
    })
  }

  wake(listener: (hint: Hint) => void): () => void {
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
    while (this.#flushing) await this.#clock.breathe()
    this.#closed = true
    this.#watch?.close()
    this.#database.close()
  }

  #write<T>(work: (now: number) => T, lasting: Lasting = 'flushed'): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#pending.push({ lasting, work, resolve, reject })
      if (this.#flushing) return
      this.#flushing = true
      void this.#drain()
    })
  }

  // The call into SQLite blocks the process, so timers and I/O get their turn after a few; not before each, since
  // whoever waits for a single write would wait for that, too.
  async #drain(): Promise<void> {
    // After whatever else this moment has to write.
    await new Promise<void>((resolve) => process.nextTick(resolve))
    while (this.#pending.length > 0) {
      if (this.#flushes === 0) void this.#clock.breathe().then(() => (this.#flushes = 0))
      if (this.#flushes++ >= FLUSHES_BETWEEN_BREATHS) await this.#clock.breathe()
      await this.#flush(this.#pending.splice(0, limits.batchElements))
    }
    this.#flushing = false
  }

  async #flush(batch: Pending[]): Promise<void> {
    try {
      const results = await this.#transaction(batch)
      for (const [index, each] of batch.entries()) each.resolve(results[index] as never)
      this.#tell()
    } catch (error) {
      this.#writer.hints = []
      this.#writer.lanes.forget()
      if (batch.length > 1 && !isUnavailable(error)) {
        for (const each of batch) await this.#flush([each])
      } else for (const each of batch) each.reject(error)
    }
  }

  async #transaction(batch: Pending[]): Promise<unknown[]> {
    try {
      return await whenFree(() => this.#transactOnce(batch), {
        ...this.#wait,
        ready: () => this.#transactions.current,
      })
    } catch (error) {
      throw this.#explained(error)
    }
  }

  // Begun and ended without letting go of the process: a lock held across an await could meet itself.
  #transactOnce(batch: Pending[]): unknown[] {
    if (this.#closed) throw closedAlready()
    this.#identity.checkNowAndThen()
    this.#commitsAre(batch.some(({ lasting }) => lasting === 'flushed') ? 'flushed' : 'written')
    this.#begin.run()
    try {
      this.#heedOthers()
      const now = this.#clock.now()
      const results = batch.map(({ work }) => work(now))
      this.#commit.run()
      return results
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('rollback')
      this.#writer.hints = []
      throw error
    }
  }

  // A lease dies with the machine anyway, as every process that may use this file does. Whatever is written later flushes
  // it, too: a turn never outlives the lease it was written under, and a renewal makes sure that it counts.
  #commitsAre(lasting: Lasting): void {
    if (lasting === this.#lasting) return
    // Only as a statement of its own: it takes effect when it is prepared.
    this.#database.exec(`pragma synchronous = ${lasting === 'flushed' ? 'full' : 'normal'}`)
    this.#lasting = lasting
  }

  // If another connection wrote, the tables may be those of a newer release, and lanes that are known by heart may be
  // gone: the file may have been put back to what it was.
  #heedOthers(): void {
    const version = this.#reader.dataVersion()
    if (version === this.#writtenAt) return
    this.#writer.lanes.forget()
    refuseNewer((this.#schema.get() as { user_version: number }).user_version, this.#file)
    this.#writtenAt = version
  }

  async #read<T>(read: (now: number) => T): Promise<T> {
    try {
      return await whenFree(() => {
        if (this.#closed) throw closedAlready()
        this.#identity.checkNowAndThen()
        return read(this.#clock.now())
      }, this.#wait)
    } catch (error) {
      throw this.#explained(error)
    }
  }

  #explained(error: unknown): unknown {
    return explain(diagnose(error, this.#database, this.#file), this.#file)
  }

  #tell(): void {
    const hints = this.#writer.hints
    this.#writer.hints = []
    let ready = false
    for (const hint of hints) {
      if (hint.type === 'ready') ready = true
      else for (const listener of this.#listeners) listener(hint)
    }
    if (ready) for (const listener of this.#listeners) listener({ type: 'ready' })
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
