// The store seam. A store keeps runs, their histories, inboxes and tasks, and hands out leases. It decides
// nothing: bodies are opaque text to it, and every rule it enforces is written here.
//
// Rules for every method: it takes and returns arrays, element for element; each element is applied wholly or
// not at all, whatever happens to its neighbours; what is acknowledged is durable; and everything is idempotent
// by id, so that a caller whose answer was lost sends the same thing again until it gets one. A method that
// throws has said nothing: the write may have happened.
import type { Instant } from '../base/instant.ts'
import type { ParentLink } from '../kernel/run.ts'
import type { Claimed, ClaimedRun, ClaimRequest, Lease } from './claiming.ts'
import type { Hint, Listed, ListQuery, LoadAsk, Loaded } from './reading.ts'
import type { RecordOperation, RecordOutcome } from './record.ts'
import type { AttributeChanges, StoredMessage } from './values.ts'

export type * from './claiming.ts'
export type * from './reading.ts'
export type * from './record.ts'
export type * from './values.ts'

export interface Store {
  readonly traits: Traits

  /**
   * Inserts runs that are not there yet. With `eager` the creator gets the lease in the same write. With a `generation`
   * above 1, a run that has ended, or is paused and held by nobody, begins again.
   */
  create(runs: readonly NewRun[]): Promise<readonly Created[]>

  /**
   * Accepts messages for runs and fixes their order per run. After `accepted` the run is claimable, or its
   * holder's next `claim` that names the run brings the message: no interleaving with `commit` may lose it.
   */
  post(messages: readonly Post[]): Promise<readonly Posted[]>

  /**
   * Leases runs that are due or have messages, and tasks, to a living session; counts the delivery. Higher priorities
   * come first. Among equals one queue and name comes after another, in an order that `nonce` decides, so that a long line
   * of one never starves the others; within them, whatever has been due longest. What it
   * returns about a run was read after the lease was granted. With `reconcile` it first returns leases this session
   * holds but did not list: the answer that granted them was lost. Also brings unread messages of the runs in `held`,
   * frees what silent sessions held (see `LateSession`), and completes deliveries between runs that an earlier commit left
   * undone.
   */
  claim(request: ClaimRequest): Promise<Claimed>

  /**
   * Appends a turn to a run, fenced on the lease, and keeps the lease, releases the run, or ends it. All of a
   * turn becomes visible at once; messages and new runs for others may follow later but are never lost. A lease of
   * session 0 and nonce 0 is nobody's: with the epoch of the last grant it fits as long as nobody holds the run.
   */
  commit(turns: readonly TurnCommit[]): Promise<readonly Committed[]>

  /** Ends leases on tasks. `done` hands the result to the run the task belongs to, in the same write. */
  settle(outcomes: readonly TaskOutcome[]): Promise<readonly TaskSettled[]>

  /** Keeps small texts for the steps of a run until it ends. `once` never replaces what is there. */
  note(notes: readonly Note[]): Promise<readonly Noted[]>

  /**
   * Opens (beat 1), extends, or closes a session. One write for all that the worker holds. A session lives until a
   * claim frees it, so a renewal that comes late still extends it.
   */
  renew(beat: SessionBeat): Promise<Renewed>

  /**
   * Runs a body in a transaction of this database, unless one has been run for this step: then it answers with the text
   * that one gave. What the body writes and the note of it become durable together. A PermanentError says that the run is
   * not under way in this generation, and that nothing was written. Only a store that is a database can.
   */
  readonly transact?: (of: StepOf, body: (sql: Sql) => Promise<string>) => Promise<string>

  /** Inserts runs within a transaction that is the caller's: they are there if it commits. */
  readonly createIn?: (client: SqlClient, runs: readonly NewRun[]) => Promise<readonly Created[]>

  /** Small shared values, each with a version: read, or changed if nobody was faster. Not for what changes often. */
  records(operations: readonly RecordOperation[]): Promise<readonly RecordOutcome[]>

  /** Reads, and never writes. */
  load(asks: readonly LoadAsk[]): Promise<readonly Loaded[]>

  /** A page of runs, newest first, or their number. May lag behind `commit`. */
  list(query: ListQuery): Promise<Listed>

  /** Hears that something may have happened. Losing every hint costs time, never progress. */
  wake(listener: (hint: Hint) => void): () => void

  close(): Promise<void>
}

export interface Traits {
  readonly name: 'memory' | 'sqlite' | 'postgres' | 's3' | 'file' | (string & {})
  /** What survives after an acknowledgement: not the process, the machine's crash, or what the storage service promises. */
  readonly durability: 'none' | 'fsync' | 'service'
  /** Batches that may be under way at once; the turns of one run always travel in the same lane. */
  readonly lanes: number
  /** Whether hints cross processes. Without it others find out by polling. */
  readonly push: boolean
}

export interface NewRun {
  readonly runId: string
  readonly name: string
  readonly queue: string
  readonly priority: number
  readonly workflowId: string
  /** What to do if the workflow id is in use, or was. */
  readonly reuse: Reuse
  /** Text of the input, and a digest of it: the same id with another digest is a conflict. */
  readonly input: string
  readonly digest: string
  /** What else is known of it from the beginning, as text. */
  readonly extras?: string
  /** What it is found by. Of a next generation: what changes. */
  readonly attributes?: AttributeChanges
  readonly parent?: ParentLink
  /** 1 when absent. Above it: this is the next generation of a run that is there, and whatever else is said here was said before, but for `past` and `attributes`. */
  readonly generation?: number
  /** The history it begins with. */
  readonly past?: InitialTurn
  /** Told to the run in the same write: to this one, or to the one that is there if `reuse` gives that. */
  readonly message?: StoredMessage
  /** Told to the run under way that must make room for this one. */
  readonly displaced?: StoredMessage
  /** Not before this instant of the store's clock; at once when absent. */
  readonly startAt?: Instant
  /** Or this long after the store accepts it. */
  readonly delayMs?: number
  /** Grants the lease to this session in the same write. */
  readonly eager?: { readonly session: number; readonly nonce: number }
}

export const REUSES = [
  'allow',
  'allowIfEnded',
  'allowIfFailed',
  'reject',
  'returnExisting',
  'terminateRunning',
] as const
/** What becomes of a start if its workflow id has a run already. */
export type Reuse = (typeof REUSES)[number]

/** The first turn of a run or generation that does not begin with nothing. */
export interface InitialTurn {
  readonly turnId: number
  readonly count: number
  readonly body: string
}

export type Created =
  | {
      readonly outcome: 'created'
      readonly now: Instant
      readonly run?: ClaimedRun
      /** The newest run of the workflow id, if that is in progress beside this one, as `reuse: 'allow'` lets it. */
      readonly alongside?: string
    }
  /** The run was there, with the same input. `run` is present if it is still leased to the caller. */
  | {
      readonly outcome: 'existing'
      readonly runId: string
      readonly run?: ClaimedRun
      /** What became of the message that came along. */
      readonly posted?: Posted['outcome']
    }
  | { readonly outcome: 'conflict'; readonly runId: string }
  /** The workflow id is taken and the policy says no; or the run that should begin again is under way. */
  | {
      readonly outcome: 'refused'
      readonly runId: string
      /** It ended so long ago that it is only kept to be read. */
      readonly archived?: true
    }

export interface Post {
  readonly runId: string
  readonly message: StoredMessage
  /** Wakes even a run whose start lies in the future, and a paused one. */
  readonly urgent?: true
  /** Wakes a paused run, whatever paused it. One whose start lies in the future still waits for that. */
  readonly resumes?: true
}
/** Which runs a message wakes beside those that wait for one. */
export type Wakes = Pick<Post, 'urgent' | 'resumes'>

export interface Posted {
  readonly outcome: 'accepted' | 'duplicate' | 'closed' | 'missing'
}

export interface TurnCommit {
  readonly runId: string
  readonly lease: Lease
  readonly generation: number
  /** Unique to this turn. The same turn sent again is a duplicate; another turn at the same place is fenced. */
  readonly turnId: number
  /** Events before this turn, and in it. */
  readonly seq: number
  readonly count: number
  /** The instant the turn was decided at. */
  readonly at: Instant
  readonly body: string
  /** Ids of messages this turn took. */
  readonly consumed: readonly string[]
  readonly outbox: readonly Outbound[]
  readonly tasks: readonly NewTask[]
  /** Tasks that are not needed any more. */
  readonly dropped: readonly string[]
  /** Added to those the run has, or put in their place; null removes one. */
  readonly attributes?: AttributeChanges
  /**
   * From this turn on the run undoes what it did, or no longer does. While it does, its status is `compensating` wherever
   * it would be `running` or `waiting`, whoever holds it. A next generation begins without.
   */
  readonly compensating?: boolean
  /** The run is for workers of this build from now on, unless it is pinned to one already. It stays so in all generations. */
  readonly pin?: string
  readonly next: Next
}

export type Next =
  | { readonly type: 'hold' }
  | {
      readonly type: 'release'
      readonly status: 'waiting' | 'running'
      readonly wakeAt?: Instant
    }
  /** Nothing wakes a paused run but another build, or somebody's hand; if no build is named, only that. */
  | {
      readonly type: 'pause'
      readonly build?: string
      readonly failure: string
      /** Messages it has seen and does not take, because it cannot read them: they are for the next holder. */
      readonly left?: readonly string[]
      /** This delivery does not count: the deaths of earlier holders are still to be made up for by the next. */
      readonly uncounted?: true
    }
  | { readonly type: 'end'; readonly status: 'completed' | 'failed' | 'cancelled' }
  /** The next generation begins in the same write. Messages that were not taken are for it. */
  | { readonly type: 'continue'; readonly past: InitialTurn }

export type Outbound =
  | {
      readonly type: 'start'
      readonly run: NewRun
      /** Posted back to the sender if the new run is refused. */
      readonly otherwise: StoredMessage
    }
  | ({ readonly type: 'post' } & Post)

export interface NewTask {
  readonly taskId: string
  readonly name: string
  readonly queue: string
  readonly priority: number
  readonly body: string
}

export type Committed =
  | { readonly outcome: 'applied' | 'duplicate' }
  /** The lease is no longer the caller's, or another turn stands at this place. Nothing was written. */
  | { readonly outcome: 'fenced' }
  /**
   * Nothing was written: the turn is stamped more than five seconds ahead of the store's clock, later than the run was
   * last updated, and later than the holder's session was ever good for. The lease is the caller's still, who may send
   * the same turn later.
   */
  | { readonly outcome: 'ahead'; readonly now: Instant }
  /** Nothing was written: the turn would end or pause the run, and there are messages it has neither taken nor left. */
  | { readonly outcome: 'more'; readonly messages: readonly StoredMessage[] }
  /** Nothing was written, and this turn can never be. */
  | { readonly outcome: 'rejected'; readonly reason: string }

export interface TaskOutcome {
  readonly taskId: string
  readonly lease: Lease
  readonly result:
    | { readonly type: 'done'; readonly message: StoredMessage }
    /** Another attempt after `delayMs` on the store's clock. `failed` attempts have ended so far. */
    | {
        readonly type: 'retry'
        readonly delayMs: number
        readonly failed: number
        readonly failure: string
      }
    /** Given back unused: the delivery does not count. */
    | { readonly type: 'return' }
}
export interface TaskSettled {
  readonly outcome: 'applied' | 'fenced'
}

/** A step of a run. */
export interface StepOf {
  readonly runId: string
  readonly generation: number
  readonly key: string
}

/** Asks the database something, inside a transaction. */
export interface Sql {
  query(text: string, values?: readonly unknown[]): Promise<readonly unknown[]>
}

/** A connection of the caller's, as drivers have it. */
export interface SqlClient {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

/** The store keeps one text for each name of each step, and all of them until the run ends. */
export interface Note {
  readonly runId: string
  readonly generation: number
  readonly key: string
  readonly name: string
  readonly body: string
  readonly once?: true
}
export interface Noted {
  /** What is kept now. Nothing if there is no such run under way. */
  readonly body?: string
}

export interface SessionBeat {
  readonly session: number
  readonly worker: string
  readonly beat: number
  readonly ttlMs: number
  /** Tasks the worker believes it holds. */
  readonly tasks: readonly string[]
  /** What the worker can do, for `why` and for people; every beat replaces it. */
  readonly about: string
  /** Gives back everything and forgets the session. */
  readonly close?: true
}
export interface Renewed {
  readonly now: Instant
  readonly alive: boolean
  /** Of the tasks in the beat, those that are no longer the session's. */
  readonly lostTasks: readonly string[]
}
