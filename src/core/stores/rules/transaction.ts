// A transaction over rows in memory. Reads see what was changed so far, and nothing else does: it becomes real when its
// changes are applied, and costs nothing to throw away.
import { assert } from '../../base/assert.ts'
import type { Instant } from '../../base/time.ts'
import { changedAttributes } from '../../kernel/attributes.ts'
import type * as seam from '../store.ts'
import { compareKeys, NEVER } from '../values.ts'
import { changeOf, type Draft, isSomething } from './draft.ts'
import { runKind, taskKind } from './due-index.ts'
import { nextFor, runsFor, tasksFor } from './due-rows.ts'
import { claimedRunOf, claimedTaskOf, newRunRow, newTaskRow } from './new-row.ts'
import { noteKey } from './read.ts'
import {
  type Changes,
  hasEnded,
  type RecordRow,
  type RowState,
  type RunChange,
  type RunRow,
  type RunState,
  type SessionRow,
  type TaskRow,
} from './row.ts'
import type { RowsTx, Run, RunStart, Task, TurnRow } from './rows-tx.ts'
import { StreamDrafts } from './stream-tables.ts'
import type { Tables } from './tables.ts'
import { Visible } from './visible.ts'

/** Runs that have ended and are no longer in the tables. */
export interface ArchivedRuns {
  run(runId: string): RunRow | undefined
  newest(workflowId: string): string | undefined
}

const noArchive: ArchivedRuns = { run: () => undefined, newest: () => undefined }

export class Transaction extends StreamDrafts implements RowsTx {
  readonly now: Instant
  readonly #tables: Tables
  readonly #archive: ArchivedRuns
  readonly #drafts = new Map<string, Draft>()
  readonly #tasks = new Map<string, TaskRow | undefined>()
  readonly #sessions = new Map<number, SessionRow | undefined>()
  readonly #names = new Map<string, string>()
  /** By space and key. */
  readonly #records = new Map<string, Map<string, RecordRow>>()
  /** Runs in progress, and tasks: by their holders, and by when they are due. */
  readonly #runsDue: Visible<RunRow>
  readonly #tasksDue: Visible<TaskRow>

  constructor(tables: Tables, now: Instant, archive: ArchivedRuns = noArchive) {
    super(tables.streams)
    this.#tables = tables
    const [drafts, tasks] = [this.#drafts, this.#tasks]
    this.#runsDue = new Visible(
      tables.runsDue,
      { has: (id) => drafts.has(id), rows: () => inProgress(drafts) },
      runKind,
    )
    this.#tasksDue = new Visible(
      tables.tasksDue,
      { has: (id) => tasks.has(id), rows: () => presentIn(tasks) },
      taskKind,
    )
    this.#archive = archive
    this.now = now
  }

  digest(runId: string): string | undefined {
    return this.run(runId)?.digest
  }

  run(runId: string): RunRow | undefined {
    const draft = this.#drafts.get(runId)
    if (draft?.isDeleted) return undefined
    return draft?.row ?? this.#tables.run(runId) ?? this.#archive.run(runId)
  }

  runInProgress(runId: string): RunRow | undefined {
    const row = this.run(runId)
    return row && !hasEnded(row) ? row : undefined
  }

  runForTurn(runId: string): RunRow | undefined {
    return this.runInProgress(runId)
  }

  isArchived(runId: string): boolean {
    return !this.#drafts.has(runId) && this.#tables.run(runId) === undefined
  }

  newest(workflowId: string): { readonly runId: string; readonly endedAs?: string } | undefined {
    const { names } = this.#tables
    const runId = this.#names.get(workflowId) ?? names.get(workflowId) ?? this.#archive.newest(workflowId)
    const row = runId === undefined ? undefined : this.run(runId)
    if (!row || runId === undefined) return undefined
    return { runId, ...(hasEnded(row) && { endedAs: row.status }) }
  }

  turnAt(runId: string, generation: number, seq: number): number | undefined {
    const isAt = (turn: { seq: number; generation?: number }): boolean =>
      turn.seq === seq && (turn.generation ?? 1) === generation
    const found = this.#drafts.get(runId)?.turns.findLast(isAt) ?? this.#tables.turns.get(runId)?.findLast(isAt)
    if (found) return found.turnId
    // The turns of an archived run are not at hand, but its row names the last.
    const archived = this.isArchived(runId) ? this.#archive.run(runId) : undefined
    return archived?.generation === generation ? archived.turnId : undefined
  }

  lastTurn({ head: { runId }, generation }: Run): number {
    const isOf = (turn: { generation?: number }): boolean => (turn.generation ?? 1) === generation
    const drafted = this.#drafts.get(runId)?.turns.findLast(isOf)
    return (drafted ?? this.#tables.turns.get(runId)?.findLast(isOf))?.turnId ?? 0
  }

  inbox({ head }: Run): readonly seam.StoredMessage[] {
    return this.run(head.runId)?.inbox ?? []
  }

  claimedRun({ head }: Run): seam.ClaimedRun {
    return claimedRunOf(this.#draft(head.runId).row)
  }

  task(taskId: string): TaskRow | undefined {
    return this.#tasks.has(taskId) ? this.#tasks.get(taskId) : this.#tables.tasks.get(taskId)
  }

  claimedTask({ taskId }: Task): seam.ClaimedTask {
    return claimedTaskOf(this.#task(taskId))
  }

  session(session: number): SessionRow | undefined {
    return this.#sessions.has(session) ? this.#sessions.get(session) : this.#tables.sessions.get(session)
  }

  note({ runId, generation, key, name }: Omit<seam.Note, 'body'>): string | undefined {
    return this.run(runId)?.notes?.[noteKey(generation, key, name)]
  }

  record(space: string, key: string): RecordRow | undefined {
    return this.#records.get(space)?.get(key) ?? this.#tables.records.get(space)?.get(key)
  }

  runsHeldBy(session: number): RunRow[] {
    return this.#runsDue.heldBy(session)
  }

  tasksHeldBy(session: number): TaskRow[] {
    return this.#tasksDue.heldBy(session)
  }

  dueRuns(request: seam.ClaimRequest, limit: number): RunRow[] {
    return runsFor(this.#runsDue, request, { now: this.now, deaths: [0], limit })
  }

  suspects(request: seam.ClaimRequest, holders: 1 | 2, limit: number): RunRow[] {
    const deaths = holders === 1 ? [1, 2] : [2]
    return runsFor(this.#runsDue, request, { now: this.now, deaths, limit })
  }

  dueTasks(request: seam.ClaimRequest, limit: number): TaskRow[] {
    return tasksFor(this.#tasksDue, request, { now: this.now, limit })
  }

  nextDue(request: seam.ClaimRequest): Instant | undefined {
    return nextFor(this.#runsDue, this.#tasksDue, request, this.now)
  }

  unreadAmong(runIds: readonly string[]): string[] {
    return runIds.filter((runId) => (this.run(runId)?.inbox.length ?? 0) > 0)
  }

  *otherSessions(session: number): Iterable<SessionRow> {
    for (const [id, row] of this.#tables.sessions) if (id !== session && !this.#sessions.has(id)) yield row
    for (const [id, row] of this.#sessions) if (row && id !== session) yield row
  }

  recordsAfter(space: string, after: string | undefined, limit: number): RecordRow[] {
    const changed = this.#records.get(space)
    const there = [...(this.#tables.records.get(space)?.values() ?? [])]
    return [...there.filter(({ key }) => !changed?.has(key)), ...(changed?.values() ?? [])]
      .filter(({ key }) => after === undefined || compareKeys(key, after) > 0)
      .sort((a, b) => compareKeys(a.key, b.key))
      .slice(0, limit)
  }

  /** Runs with messages or new runs for others that are not delivered yet. */
  undelivered(): RunRow[] {
    const left = [...this.#tables.undelivered].filter((runId) => !this.#drafts.has(runId))
    const rows = [
      ...left.flatMap((runId) => this.#tables.run(runId) ?? []),
      ...[...this.#drafts.values()].map(({ row }) => row),
    ]
    return rows.filter(({ outbox }) => outbox.length > 0)
  }

  insertRun(run: seam.NewRun, start: RunStart): RunRow {
    const row = newRunRow(run, start, this.now)
    const { runId, workflowId } = run
    this.#drafts.set(runId, { before: undefined, row, turns: [], posted: [], taken: [] })
    this.#names.set(workflowId, runId)
    return row
  }

  /** Inserts a run as it was in another store. `older` if it is not the newest run of its workflow id. */
  insertRow(row: RunRow, older: boolean): void {
    const { runId, workflowId } = row.head
    this.#drafts.set(runId, {
      ...{ before: undefined, row, turns: [], posted: [], taken: [] },
      ...(older && { older: true as const }),
    })
    if (!older) this.#names.set(workflowId, runId)
  }

  change({ head }: Run, set: Partial<RowState>): RunRow {
    return this.#set(head.runId, set)
  }

  tasksOf(runId: string): TaskRow[] {
    const ids = new Set(this.#tables.tasksOf(runId))
    for (const task of this.#tasks.values()) if (task?.runId === runId) ids.add(task.taskId)
    return [...ids].flatMap((id) => this.task(id) ?? [])
  }

  putTask(task: TaskRow): void {
    this.#tasks.set(task.taskId, task)
  }

  end(run: Run, last: TurnRow, set: Pick<RunState, 'status' | 'pin' | 'reason'> & { readonly endedAt: Instant }): void {
    if (last.count > 0) this.append(run, last)
    this.dropNotes(run)
    const { seq, count, turnId } = last
    this.change(run, {
      ...set,
      ...{ session: 0, nonce: 0, deliveries: 0, at: NEVER, updatedAt: set.endedAt },
      ...{ seq: seq + count, turnId, paused: undefined, compensating: undefined },
    })
  }

  reopen(run: Run, set: Partial<RunState>): RunRow {
    return this.change(run, set)
  }

  isNeeded({ head: { runId } }: Run): boolean {
    const { head, outbox = [] } = this.run(runId) ?? {}
    if (outbox.length > 0) return true
    return head?.parent !== undefined && this.runInProgress(head.parent.runId)?.generation === head.parent.generation
  }

  delete({ head: { runId } }: Run): void {
    this.dropTasksOf(runId)
    this.#draft(runId).isDeleted = true
  }

  append({ head }: Run, { generation, ...turn }: TurnRow): void {
    const which = generation === 1 ? {} : { generation }
    this.#draft(head.runId).turns.push({ ...turn, ...which })
    this.#set(head.runId, { reached: turn.seq + turn.count })
  }

  forgetBefore({ head }: Run, generation: number): void {
    this.#draft(head.runId).forgotten = generation
  }

  setAttributes({ head }: Run, changes: seam.AttributeChanges): void {
    const { attributes = {} } = this.#draft(head.runId).row
    this.#set(head.runId, { attributes: changedAttributes(attributes, changes) })
  }

  post({ head }: Run, message: seam.StoredMessage): boolean {
    const draft = this.#draft(head.runId)
    if (draft.row.inbox.some(({ id }) => id === message.id)) return false
    draft.posted.push(message)
    draft.row = { ...draft.row, inbox: [...draft.row.inbox, message] }
    return true
  }

  take({ head }: Run, ids: readonly string[]): void {
    const draft = this.#draft(head.runId)
    const taken = draft.row.inbox.filter(({ id }) => ids.includes(id))
    if (taken.length === 0) return
    const before = taken.filter((each) => !draft.posted.includes(each))
    draft.taken.push(...before.map(({ id }) => id))
    draft.posted = draft.posted.filter((each) => !taken.includes(each))
    draft.row = { ...draft.row, inbox: draft.row.inbox.filter((each) => !taken.includes(each)) }
  }

  putNote({ head }: Run, { generation, key, name, body }: seam.Note): void {
    const { notes } = this.#draft(head.runId).row
    this.#set(head.runId, { notes: { ...notes, [noteKey(generation, key, name)]: body } })
  }

  dropNotes({ head }: Run): void {
    this.#set(head.runId, { notes: undefined })
  }

  /** Keeps what a turn sends to other runs, for a later claim to deliver. */
  send(runId: string, outbox: readonly seam.Outbound[]): void {
    const draft = this.#draft(runId)
    draft.row = { ...draft.row, outbox }
  }

  insertTask(task: seam.NewTask, runId: string): void {
    if (!this.task(task.taskId)) this.#tasks.set(task.taskId, newTaskRow(task, runId, this.now))
  }

  changeTask({ taskId }: Task, set: Partial<TaskRow>): TaskRow {
    const row = { ...this.#task(taskId), ...set }
    this.#tasks.set(taskId, row)
    return row
  }

  dropTask(taskId: string): void {
    this.#tasks.set(taskId, undefined)
  }

  dropTasksOf(runId: string): void {
    for (const id of this.#tables.tasksOf(runId)) this.dropTask(id)
    for (const task of this.#tasks.values()) if (task?.runId === runId) this.dropTask(task.taskId)
  }

  putSession(row: SessionRow): void {
    this.#sessions.set(row.session, row)
  }

  extendSession(session: number, latest: Instant): void {
    const row = this.session(session)
    if (row) this.putSession({ ...row, latest })
  }

  dropSession(session: number): void {
    this.#sessions.set(session, undefined)
  }

  putRecord(row: RecordRow): void {
    const space = this.#records.get(row.space) ?? new Map<string, RecordRow>()
    this.#records.set(row.space, space.set(row.key, row))
  }

  changes(): Changes {
    return {
      runs: this.#runChanges(),
      tasks: [...this.#tasks.values()].filter((row) => row !== undefined),
      tasksGone: [...this.#tasks].filter(([id, row]) => !row && this.#tables.tasks.has(id)).map(([id]) => id),
      sessions: [...this.#sessions.values()].filter((row) => row !== undefined),
      sessionsGone: [...this.#sessions].filter(([id, row]) => !row && this.#tables.sessions.has(id)).map(([id]) => id),
      records: [...this.#records.values()].flatMap((space) => [...space.values()]),
    }
  }

  #runChanges(): RunChange[] {
    const changes = new Map([...this.#drafts].map(([runId, draft]) => [runId, changeOf(runId, draft)]))
    for (const [runId, streams] of this.streamChanges()) changes.set(runId, { runId, ...changes.get(runId), streams })
    return [...changes.values()].filter(isSomething)
  }

  #set(runId: string, set: Partial<RowState>): RunRow {
    const draft = this.#draft(runId)
    draft.row = { ...draft.row, ...set }
    return draft.row
  }

  #draft(runId: string): Draft {
    const there = this.#drafts.get(runId)
    if (there) return there
    const row = this.run(runId)
    assert(row !== undefined, 'only a run that exists is changed')
    const draft: Draft = { before: row, row, turns: [], posted: [], taken: [] }
    this.#drafts.set(runId, draft)
    return draft
  }

  #task(taskId: string): TaskRow {
    const row = this.task(taskId)
    assert(row !== undefined, 'only a task that exists is changed')
    return row
  }
}

function* inProgress(drafts: ReadonlyMap<string, Draft>): Generator<RunRow> {
  for (const { row } of drafts.values()) if (!hasEnded(row)) yield row
}

function* presentIn(tasks: ReadonlyMap<string, TaskRow | undefined>): Generator<TaskRow> {
  for (const row of tasks.values()) if (row) yield row
}
