// What was asked of `load`, as values of a statement, and its rows as the answer. Histories are read in pages, by each
// database in its own way.
import { unreachable } from '../../core/base/assert.ts'
import {
  compareKeys,
  type EndedPage,
  type EndedQuery,
  type EndedStatus,
  type LoadAsk,
  type Loaded,
  type QueueSnapshot,
} from '../../core/stores/driver.ts'
import { placeOf } from './conditions.ts'
import {
  cursorOf,
  type NoteColumns,
  notesOf,
  type SessionColumns,
  type SnapshotColumns,
  sessionOf,
  snapshotOf,
  type TaskColumns,
  taskSnapshotOf,
} from './rows.ts'
import { streamsOf } from './streams.ts'

export type PlainAsk = Exclude<LoadAsk, { type: 'history' | 'stream' }>

/** `now` is the store's time, for what is due. */
export function valuesOf(ask: PlainAsk, now = 0): (string | number)[] {
  switch (ask.type) {
    case 'run':
    case 'tasks':
    case 'streams':
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
    case 'streams': {
      const streams = streamsOf(rows as Parameters<typeof streamsOf>[0])
      return { type, ...(streams && { streams }) }
    }
    case 'sessions':
      return { type, now, sessions: (rows as SessionColumns[]).map(sessionOf) }
    case 'queues':
      return { type, now, queues: (rows as QueueSnapshot[]).map(queueOf).sort(compareQueues) }
    default:
      return unreachable(type)
  }
}

interface EndedColumns {
  readonly run_id: string
  readonly created_at: number
  readonly name: string
  readonly status: EndedStatus | null
  readonly closed_at: number | null
}

const FIRST = '0:00000000-0000-0000-0000-000000000000'

export function endedValues({ minAgeMs, limit, cursor = FIRST }: EndedQuery, now: number): (string | number)[] {
  return [...placeOf(cursor), now - minAgeMs, limit]
}

export function endedPage(rows: readonly unknown[], { limit }: EndedQuery, now: number): EndedPage {
  const seen = rows as EndedColumns[]
  const runs = seen.flatMap(({ run_id: runId, name, status, closed_at: endedAt }) => {
    return status === null || endedAt === null ? [] : [{ runId, name, status, endedAt: Number(endedAt) }]
  })
  const last = seen.at(-1)
  const next = last && { cursor: cursorOf(last), createdAt: Number(last.created_at) }
  return { now, runs, ...(seen.length === limit && next && { next }) }
}

function queueOf({ kind, queue, due, oldest }: QueueSnapshot): QueueSnapshot {
  return { kind, queue, due: Number(due), oldest: Number(oldest) }
}

function compareQueues(a: QueueSnapshot, b: QueueSnapshot): number {
  return compareKeys(a.kind, b.kind) || compareKeys(a.queue, b.queue)
}
