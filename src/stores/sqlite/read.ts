// The reading half of the SQLite store. Nothing here writes.
import type { DatabaseSync } from 'node:sqlite'
import { unreachable } from '../../kernel/assert.ts'
import { PawlError } from '../../kernel/errors.ts'
import { limits } from '../../kernel/limits.ts'
import type { Status } from '../../kernel/run.ts'
import { attributeColumns } from '../attributes.ts'
import { isLate, lateAt } from '../lateness.ts'
import {
  COMPARISONS,
  cursorOf,
  type NoteColumns,
  notesOf,
  onlyStatuses,
  readCursor,
  type SessionColumns,
  type SnapshotColumns,
  sessionOf,
  snapshotOf,
  type TaskColumns,
  type TurnColumns,
  taskSnapshotOf,
  turnOf,
} from '../sql-rows.ts'
import type {
  Claimed,
  ClaimRequest,
  LateSession,
  Listed,
  ListQuery,
  LoadAsk,
  Loaded,
  RecordOperation,
  RecordOutcome,
  RunSnapshot,
  StoredMessage,
} from '../store.ts'
import { type Mine, mineOf } from './pins.ts'
import { operate } from './records.ts'
import { SNAPSHOT, STATUS, type Statements, statements } from './statements.ts'

type Lanes = { readonly runs: readonly number[]; readonly tasks: readonly number[] }
type At = { readonly at: number | null } | undefined
type NextRun = { readonly at: number; readonly mine: number }

type Other = LateSession & { readonly expiresAt: number }

export class SqliteReader {
  readonly #database: DatabaseSync
  readonly #sql: Statements

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#sql = statements(database)
  }

  load(ask: LoadAsk, now: number): Loaded {
    switch (ask.type) {
      case 'run': {
        const run = this.#snapshot(ask.runId, now)
        return { type: 'run', ...(run && { run }) }
      }
      case 'named': {
        const named = this.#sql.newest.get(ask.workflowId) as { run_id: string } | undefined
        return { type: 'named', ...(named && { runId: named.run_id }) }
      }
      case 'history': {
        const rows = this.#sql.history.all(
          ...[ask.runId, ask.after, ask.turns, ask.generation ?? this.#generation(ask.runId)],
        ) as unknown
        return { type: 'history', turns: (rows as TurnColumns[]).map(turnOf) }
      }
      case 'tasks': {
        const rows = this.#sql.tasksOfRun.all(ask.runId) as unknown
        return { type: 'tasks', tasks: (rows as TaskColumns[]).map(taskSnapshotOf) }
      }
      case 'notes': {
        const rows = this.#sql.notes.all(ask.runId, ask.generation, ask.key) as unknown
        return { type: 'notes', notes: notesOf(rows as NoteColumns[]) }
      }
      case 'sessions': {
        const rows = this.#sql.sessions.all() as unknown
        return { type: 'sessions', now, sessions: (rows as SessionColumns[]).map(sessionOf) }
      }
      default:
        return unreachable(ask)
    }
  }

  list(query: ListQuery, now: number): Listed {
    const simple = onlyStatuses(query)
    if (simple) return { runs: [], count: this.#count(simple) }
    const { where, values } = conditions(query)
    if (query.count) {
      const text = `select count(*) as count from (${SNAPSHOT} where ${where})`
      const { count } = this.#database.prepare(text).get(...values) as { count: number }
      return { runs: [], count }
    }
    const text = `${SNAPSHOT} where ${where} order by run.created_at desc, run.run_id desc limit ?`
    const rows = this.#database.prepare(text).all(...values, query.limit + 1) as unknown
    const found = rows as SnapshotColumns[]
    const page = found.slice(0, query.limit)
    const last = page.at(-1)
    const more = found.length > page.length && last ? { cursor: cursorOf(last) } : {}
    return { runs: page.map((row) => snapshotOf(row, now)), ...more }
  }

  #count({ live, closed }: { live: Status[]; closed: Status[] }): number {
    const open = this.#sql.countLive.get(JSON.stringify(live)) as { count: number }
    if (closed.length === 0) return open.count
    const ended = this.#sql.countClosed.get(JSON.stringify(closed)) as { count: number }
    return open.count + ended.count
  }

  /** Whether a claim would find anything, so that an idle worker does not need to write to be told no. */
  isAnythingDue(request: ClaimRequest, lanes: Lanes, now: number): boolean {
    const { runs, tasks, build } = request
    if (request.reconcile) return true
    if (!this.#sql.session.get(request.session)) return true
    if (request.silent.length > 0) return true
    const asked = { ...mineOf(request), build }
    const due = (lane: number): unknown => this.#sql.anyDueRun.get({ ...asked, lane, now })
    const parked = (lane: number): unknown => this.#sql.anyParked.get({ ...asked, lane })
    if (runs > 0 && lanes.runs.some((lane) => due(lane) || parked(lane))) return true
    if (runs > 0 && request.suspects > 0 && lanes.runs.some((lane) => due(-lane))) return true
    return tasks > 0 && lanes.tasks.some((lane) => this.#sql.anyDueTask.get(lane, now))
  }

  outlook(
    request: ClaimRequest,
    lanes: Lanes,
    now: number,
  ): Pick<Claimed, 'nextDue' | 'suspects' | 'news' | 'late'> {
    const mine = mineOf(request)
    const asked = { ...mine, build: request.build, now }
    const suspects = lanes.runs.some((lane) => this.#sql.anyDueRun.get({ ...asked, lane: -lane }))
    const others = this.#others(request)
    const late = others.filter((each) => isLate(each, now)).slice(0, limits.lateSessionsMax)
    const times = [
      ...lanes.runs.map((lane) => this.#nextRun(mine, lane, now)),
      ...lanes.tasks.map((lane) => this.#sql.nextTask.get(lane, now) as At),
    ]
    const next = Math.min(
      ...times.map((time) => time?.at ?? Number.POSITIVE_INFINITY),
      ...others.map((each) => lateAt(each, now)).filter((at) => at > now),
    )
    return {
      news: this.#news(request),
      ...(suspects && { suspects: true as const }),
      ...(late.length > 0 && {
        late: late.map(({ session, beat, ttlMs }) => ({ session, beat, ttlMs })),
      }),
      ...(Number.isFinite(next) && { nextDue: next }),
    }
  }

  // Nearly always the first that is found. Others' are passed by, but not a million of them at every claim: when the last of
  // those that were looked at is due, one looks again.
  #nextRun(mine: Mine, lane: number, now: number): At {
    const look = (limit: number): NextRun[] =>
      this.#sql.nextRuns.all({ ...mine, lane, now, limit }) as unknown as NextRun[]
    const [first] = look(1)
    if (!first || first.mine) return first
    const many = look(limits.runsPassedMax)
    const last = many.length < limits.runsPassedMax ? undefined : many.at(-1)
    return many.find((run) => run.mine) ?? last
  }

  #others({ session }: ClaimRequest): Other[] {
    return this.#sql.otherSessions.all(session) as unknown as Other[]
  }

  operate(operation: RecordOperation): RecordOutcome {
    return operate(this.#sql, operation)
  }

  dataVersion(): number {
    return (this.#database.prepare('pragma data_version').get() as { data_version: number })
      .data_version
  }

  #news(request: ClaimRequest): Claimed['news'] {
    return request.held
      .filter(
        (runId) =>
          (this.#sql.live.get(runId) as { session: number } | undefined)?.session ===
          request.session,
      )
      .map((runId) => ({
        runId,
        messages: this.#sql.inbox.all(runId) as unknown as StoredMessage[],
      }))
      .filter(({ messages }) => messages.length > 0)
  }

  #generation(runId: string): number {
    const row = this.#sql.atRest.get(runId) as { generation: number } | undefined
    return row?.generation ?? 1
  }

  #snapshot(runId: string, now: number): RunSnapshot | undefined {
    const row = this.#sql.snapshot.get(runId) as unknown
    return row === undefined ? undefined : snapshotOf(row as SnapshotColumns, now)
  }
}

function conditions(query: ListQuery): { where: string; values: (string | number)[] } {
  const { names, statuses, workflowId, createdAfter, createdBefore, cursor } = query
  const parts = ['true']
  const values: (string | number)[] = []
  const add = (part: string, ...more: (string | number)[]): void => {
    parts.push(part)
    values.push(...more)
  }
  if (names) add('l.name in (select value from json_each(?))', JSON.stringify(names))
  if (statuses) addStatuses(statuses, add)
  if (workflowId !== undefined) {
    add(
      '(run.workflow_id = ? or (run.workflow_id is null and run.run_id = ?))',
      workflowId,
      workflowId,
    )
  }
  if (query.pin !== undefined) add('coalesce(live.pin, closed.pin) = ?', query.pin)
  if (createdAfter !== undefined) add('run.created_at >= ?', createdAfter)
  if (createdBefore !== undefined) add('run.created_at < ?', createdBefore)
  for (const { name, is, value } of query.attributes ?? []) {
    const { kind, text, number } = attributeColumns(value)
    const [column, other] = text === null ? ['number', number ?? 0] : ['text', text]
    const test = `a.name = ? and a.kind = ? and a.${column} ${COMPARISONS[is]} ?`
    add(`run.run_id in (select a.run_id from attribute a where ${test})`, name, kind, other)
  }
  if (cursor !== undefined) {
    const { createdAt, runId } = placeOf(cursor)
    add('(run.created_at, run.run_id) < (?, ?)', createdAt, runId)
  }
  return { where: parts.join(' and '), values }
}

function addStatuses(
  statuses: readonly Status[],
  add: (part: string, ...values: (string | number)[]) => void,
): void {
  add(`${STATUS} in (select value from json_each(?))`, JSON.stringify(statuses))
}

export function placeOf(cursor: string): { createdAt: number; runId: string } {
  const place = readCursor(cursor)
  if (place) return place
  throw new PawlError(
    'INPUT_INVALID',
    'the cursor is not one that list gave. Leave it out to begin at the newest run.',
  )
}
