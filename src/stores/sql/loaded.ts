// What was asked of `load`, as values of a statement, and its rows as the answer. Histories are read in pages, by each
// database in its own way.
import { unreachable } from '../../core/base/assert.ts'
import { compareKeys, type LoadAsk, type Loaded, type QueueSnapshot } from '../../core/stores/driver.ts'
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

/** `now` is the store's time, for what is due. */
export function valuesOf(ask: PlainAsk, now = 0): (string | number)[] {
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
    case 'queues':
      return [now, now]
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
    case 'queues':
      return { type, now, queues: (rows as QueueSnapshot[]).map(queueOf).sort(compareQueues) }
    default:
      return unreachable(type)
  }
}

function queueOf({ kind, queue, due, oldest }: QueueSnapshot): QueueSnapshot {
  return { kind, queue, due: Number(due), oldest: Number(oldest) }
}

function compareQueues(a: QueueSnapshot, b: QueueSnapshot): number {
  return compareKeys(a.kind, b.kind) || compareKeys(a.queue, b.queue)
}
