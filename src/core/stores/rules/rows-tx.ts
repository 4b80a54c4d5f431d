// What the rules need of a store: rows to read, queries for what is due or held, and writes. All of it happens within
// one transaction, in which reads see the writes before them. Memory and objects implement it over rows in memory,
// SQLite with its statements.
import type { Instant } from '../../base/time.ts'
import type * as seam from '../store.ts'
import type { LeaseState, RecordRow, RunState, SessionRow, SessionTimes } from './row.ts'
import type { StreamRows } from './stream-rows.ts'

/** A run as the rules see it. Its input, messages, notes and attributes are read where a rule needs them. */
export interface Run extends Omit<RunState, 'paused' | 'seq' | 'turnId' | 'reached'> {
  readonly head: { readonly runId: string }
  /** A run that has not started does not start before this, unless a message is urgent. */
  readonly startAt: Instant
  readonly paused?: { readonly build: string } | undefined
}

export interface RunForTurn extends Run {
  /** Events of its generation that are durable. */
  readonly reached: number
}

export interface Task extends LeaseState {
  readonly taskId: string
  readonly runId: string
  readonly at: Instant
}

/** A turn as it is stored. */
export interface TurnRow {
  readonly generation: number
  readonly seq: number
  readonly count: number
  readonly turnId: number
  readonly epoch: number
  readonly body: string
}

/** How a run starts: what a new row has beside what its creator says. */
export type RunStart = Pick<RunState, 'session' | 'nonce' | 'epoch' | 'deliveries' | 'status'> & {
  readonly startAt: Instant
}

export interface RowsTx extends StreamRows {
  /** The store's time, the same for the whole transaction. */
  readonly now: Instant

  /** The digest of a run's input; `undefined` if there is no such run. */
  digest(runId: string): string | undefined
  run(runId: string): Run | undefined
  /** The same; `undefined` also if the run has ended. */
  runInProgress(runId: string): Run | undefined
  /** A run in progress, with what a turn is checked against. */
  runForTurn(runId: string): RunForTurn | undefined
  /** True if the run ended so long ago that it is only kept to be read. */
  isArchived(runId: string): boolean
  /** The newest run of a workflow id, and its status if it has ended. */
  newest(workflowId: string): { readonly runId: string; readonly endedAs?: string } | undefined
  /** The id of the turn that begins at an event. */
  turnAt(runId: string, generation: number, seq: number): number | undefined
  /** The id of the last turn of a run's generation; 0 if it has none. */
  lastTurn(run: Run): number
  inbox(run: Run): readonly seam.StoredMessage[]
  claimedRun(run: Run): seam.ClaimedRun
  task(taskId: string): Task | undefined
  claimedTask(task: Task): seam.ClaimedTask
  session(session: number): SessionTimes | undefined
  note(note: Omit<seam.Note, 'body'>): string | undefined
  record(space: string, key: string): RecordRow | undefined

  /** Runs and tasks that a session holds. */
  runsHeldBy(session: number): readonly Run[]
  tasksHeldBy(session: number): readonly Task[]
  /** Runs that a claim may be granted, at most so many, in the claim order. None whose last holder died. */
  dueRuns(request: seam.ClaimRequest, limit: number): readonly Run[]
  /** The same of runs that lost at least so many holders since their last release: 1, or 2. */
  suspects(request: seam.ClaimRequest, holders: 1 | 2, limit: number): readonly Run[]
  dueTasks(request: seam.ClaimRequest, limit: number): readonly Task[]
  /**
   * True if a run that has ended must stay: the generation that started it is in progress, or what it sends is not
   * delivered yet.
   */
  isNeeded(run: Run): boolean
  /** When the next run or task that a claim may be granted is due, later than now. */
  nextDue(request: seam.ClaimRequest): Instant | undefined
  /** Of these runs, those with messages. */
  unreadAmong(runIds: readonly string[]): readonly string[]
  otherSessions(session: number): Iterable<SessionTimes>
  /** Records of a space behind a key, in the order of their keys. */
  recordsAfter(space: string, after: string | undefined, limit: number): readonly RecordRow[]

  insertRun(run: seam.NewRun, start: RunStart): Run
  change(run: Run, set: Partial<RunState>): Run
  /** Ends a run with its last turn. Its notes and its lease are gone. */
  end(run: Run, last: TurnRow, set: Pick<RunState, 'status' | 'pin' | 'reason'> & { endedAt: Instant }): void
  /** Makes a run that has ended, or is paused, one in progress. */
  reopen(run: Run, set: Partial<RunState>): Run
  /** Deletes a run that has ended, and everything that belongs to it. The newest that is left has its workflow id. */
  delete(run: Run): void
  append(run: Run, turn: TurnRow): void
  /** Forgets the turns of generations before this one. */
  forgetBefore(run: Run, generation: number): void
  setAttributes(run: Run, changes: seam.AttributeChanges): void
  /** Adds a message to the inbox; false if it has one with this id. */
  post(run: Run, message: seam.StoredMessage): boolean
  take(run: Run, ids: readonly string[]): void
  putNote(run: Run, note: seam.Note): void
  dropNotes(run: Run): void
  /** Adds a task, unless there is one with its id. */
  insertTask(task: seam.NewTask, runId: string): void
  changeTask(task: Task, set: Partial<LeaseState> & { at?: Instant; failed?: number; failure?: string }): Task
  dropTask(taskId: string): void
  dropTasksOf(runId: string): void
  putSession(session: SessionRow): void
  /** Notes that a session was good until this instant. */
  extendSession(session: number, latest: Instant): void
  dropSession(session: number): void
  putRecord(record: RecordRow): void
}
