// What was asked of `load`, as values of a statement, and its rows as the answer. Histories are read in pages, by each
// database in its own way.
import { unreachable } from '../../core/base/assert.ts'
import type { LoadAsk, Loaded } from '../../core/stores/driver.ts'
import {
  type NoteColumns,
  notesOf,
  type SessionColumns,
  type SnapshotColumns,
  sessionOf,
  snapshotOf,
  type TaskColumns,
  taskSnapshotOf,
} from './rows.ts'

export type PlainAsk = Exclude<LoadAsk, { type: 'history' }>

export function valuesOf(ask: PlainAsk): (string | number)[] {
  switch (ask.type) {
    case 'run':
    case 'tasks':
      return [ask.runId]
    case 'named':
      return [ask.workflowId]
    case 'notes':
      return [ask.runId, ask.generation, ask.key]
    case 'sessions':
      return []
    default:
      return unreachable(ask)
  }
}

export function loadedOf({ type }: PlainAsk, rows: readonly unknown[], now: number): Loaded {
  switch (type) {
    case 'run': {
      const [row] = rows as SnapshotColumns[]
      return { type, ...(row && { run: snapshotOf(row, now) }) }
    }
    case 'named': {
      const [row] = rows as { run_id: string | null }[]
      return { type, ...(row?.run_id && { runId: row.run_id }) }
    }
    case 'tasks':
      return { type, tasks: (rows as TaskColumns[]).map(taskSnapshotOf) }
    case 'notes':
      return { type, notes: notesOf(rows as NoteColumns[]) }
    case 'sessions':
      return { type, now, sessions: (rows as SessionColumns[]).map(sessionOf) }
    default:
      return unreachable(type)
  }
}
