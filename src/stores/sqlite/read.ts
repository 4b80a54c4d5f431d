// The reading half of the SQLite store. Nothing here writes.
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { unreachable } from '../../core/base/assert.ts'
import { limits } from '../../core/base/limits.ts'
import {
  type Claimed,
  type ClaimRequest,
  type HistoryPage,
  isLate,
  type LateSession,
  type Listed,
  type ListQuery,
  type LoadAsk,
  type Loaded,
  lateAt,
  type RecordOperation,
  type RecordOutcome,
  type RunSnapshot,
  type StoredMessage,
  type StoredTurn,
} from '../../core/stores/driver.ts'
import {
  type NoteColumns,
  notesOf,
  type SessionColumns,
  type SnapshotColumns,
  sessionOf,
  snapshotOf,
  type TaskColumns,
  type TurnColumns,
  taskSnapshotOf,
  turnOf,
} from '../sql/rows.ts'
import { DueRuns, earliest } from './due.ts'
import type { Lanes } from './lanes.ts'
import { RunLister, type Slice } from './list.ts'
import { operate } from './records.ts'
import { type Statements, statements } from './statements.ts'

type At = { readonly at: number | null }
type Other = LateSession & { readonly expiresAt: number }

export class SqliteReader {
  readonly #database: DatabaseSync
  readonly #sql: Statements

  readonly #version: StatementSync

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#sql = statements(database)
    this.#version = database.prepare('pragma data_version')
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
        const generation = ask.generation ?? this.#generation(ask.runId)
        return { type: 'history', ...this.#page(ask.runId, generation, ask.after, ask.turns) }
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

  list(query: ListQuery, slice: Slice): Promise<Listed> {
    return new RunLister(this.#database, query, slice).list()
  }

  /** Whether a claim would find anything, so that an idle worker does not need to write to be told no. */
  isAnythingDue(request: ClaimRequest, lanes: Lanes, now: number): boolean {
    if (request.reconcile) return true
    if (!this.#sql.session.get(request.session)) return true
    if (request.silent.length > 0) return true
    if (request.runs > 0 && this.#isAnyRunDue(request, lanes.served('run', request), now))
      return true
    const asked = { lanes: JSON.stringify(lanes.served('task', request)), now }
    return request.tasks > 0 && this.#sql.dueTaskLanes.get(asked) !== undefined
  }

  #isAnyRunDue(request: ClaimRequest, lanes: readonly number[], now: number): boolean {
    const runs = new DueRuns(this.#sql, request)
    if (runs.lanes(lanes, now).length > 0 || runs.parkedLanes(lanes).length > 0) return true
    return request.suspects > 0 && runs.lanes(suspect(lanes), now).length > 0
  }

  outlook(
    request: ClaimRequest,
    lanes: Lanes,
    now: number,
  ): Pick<Claimed, 'nextDue' | 'suspects' | 'news' | 'late'> {
    const runs = new DueRuns(this.#sql, request)
    const served = lanes.served('run', request)
    const suspects = runs.lanes(suspect(served), now).length > 0
    const others = this.#others(request)
    const late = others.filter((each) => isLate(each, now)).slice(0, limits.lateSessionsMax)
    const asked = { lanes: JSON.stringify(lanes.served('task', request)), now }
    const task = this.#sql.nextTask.get(asked) as At
    const nextDue = earliest([
      runs.next(served, now),
      task.at ?? undefined,
      ...others.map((each) => lateAt(each, now)).filter((at) => at > now),
    ])
    return {
      news: this.#news(request),
      ...(suspects && { suspects: true as const }),
      ...(late.length > 0 && {
        late: late.map(({ session, beat, ttlMs }) => ({ session, beat, ttlMs })),
      }),
      ...(nextDue !== undefined && { nextDue }),
    }
  }

  #others({ session }: ClaimRequest): Other[] {
    return this.#sql.otherSessions.all(session) as unknown as Other[]
  }

  operate(operation: RecordOperation): RecordOutcome {
    return operate(this.#sql, operation)
  }

  dataVersion(): number {
    return (this.#version.get() as { data_version: number }).data_version
  }

  #page(runId: string, generation: number, after: number, most: number): HistoryPage {
    const turns: StoredTurn[] = []
    let bytes = 0
    for (const row of this.#sql.history.iterate(runId, after, most, generation)) {
      const turn = turnOf(row as unknown as TurnColumns)
      turns.push(turn)
      bytes += turn.body.length
      if (bytes >= limits.historyPageBytes) return { turns, more: true }
    }
    return { turns }
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

/** Runs whose holder died wait in a lane of their own. */
function suspect(lanes: readonly number[]): number[] {
  return lanes.map((lane) => -lane)
}
