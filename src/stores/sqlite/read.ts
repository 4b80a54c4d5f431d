// The reading half of the SQLite store. Nothing here writes.
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { unreachable } from '../../core/base/assert.ts'
import { limits } from '../../core/base/limits.ts'
import {
  type HistoryPage,
  type Listed,
  type ListQuery,
  type LoadAsk,
  type Loaded,
  type RunSnapshot,
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
import { RunLister, type Slice } from './list.ts'
import type { Statements } from './statements.ts'

export class SqliteReader {
  readonly #database: DatabaseSync
  readonly #sql: Statements

  readonly #version: StatementSync

  constructor(database: DatabaseSync, sql: Statements) {
    this.#database = database
    this.#sql = sql
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

  #generation(runId: string): number {
    const row = this.#sql.generation.get(runId) as { generation: number } | undefined
    return row?.generation ?? 1
  }

  #snapshot(runId: string, now: number): RunSnapshot | undefined {
    const row = this.#sql.snapshot.get(runId) as unknown
    return row === undefined ? undefined : snapshotOf(row as SnapshotColumns, now)
  }
}
