// The reference store: the rules of the seam over rows in memory. Nothing survives the process. With
// `delivery: 'deferred'` it behaves like a store that can write only one run at a time: what a turn sends to other runs
// is kept with the sender, and a later claim delivers it.
import type { Clock } from '../../runtime/clock.ts'
import * as rules from '../rules/index.ts'
import { endedRuns, listRuns, loadOne } from '../rules/read.ts'
import { Tables } from '../rules/tables.ts'
import { Transaction } from '../rules/transaction.ts'
import type * as seam from '../store.ts'

/** Several stores may share one database, as several processes share a file; the simulator relies on it. */
export class MemoryDatabase {
  tables = new Tables()
  readonly listeners = new Set<(hint: seam.Hint) => void>()
}

/** When the outbox of a turn is delivered: with the turn, or by a later claim. */
type Delivery = 'atomic' | 'deferred'

export interface MemoryOptions {
  readonly clock: Clock
  readonly database?: MemoryDatabase
  readonly delivery?: Delivery
}

export class MemoryStore implements seam.Store {
  readonly traits: seam.Traits = { name: 'memory', durability: 'none', lanes: 1, push: true }
  readonly #clock: Clock
  readonly #database: MemoryDatabase
  readonly #delivery: Delivery

  constructor(options: MemoryOptions) {
    this.#clock = options.clock
    this.#database = options.database ?? new MemoryDatabase()
    this.#delivery = options.delivery ?? 'atomic'
  }

  async create(runs: readonly seam.NewRun[]): Promise<readonly seam.Created[]> {
    return runs.map((run) => this.#transact((tx) => rules.create(tx, run)))
  }

  async post(messages: readonly seam.Post[]): Promise<readonly seam.Posted[]> {
    return messages.map((message) => this.#transact((tx) => rules.post(tx, message)))
  }

  async claim(request: seam.ClaimRequest): Promise<seam.Claimed> {
    return this.#transact((tx) => {
      if (this.#delivery === 'deferred') deliverAll(tx)
      return rules.claim(tx, request)
    })
  }

  async commit(turns: readonly seam.TurnCommit[]): Promise<readonly seam.Committed[]> {
    return turns.map((turn) => this.#transact((tx) => rules.commit(tx, turn, this.#sendOf(tx))))
  }

  async settle(outcomes: readonly seam.TaskOutcome[]): Promise<readonly seam.TaskSettled[]> {
    return outcomes.map((outcome) => this.#transact((tx) => rules.settle(tx, outcome)))
  }

  async note(notes: readonly seam.Note[]): Promise<readonly seam.Noted[]> {
    return notes.map((note) => this.#transact((tx) => rules.note(tx, note)))
  }

  async ended(query: seam.EndedQuery): Promise<seam.EndedPage> {
    return endedRuns(this.#database.tables, query, this.#clock.now())
  }

  async purge(runs: readonly seam.EndedRun[]): Promise<readonly seam.Purged[]> {
    return runs.map((run) => this.#transact((tx) => rules.purge(tx, run)))
  }

  async records(operations: readonly seam.RecordOperation[]): Promise<readonly seam.RecordOutcome[]> {
    return operations.map((operation) => this.#transact((tx) => rules.operate(tx, operation)))
  }

  async append(batches: readonly seam.StreamBatch[]): Promise<readonly seam.Appended[]> {
    return batches.map((batch) => this.#transact((tx) => rules.append(tx, batch)))
  }

  async transfer(operations: readonly seam.TransferOperation[]): Promise<readonly seam.TransferOutcome[]> {
    return operations.map((operation) =>
      this.#transact((tx) => {
        if (this.#delivery === 'deferred') deliverAll(tx)
        return rules.transfer(tx, operation)
      }),
    )
  }

  async renew(beat: seam.SessionBeat): Promise<seam.Renewed> {
    return this.#transact((tx) => rules.renew(tx, beat))
  }

  async load(asks: readonly seam.LoadAsk[]): Promise<readonly seam.Loaded[]> {
    return asks.map((ask) => loadOne(this.#database.tables, ask, this.#clock.now()))
  }

  async list(query: seam.ListQuery): Promise<seam.Listed> {
    return listRuns(this.#database.tables, query, this.#clock.now())
  }

  wake(listener: (hint: seam.Hint) => void): () => void {
    this.#database.listeners.add(listener)
    return () => this.#database.listeners.delete(listener)
  }

  async close(): Promise<void> {}

  #sendOf(tx: Transaction): rules.Send | undefined {
    if (this.#delivery === 'atomic') return undefined
    return (_tx, sender, outbox) => tx.send(sender, [...(tx.run(sender)?.outbox ?? []), ...outbox])
  }

  #transact<T>(work: (tx: Transaction) => T): T {
    const { tables, listeners } = this.#database
    const tx = new Transaction(tables, this.#clock.now())
    const result = work(tx)
    for (const hint of tables.apply(tx.changes(), tx.now)) {
      for (const listener of listeners) listener(hint)
    }
    return result
  }
}

function deliverAll(tx: Transaction): void {
  for (const { head, outbox } of tx.undelivered()) {
    tx.send(head.runId, [])
    rules.deliver(tx, head.runId, outbox)
  }
}
