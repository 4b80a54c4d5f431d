// Rows of the SQL stores as values of the seam. SQLite and Postgres name their columns alike.
import type * as seam from '../../core/stores/driver.ts'
import { ENDED, NEVER } from '../../core/stores/driver.ts'
import { type AttributeColumns, attributesOfRows } from './attributes.ts'

export interface HeadColumns {
  readonly run_id: string
  readonly name: string
  readonly queue: string
  readonly priority: number
  readonly workflow_id: string | null
  readonly parent_id: string | null
  readonly parent_generation: number | null
  readonly parent_key: string | null
  readonly created_at: number
  readonly input: string
  readonly extras: string | null
}

export interface LeaseColumns {
  readonly session: number
  readonly epoch: number
  readonly nonce: number
  readonly deliveries: number
}

export interface ClaimedColumns extends HeadColumns, LeaseColumns {
  readonly generation: number
  readonly seq: number
  readonly turn_id: number
}

export interface SnapshotColumns extends HeadColumns {
  readonly generation: number | null
  readonly status: seam.Status
  readonly updated_at: number
  readonly closed_at: number | null
  readonly last: string | null
  readonly at: number | null
  readonly session: number | null
  readonly epoch: number | null
  readonly deliveries: number | null
  readonly parked_build: string | null
  readonly parked_failure: string | null
  readonly pin: string | null
  readonly reason: string | null
  readonly unread: number
  /** As JSON, or parsed from it. */
  readonly attributes: string | readonly NamedAttribute[] | null
  readonly items: string | readonly AttributeItem[] | null
}

type NamedAttribute = AttributeColumns & { readonly name: string }
interface AttributeItem {
  readonly name: string
  readonly text: string | null
}

export interface NoteColumns {
  readonly name: string
  readonly body: string
}

export interface TaskColumns extends LeaseColumns {
  readonly task_id: string
  readonly run_id: string
  readonly name: string
  readonly queue: string
  readonly body: string
  readonly at: number
  readonly failed: number
  readonly failure: string | null
}

export interface TurnColumns {
  readonly seq: number
  readonly count: number
  readonly turn_id: number
  readonly epoch: number
  readonly body: string
}

export interface SessionColumns {
  readonly session: number
  readonly worker: string
  readonly beat: number
  readonly expires_at: number
  readonly about: string
}

export function headOf(row: HeadColumns, generation: number): seam.StoredHead {
  const { parent_id, parent_key, parent_generation } = row
  const hasParent = parent_id !== null && parent_key !== null && parent_generation !== null
  return {
    runId: row.run_id,
    name: row.name,
    workflowId: row.workflow_id ?? row.run_id,
    queue: row.queue,
    priority: row.priority,
    generation,
    createdAt: row.created_at,
    input: row.input,
    ...(row.extras !== null && { extras: row.extras }),
    ...(hasParent && {
      parent: { runId: parent_id, generation: parent_generation, key: parent_key },
    }),
  }
}

/** The columns of a head in the order in which statements name them. */
export type HeadValues = readonly [
  runId: string,
  name: string,
  queue: string,
  priority: number,
  workflowId: string | null,
  parentId: string | null,
  parentGeneration: number | null,
  parentKey: string | null,
  createdAt: number,
  input: string,
  extras: string | null,
]

export function headOfValues(values: HeadValues, generation: number): seam.StoredHead {
  const [run_id, name, queue, priority, workflow_id, parent_id, ...more] = values
  const [parent_generation, parent_key, created_at, input, extras] = more
  const parent = { parent_id, parent_generation, parent_key }
  return headOf({ run_id, name, queue, priority, workflow_id, ...parent, created_at, input, extras }, generation)
}

export function leaseOf({ session, epoch, nonce }: LeaseColumns): seam.Lease {
  return { session, epoch, nonce }
}

export function claimedRunOf(row: ClaimedColumns, messages: readonly seam.StoredMessage[]): seam.ClaimedRun {
  return {
    head: headOf(row, row.generation),
    lease: leaseOf(row),
    deliveries: row.deliveries,
    seq: row.seq,
    turnId: row.turn_id,
    messages,
  }
}

export function claimedTaskOf(row: TaskColumns): seam.ClaimedTask {
  const { task_id: taskId, run_id: runId, name, body, failed, deliveries } = row
  return { taskId, runId, name, body, lease: leaseOf(row), failed, deliveries }
}

export function snapshotOf(row: SnapshotColumns, now: number): seam.RunSnapshot {
  const { at, session, parked_build: build, parked_failure: failure } = row
  return {
    head: headOf(row, row.generation ?? 1),
    attributes: attributesOfRows(listed(row.attributes), listed(row.items)),
    status: row.status,
    // The clock may have been set back since.
    updatedAt: Math.min(row.updated_at, now),
    epoch: row.epoch ?? 0,
    deliveries: row.deliveries ?? 0,
    unread: Number(row.unread),
    now,
    ...(row.closed_at !== null && { endedAt: Math.min(row.closed_at, now) }),
    ...(row.last !== null && { last: row.last }),
    ...(at !== null && at < NEVER && build === null && { wakeAt: at }),
    ...(session !== null && session !== 0 && { session }),
    ...(build !== null && failure !== null && { paused: { build, failure } }),
    ...(row.pin !== null && { pin: row.pin }),
    ...(row.reason !== null && { reason: row.reason }),
  }
}

function listed<Row>(given: string | readonly Row[] | null): readonly Row[] {
  return (typeof given === 'string' ? (JSON.parse(given) as Row[]) : given) ?? []
}

export function notesOf(rows: readonly NoteColumns[]): Record<string, string> {
  return Object.fromEntries(rows.map(({ name, body }) => [name, body]))
}

/** Operators of SQL by their names in a query. */
export const COMPARISONS = { eq: '=', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const

export function turnOf(row: TurnColumns): seam.StoredTurn {
  const { seq, count, turn_id: turnId, epoch, body } = row
  return { seq, count, turnId, epoch, body }
}

export function taskSnapshotOf(row: TaskColumns): seam.TaskSnapshot {
  const { task_id: taskId, name, queue, at, session, failed, deliveries, failure } = row
  return {
    taskId,
    name,
    queue,
    availableAt: at,
    failed,
    deliveries,
    ...(session !== 0 && { session }),
    ...(failure !== null && { failure }),
  }
}

export function sessionOf(row: SessionColumns): seam.SessionSnapshot {
  const { session, worker, beat, expires_at: expiresAt, about } = row
  return { session, worker, beat, expiresAt, about }
}

/** The statuses of a query that only counts runs by status and reason, by the table that has them. */
export function onlyStates(query: seam.ListQuery): { live: seam.Status[]; closed: seam.Status[] } | undefined {
  const { count, statuses, names, workflowId, createdAfter, createdBefore, attributes } = query
  if (!count || !statuses || names || attributes) return undefined
  const others = [workflowId, createdAfter, createdBefore, query.pin]
  others.push(query.workflowIdPrefix, query.parentId)
  if (others.some((other) => other !== undefined)) return undefined
  return statusesOf(statuses)
}

/** Statuses by the table that has runs with them. */
export function statusesOf(statuses: readonly seam.Status[]): {
  live: seam.Status[]
  closed: seam.Status[]
} {
  const hasEnded = (status: seam.Status): boolean => ENDED.some((each) => each === status)
  return {
    live: statuses.filter((status) => !hasEnded(status)),
    closed: statuses.filter(hasEnded),
  }
}

/** Where a page of runs ends: the instant and the id of its last run. */
export function cursorOf(row: { created_at: number; run_id: string }): string {
  return `${row.created_at}:${row.run_id}`
}

export function readCursor(cursor: string): { createdAt: number; runId: string } | undefined {
  const match = /^(\d{1,16}):([0-9a-f-]{36})$/.exec(cursor)
  return match ? { createdAt: Number(match[1]), runId: match[2] as string } : undefined
}
