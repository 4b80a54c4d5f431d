// The store seam. A store keeps runs, their histories, inboxes and tasks, and grants leases. It decides nothing: bodies
// are opaque text to it, and every rule it enforces is written here. `rules/` has the same rules as code.
//
// Rules for every method:
//
// - It takes and returns arrays, element for element. Each element is applied wholly or not at all, whatever happens
//   to its neighbours. The order in which a store applies independent elements of one batch is its own.
// - What is acknowledged is durable.
// - Everything is idempotent by id, so that a caller whose answer was lost sends the same call again until it gets one.
// - A method that throws has said nothing: the write may have happened.
//
// All instants are those of the store's own clock, except the `at` of a turn.
import type { Instant } from '../base/time.ts'
import type { EndedStatus, ParentLink, ReleasedStatus } from '../kernel/run.ts'
import type { Claimed, ClaimedRun, ClaimRequest, Lease } from './claiming.ts'
import type { TransferOperation, TransferOutcome } from './moving.ts'
import type { EndedPage, EndedQuery, EndedRun, Hint, Listed, ListQuery, LoadAsk, Loaded } from './reading.ts'
import type { RecordOperation, RecordOutcome } from './record.ts'
import type { Appended, StreamBatch, StreamTurn } from './stream.ts'
import type { AttributeChanges, StoredMessage } from './values.ts'

export type { EndedStatus } from '../kernel/run.ts'
export type * from './claiming.ts'
export type * from './moving.ts'
export { leftTo, MOVER } from './moving.ts'
export type * from './reading.ts'
export type { RecordOperation, RecordOutcome, StoredRecord } from './record.ts'
export type * from './stream.ts'
export type {
  AttributeChanges,
  AttributeScalar,
  Attributes,
  AttributeValue,
  StoredHead,
  StoredMessage,
} from './values.ts'

export interface Store {
  readonly traits: Traits

  /**
   * Inserts runs that do not exist yet. A run is due at its start, and never before it was written. With `eager` the
   * creator gets the lease in the same write, if the start has come and the session lives and its time is not over.
   * With a `generation` above 1, a run that has ended, or is paused and not held, starts again as that generation; its
   * tasks and notes are dropped.
   */
  create(runs: readonly NewRun[]): Promise<readonly Created[]>

  /**
   * Accepts messages for runs and fixes their order per run. After `accepted` the run is claimable, or its holder's
   * next `claim` that names the run returns the message: no interleaving with `commit` may lose it. A message makes a
   * waiting run due now; a run that has not started, at its start; a paused run stays paused. See `Post` for others.
   */
  post(messages: readonly Post[]): Promise<readonly Posted[]>

  /**
   * Leases runs that are due, and tasks, to a living session, and counts the delivery. What it returns about a run was
   * read after the lease was granted.
   *
   * The claim order: higher priorities first. Among equals, one queue and name after another, in an order that `nonce`
   * decides (`placeOf` in claim-order.ts), so that a long line of one name never starves the others. Within a queue and
   * name, the row that has been due longest; runs that another build paused come last. Rows that became due in the same
   * instant have no order.
   *
   * With `reconcile`, first returns leases this session holds but did not list, because the answer that granted them
   * was lost. If there are any runs among them, no other run is granted; the same holds for tasks.
   *
   * A claim also frees the leases of silent sessions (see `LateSession`), returns unread messages of the runs in
   * `held`, and completes deliveries between runs that an earlier commit left undone. A run that is freed is due now,
   * and so is a task.
   */
  claim(request: ClaimRequest): Promise<Claimed>

  /**
   * Appends a turn to a run, fenced on the lease, and keeps the lease, releases the run, or ends it. All of a turn
   * becomes visible at once; messages and new runs for others may follow later but are never lost. A lease of session 0
   * and nonce 0 belongs to no session: with the epoch of the last grant it fits as long as no session holds the run.
   */
  commit(turns: readonly TurnCommit[]): Promise<readonly Committed[]>

  /** Ends leases on tasks. `done` posts the result to the task's run, in the same write. */
  settle(outcomes: readonly TaskOutcome[]): Promise<readonly TaskSettled[]>

  /** Keeps small texts for the steps of a run until its generation ends. `once` never replaces a text. */
  note(notes: readonly Note[]): Promise<readonly Noted[]>

  /**
   * Adds items to streams, fenced on the lease of the run or of a task of it, and on its generation. Checked in this
   * order: the run is in progress; the lease is current; the batch belongs to the newest part of its writer and
   * chapter, or begins a newer one (a higher generation or attempt, or another execution of the same attempt); its
   * number is the next of its part (a lower one is a duplicate), and what a new part keeps is there; the stream is
   * open; no limit is passed. A stream exists from its first batch on. Batches of one stream are applied in the order
   * given.
   *
   * A stream is closed in the generation that closed it, and while its run has ended: a later generation may write to
   * it again. Streams stay when a run continues as new, and are deleted with their run.
   */
  append(batches: readonly StreamBatch[]): Promise<readonly Appended[]>

  /**
   * Opens (beat 1), extends, or closes a session: one write for all that the worker holds. Every beat replaces what is
   * known of the session. A session lives until a claim frees it, so a renewal that comes late still extends it.
   */
  renew(beat: SessionBeat): Promise<Renewed>

  /**
   * Runs a body in a transaction of this database, unless one has committed for this step: then it returns the text
   * that one gave. What the body writes and the note of it become durable together. A PermanentError says that the run
   * is not in progress in this generation, and that nothing was written. Only a store that is a database has this.
   */
  readonly transact?: (of: StepOf, body: (sql: Sql) => Promise<string>) => Promise<string>

  /** Inserts runs within a transaction of the caller: they exist if it commits. */
  readonly createIn?: (client: SqlClient, runs: readonly NewRun[]) => Promise<readonly Created[]>

  /**
   * Deletes runs that have ended, with everything that belongs to them; a run is there wholly, or not at all. One that is
   * in progress again, or ended at another instant than the caller read, stays; so does a child while the generation
   * that started it is in progress, because that may still read it, and a run that has moved to another store, because
   * the rest of the move may need its row. The newest run that is left has the workflow id. Object storage has
   * no such method, because its ended runs share large objects: it deletes those by age.
   */
  readonly purge?: (runs: readonly EndedRun[]) => Promise<readonly Purged[]>

  /**
   * A page of runs in the order of their creation, oldest first. It looks at `limit` runs, and returns those of them that
   * have ended: perhaps none. A store that has `purge` has this.
   */
  readonly ended?: (query: EndedQuery) => Promise<EndedPage>

  /** Reads small shared values, or changes them if their version is still the one given. In the order given. */
  records(operations: readonly RecordOperation[]): Promise<readonly RecordOutcome[]>

  /** Moves whole runs to another store, and from one. Bodies travel as they are stored. */
  transfer(operations: readonly TransferOperation[]): Promise<readonly TransferOutcome[]>

  /** Reads, and never writes. Tasks and sessions come in the order of their ids. */
  load(asks: readonly LoadAsk[]): Promise<readonly Loaded[]>

  /** A page of runs, newest first, or their number, or groups of them. May lag behind `commit`. */
  list(query: ListQuery): Promise<Listed>

  /** Hears that something may have happened. Losing every hint costs time, never progress. */
  wake(listener: (hint: Hint) => void): () => void

  close(): Promise<void>
}

export interface Traits {
  readonly name: 'memory' | 'sqlite' | 'postgres' | 's3' | 'file' | (string & {})
  /** What an acknowledged write survives: nothing, a crash of the machine, or what the storage service promises. */
  readonly durability: 'none' | 'fsync' | 'service'
  /** Batches that may be in progress at once; the turns of one run always travel in the same lane. */
  readonly lanes: number
  /** True if hints cross processes. Without it, other processes find out by polling. */
  readonly push: boolean
}

export interface NewRun {
  readonly runId: string
  readonly name: string
  readonly queue: string
  /** Any whole number; among due runs of the queues a claim names, higher ones are granted first. */
  readonly priority: number
  readonly workflowId: string
  /** What to do if the workflow id is in use, or was. */
  readonly reuse: Reuse
  /** Text of the input, and a digest of it: the same run id with another digest is a conflict. */
  readonly input: string
  readonly digest: string
  /** What else is known when the run is created, as text. */
  readonly extras?: string
  /** Attributes the run is found by. Of a next generation: those that change. */
  readonly attributes?: AttributeChanges
  readonly parent?: ParentLink
  /** 1 when absent. Above 1, only `past` and `attributes` count beside it: the rest is as when the run was created. */
  readonly generation?: number
  /** The history the run or generation starts with. */
  readonly past?: InitialTurn
  /** Posted in the same write: to this run, or to the existing one that the answer names. */
  readonly message?: StoredMessage
  /** Posted, as urgent, to the run in progress that `terminateRunning` replaces. */
  readonly displaced?: StoredMessage
  /** The run does not start before this instant; at once when absent. */
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
/** What becomes of a start if its workflow id has a run. The newest run of the workflow id decides. */
export type Reuse = (typeof REUSES)[number]

/** The first turn of a run or generation that starts with a history. */
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
  /** The run exists, with the same input. `run` is present if it is still leased to the caller. */
  | {
      readonly outcome: 'existing'
      readonly runId: string
      readonly run?: ClaimedRun
      /** What became of the message that came along. */
      readonly posted?: Posted['outcome']
    }
  | { readonly outcome: 'conflict'; readonly runId: string }
  /** `reuse` forbids another run of the workflow id; or the run that should start again is in progress. */
  | {
      readonly outcome: 'refused'
      readonly runId: string
      /** The run ended so long ago that it is only kept to be read. */
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
/** Which runs a message wakes beside those that wait. */
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
  /** Events of the generation before this turn, and in it: at least one if the turn ends the run. */
  readonly seq: number
  readonly count: number
  /** The instant the turn was decided at. */
  readonly at: Instant
  readonly body: string
  /** Ids of messages this turn consumed. */
  readonly consumed: readonly string[]
  readonly outbox: readonly Outbound[]
  /** A task whose id exists stays as it is. */
  readonly tasks: readonly NewTask[]
  /** Ids of tasks that are not needed any more. */
  readonly dropped: readonly string[]
  /** Added to those of the run, or replacing them; null removes one. */
  readonly attributes?: AttributeChanges
  /** What the code wrote to streams, and streams that end: in order, all with the turn. Limits of streams do not apply. */
  readonly streams?: readonly StreamTurn[]
  /**
   * From this turn on the run undoes what it did, or no longer does. While it does, its status is `compensating`
   * wherever it would be `running` or `waiting`, whoever holds it. A next generation starts without.
   */
  readonly compensating?: boolean
  /** Pins the run to this build, unless it is pinned. A pin stays, in all generations. */
  readonly pin?: string
  readonly next: Next
}

/**
 * What becomes of the run. A `reason` says in a short text what a waiting run waits for, or why it is paused or failed:
 * lists find the run by it until the next turn that releases, pauses, ends or continues it.
 */
export type Next =
  | { readonly type: 'hold' }
  | {
      readonly type: 'release'
      readonly status: ReleasedStatus
      /** The run is due then, not before the release; at once if it has unread messages. Absent: messages wake it. */
      readonly wakeAt?: Instant
      readonly reason?: string
    }
  /** Only another build, or an urgent or resuming message, wakes a paused run; if no build is named, only a message. */
  | {
      readonly type: 'pause'
      readonly build?: string
      readonly failure: string
      readonly reason?: string
      /** Ids of messages the holder has seen and cannot read: they stay for the next holder. */
      readonly left?: readonly string[]
      /** This delivery does not count: if earlier holders died, the run is still suspect. */
      readonly uncounted?: true
    }
  | { readonly type: 'end'; readonly status: EndedStatus; readonly reason?: string }
  /** The next generation starts in the same write. Unread messages are for it. */
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
  /** Nothing was written: the lease is no longer the caller's, or another turn stands at this place. */
  | { readonly outcome: 'fenced' }
  /**
   * Nothing was written: the turn is stamped more than five seconds ahead of the store's clock, later than the run was
   * last updated, and later than the holder's session was ever good for. The caller still has the lease, and may send
   * the same turn later.
   */
  | { readonly outcome: 'ahead'; readonly now: Instant }
  /** Nothing was written: the turn would end or pause the run, and there are messages it neither consumed nor left. */
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
    /** Returned unused: the delivery does not count, and the task is due now. */
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

/** Queries the database, inside a transaction. */
export interface Sql {
  query(text: string, values?: readonly unknown[]): Promise<readonly unknown[]>
}

/** A connection of the caller, as drivers have it. */
export interface SqlClient {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

/** The store keeps one text for each name of each step. */
export interface Note {
  readonly runId: string
  readonly generation: number
  readonly key: string
  readonly name: string
  readonly body: string
  readonly once?: true
}
export interface Noted {
  /** The text that is kept now; absent if the run is not in progress in this generation. */
  readonly body?: string
}

export interface Purged {
  readonly outcome: 'purged' | 'kept' | 'missing'
}

export interface SessionBeat {
  readonly session: number
  readonly worker: string
  readonly beat: number
  readonly ttlMs: number
  /** Tasks the worker believes it holds. */
  readonly tasks: readonly string[]
  /** What the worker can do, for `why` and for people. Every beat replaces it. */
  readonly about: string
  /** Releases everything the session holds, and ends it. */
  readonly close?: true
}
export interface Renewed {
  readonly now: Instant
  readonly alive: boolean
  /** Of the tasks in the beat, those that the session no longer holds. */
  readonly lostTasks: readonly string[]
}
