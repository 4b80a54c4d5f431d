// The rows of a file as the rules of the stores read and write them, within a transaction of SQLite. Each write is one
// statement, so that later reads and queries of the same transaction see it.
import type { StatementSync } from 'node:sqlite'
import type * as seam from '../../core/stores/driver.ts'
import { Hints, isList, newHead } from '../../core/stores/driver.ts'
import { attributeColumns, itemsOf } from '../sql/attributes.ts'
import { type HeadValues, headOfValues } from '../sql/rows.ts'
import { DueRows } from './due.ts'
import type { Lanes } from './lanes.ts'
import { type ClosedColumns, endedRunOf, type LiveValues, runOf, type SqliteRun, updateOf } from './run-row.ts'
import type { Statements, Updates } from './statements.ts'
import { SqliteStreamRows } from './stream-rows.ts'

type TaskValues = readonly [
  taskId: string,
  runId: string,
  at: number,
  session: number,
  epoch: number,
  nonce: number,
  deliveries: number,
  failed?: number,
  body?: string,
  name?: string,
]

/** A task, with what a claim returns if it was read for one. */
interface SqliteTask extends seam.Task {
  readonly failed: number
  readonly body: string
  readonly name: string
}

type SessionValues = readonly [session: number, beat: number, expiresAt: number, ttlMs: number, latest: number]

/** What the creator of a run said: a claim of it needs no read. */
interface CreatedRun extends SqliteRun {
  readonly created?: seam.NewRun
}

export class SqliteRows extends SqliteStreamRows implements seam.RowsTx {
  readonly now: number
  readonly hints = new Hints()
  readonly #sql: Statements
  readonly #updates: Updates
  readonly #lanes: Lanes
  #rowsDue: DueRows | undefined

  constructor(sql: Statements, updates: Updates, lanes: Lanes, now: number) {
    super(sql)
    this.#sql = sql
    this.#updates = updates
    this.#lanes = lanes
    this.now = now
  }

  get #due(): DueRows {
    this.#rowsDue ??= new DueRows(this.#sql, this.#lanes, this.now)
    return this.#rowsDue
  }

  digest(runId: string): string | undefined {
    return one<readonly [string]>(this.#sql.digest, runId)?.[0]
  }

  run(runId: string): SqliteRun | undefined {
    const live = this.runInProgress(runId)
    if (live) return live
    const closed = one<ClosedColumns>(this.#sql.ended, runId)
    return closed && endedRunOf(closed)
  }

  runInProgress(runId: string): SqliteRun | undefined {
    const row = one<LiveValues>(this.#sql.live, runId)
    return row && runOf(row)
  }

  runForTurn(runId: string): SqliteRun | undefined {
    const row = one<LiveValues>(this.#sql.forTurn, runId)
    return row && runOf(row)
  }

  isArchived(): boolean {
    return false
  }

  newest(workflowId: string): { readonly runId: string; readonly endedAs?: string } | undefined {
    const row = one<{ run_id: string; status: string | null }>(this.#sql.newest, workflowId)
    return row && { runId: row.run_id, ...(row.status !== null && { endedAs: row.status }) }
  }

  turnAt(runId: string, generation: number, seq: number): number | undefined {
    return one<{ turn_id: number }>(this.#sql.turn, runId, generation, seq)?.turn_id
  }

  lastTurn({ head, generation }: SqliteRun): number {
    return one<{ turn_id: number }>(this.#sql.lastTurn, head.runId, generation)?.turn_id ?? 0
  }

  inbox({ head, hasUnread }: SqliteRun): readonly seam.StoredMessage[] {
    return hasUnread ? all<seam.StoredMessage>(this.#sql.inbox, head.runId) : []
  }

  claimedRun(run: CreatedRun): seam.ClaimedRun {
    const { session, epoch, nonce, deliveries, seq, turnId, created } = run
    const { runId } = run.head
    const head = created
      ? newHead(created, this.now)
      : headOfValues(one<HeadValues>(this.#sql.head, runId) as HeadValues, run.generation)
    const lease = { session, epoch, nonce }
    return { head, lease, deliveries, seq, turnId, messages: this.inbox(run) }
  }

  task(taskId: string): SqliteTask | undefined {
    const row = one<TaskValues>(this.#sql.task, taskId)
    return row && taskOf(row)
  }

  claimedTask(task: SqliteTask): seam.ClaimedTask {
    const { taskId, runId, name, body, session, epoch, nonce, failed, deliveries } = task
    return { taskId, runId, name, body, lease: { session, epoch, nonce }, failed, deliveries }
  }

  session(session: number): seam.SessionTimes | undefined {
    const values = one<SessionValues>(this.#sql.session, session)
    return values && timesOf(values)
  }

  note({ runId, generation, key, name }: Omit<seam.Note, 'body'>): string | undefined {
    return one<{ body: string }>(this.#sql.note, runId, generation, key, name)?.body
  }

  record(space: string, key: string): seam.RecordRow | undefined {
    return one<seam.RecordRow>(this.#sql.record, space, key)
  }

  runsHeldBy(session: number): SqliteRun[] {
    return all<LiveValues>(this.#sql.heldRuns, session).map(runOf)
  }

  tasksHeldBy(session: number): SqliteTask[] {
    return all<TaskValues>(this.#sql.heldTasks, session).map(taskOf)
  }

  dueRuns(request: seam.ClaimRequest, limit: number): SqliteRun[] {
    return this.#due.runs(request, limit).map(runOf)
  }

  suspects(request: seam.ClaimRequest, holders: 1 | 2, limit: number): SqliteRun[] {
    return this.#due.suspects(request, holders, limit).map(runOf)
  }

  dueTasks(request: seam.ClaimRequest, limit: number): SqliteTask[] {
    return this.#due.tasks<TaskValues>(request, limit).map(taskOf)
  }

  nextDue(request: seam.ClaimRequest): number | undefined {
    return this.#due.next(request)
  }

  unreadAmong(runIds: readonly string[]): string[] {
    if (runIds.length === 0) return []
    const rows = all<{ run_id: string }>(this.#sql.unreadAmong, JSON.stringify(runIds))
    return rows.map(({ run_id }) => run_id)
  }

  isAnythingDue(request: seam.ClaimRequest): boolean {
    return this.#due.isAnything(request)
  }

  otherSessions(session: number): seam.SessionTimes[] {
    return all<SessionValues>(this.#sql.otherSessions, session).map(timesOf)
  }

  recordsAfter(space: string, after: string | undefined, limit: number): seam.RecordRow[] {
    return all<seam.RecordRow>(this.#sql.records, space, after ?? '', limit)
  }

  insertRun(run: seam.NewRun, start: seam.RunStart): SqliteRun {
    this.#putRun(run)
    const { runId, past } = run
    const { startAt, session, epoch, nonce, deliveries, status } = start
    const created: CreatedRun = {
      head: { runId },
      created: run,
      lane: this.#lanes.of('run', run),
      at: Math.max(startAt, this.now),
      startAt,
      session,
      epoch,
      nonce,
      deliveries,
      status,
      generation: 1,
      seq: past === undefined ? 0 : past.count,
      reached: past === undefined ? 0 : past.count,
      turnId: past === undefined ? 0 : past.turnId,
      updatedAt: this.now,
      hasUnread: false,
      hasNotes: false,
    }
    this.#putLive(created)
    if (run.attributes) this.setAttributes(created, run.attributes)
    return created
  }

  #putRun(run: seam.NewRun): void {
    const { runId, workflowId, parent, digest, input, extras = null } = run
    const lane = this.#lanes.of('run', run)
    const name = workflowId === runId ? null : workflowId
    const { insertRun, putName } = this.#sql
    if (!parent) insertRun.run(runId, lane, name, null, null, null, this.now, digest, input, extras)
    else {
      const { runId: by, generation, key } = parent
      insertRun.run(runId, lane, name, by, generation, key, this.now, digest, input, extras)
    }
    if (name !== null) putName.run(name, runId)
  }

  #putLive(run: SqliteRun): void {
    const { head, lane, at, startAt, session, epoch, nonce, deliveries, status, generation } = run
    const { seq, updatedAt, pin = null, turnId } = run
    const due = [head.runId, lane, at, startAt] as const
    const lease = [session, epoch, nonce, deliveries] as const
    this.#sql.insertLive.run(...due, ...lease, status, generation, seq, updatedAt, pin, turnId)
    if (session === 0) this.hints.ready()
  }

  change(run: SqliteRun, set: Partial<seam.RunState>): SqliteRun {
    const next = { ...run, ...set }
    const { session, deliveries } = next
    if (session === 0) next.lane = deliveries > 0 ? -Math.abs(run.lane) : Math.abs(run.lane)
    const { columns, values } = updateOf(run, next, set)
    if (values.length > 0) this.#updates(columns).run(...values, run.head.runId)
    this.hints.changed(next, this.now)
    return next
  }

  end(
    { head, hasNotes }: SqliteRun,
    last: seam.TurnRow,
    set: Pick<seam.RunState, 'status' | 'pin' | 'reason'> & { readonly endedAt: number },
  ): void {
    const { generation, seq, count, turnId, epoch, body } = last
    const turn = [generation, seq, count, turnId, epoch, body]
    this.#sql.close.run(head.runId, set.status, set.endedAt, ...turn, set.pin ?? null, set.reason ?? null)
    this.#sql.deleteLive.run(head.runId)
    if (hasNotes) this.#sql.deleteNotes.run(head.runId)
    this.hints.ended(head.runId)
  }

  reopen(run: SqliteRun, set: Partial<seam.RunState>): SqliteRun {
    const { runId } = run.head
    if (run.endedAt === undefined) return this.change(run, set)
    this.#sql.keepLastTurn.run(runId)
    this.#sql.deleteClosed.run(runId)
    const next = { ...run, ...set, startAt: this.now }
    this.#putLive(next)
    return next
  }

  isNeeded({ head }: SqliteRun): boolean {
    return one(this.#sql.hasParentInProgress, head.runId) !== undefined
  }

  delete({ head: { runId } }: SqliteRun): void {
    const name = one<{ workflow_id: string }>(this.#sql.deleteName, runId)?.workflow_id
    const { deleteRun, deleteClosed, deleteTurns, deleteInbox, deleteTasks, deleteNotes } = this.#sql
    const { deleteAttributes, deleteAllItems } = this.#sql
    for (const each of [deleteRun, deleteClosed, deleteTurns, deleteInbox, deleteTasks, deleteNotes]) each.run(runId)
    for (const each of [deleteAttributes, deleteAllItems]) each.run(runId)
    this.deleteStreams(runId)
    if (name !== undefined) this.#sql.nameNewest.run(name)
  }

  append({ head }: SqliteRun, turn: seam.TurnRow): void {
    const { generation, seq, count, turnId, epoch, body } = turn
    this.#sql.insertTurn.run(head.runId, generation, seq, count, turnId, epoch, body)
  }

  forgetBefore({ head }: SqliteRun, generation: number): void {
    this.#sql.forgetTurns.run(head.runId, generation)
  }

  setAttributes({ head: { runId } }: SqliteRun, changes: seam.AttributeChanges): void {
    for (const [name, value] of Object.entries(changes)) {
      this.#sql.deleteItems.run(runId, name)
      if (value === null || isList(value)) this.#sql.deleteAttribute.run(runId, name)
      if (value === null) continue
      if (isList(value)) {
        for (const [place, text] of itemsOf(value).entries()) this.#sql.insertItem.run(runId, name, place, text)
      } else {
        const { kind, text, number } = attributeColumns(value)
        this.#sql.putAttribute.run(runId, name, kind, text, number)
      }
    }
  }

  post(run: SqliteRun, { id, body }: seam.StoredMessage): boolean {
    const { changes } = this.#sql.insertMessage.run(run.head.runId, id, body)
    if (changes === 0) return false
    run.hasUnread = true
    this.hints.posted(run)
    this.hints.changed(run, this.now)
    return true
  }

  take({ head }: SqliteRun, ids: readonly string[]): void {
    for (const id of ids) this.#sql.deleteMessage.run(head.runId, id)
  }

  putNote(_run: SqliteRun, { runId, generation, key, name, body }: seam.Note): void {
    this.#sql.putNote.run(runId, generation, key, name, body)
  }

  dropNotes({ head, hasNotes }: SqliteRun): void {
    if (hasNotes) this.#sql.deleteNotes.run(head.runId)
  }

  insertTask(task: seam.NewTask, runId: string): void {
    const lane = this.#lanes.of('task', task)
    this.#sql.insertTask.run(task.taskId, runId, lane, this.now, task.body)
    this.hints.ready()
  }

  changeTask(
    task: SqliteTask,
    set: Partial<seam.LeaseState> & { at?: number; failed?: number; failure?: string },
  ): SqliteTask {
    const next = { ...task, ...set }
    const { taskId, session, nonce, epoch, deliveries, at } = next
    const { failed = null, failure = null } = set
    if (session !== 0) this.#sql.grantTask.run(session, nonce, epoch, deliveries, taskId)
    else this.#sql.changeTask.run(session, nonce, deliveries, at, failed, failure, taskId)
    if (session === 0) this.hints.ready()
    return next
  }

  dropTask(taskId: string): void {
    this.#sql.deleteTask.run(taskId)
  }

  dropTasksOf(runId: string): void {
    this.#sql.deleteTasks.run(runId)
  }

  putSession({ session, worker, beat, expiresAt, about, ttlMs, latest }: seam.SessionRow): void {
    const times = [ttlMs ?? 0, latest ?? expiresAt]
    this.#sql.putSession.run(session, worker, beat, expiresAt, about, ...times)
  }

  extendSession(session: number, latest: number): void {
    this.#sql.extendSession.run(latest, session)
  }

  dropSession(session: number): void {
    this.#sql.deleteSession.run(session)
    this.hints.ready()
  }

  putRecord({ space, key, version, writeId, body }: seam.RecordRow): void {
    this.#sql.putRecord.run(space, key, version, writeId, body)
    // A record may say what there is to do.
    this.hints.ready()
  }
}

function timesOf([session, beat, expiresAt, ttlMs, latest]: SessionValues): seam.SessionTimes {
  return { session, beat, expiresAt, ttlMs, latest }
}

function taskOf(values: TaskValues): SqliteTask {
  const [taskId, runId, at, session, epoch, nonce, deliveries, failed = 0, body = '', name = ''] = values
  return { taskId, runId, at, session, epoch, nonce, deliveries, failed, body, name }
}

function one<T>(statement: StatementSync, ...args: (string | number | null)[]): T | undefined {
  return statement.get(...args) as T | undefined
}

function all<T>(statement: StatementSync, ...args: (string | number | null)[]): T[] {
  return statement.all(...args) as unknown[] as T[]
}
