// Snapshots and pages of rows in memory. Nothing here changes a row.

import { unreachable } from '../../base/assert.ts'
import { defined } from '../../base/defined.ts'
import type { Instant } from '../../base/time.ts'
import { isList } from '../../kernel/attributes.ts'
import { ENDED, type EndedStatus, type Status } from '../../kernel/status.ts'
import { comparable } from '../attributes.ts'
import { Groups } from '../groups.ts'
import type * as seam from '../store.ts'
import { compareKeys, NEVER } from '../values.ts'
import type { Due, DueIndex } from './due-index.ts'
import {
  hasEnded,
  headOf,
  position,
  type RowTurn,
  type RunRow,
  reasonOf,
  statusOf,
  type TaskRow,
  turnsOf,
} from './row.ts'
import { loadStreams } from './stream-tables.ts'
import type { Tables } from './tables.ts'

export function loadOne(tables: Tables, ask: seam.LoadAsk, now: Instant): seam.Loaded {
  switch (ask.type) {
    case 'run': {
      const row = tables.run(ask.runId)
      return { type: 'run', ...(row && { run: snapshot(row, tables.turns.get(ask.runId), now) }) }
    }
    case 'named': {
      const runId = tables.names.get(ask.workflowId)
      return { type: 'named', ...(runId !== undefined && { runId }) }
    }
    case 'history': {
      const generation = tables.run(ask.runId)?.generation ?? 1
      return { type: 'history', turns: pageOf(tables.turns.get(ask.runId) ?? [], generation, ask) }
    }
    case 'tasks': {
      const tasks = [...tables.tasksOf(ask.runId)].flatMap((id) => tables.tasks.get(id) ?? [])
      const ordered = tasks.toSorted((a, b) => compareKeys(a.taskId, b.taskId))
      return { type: 'tasks', tasks: ordered.map(taskSnapshot) }
    }
    case 'streams':
    case 'stream':
      return loadStreams(tables.run(ask.runId), tables.streams.of(ask.runId), ask)
    case 'notes':
      return { type: 'notes', notes: notesOf(tables.run(ask.runId), ask) }
    case 'sessions':
      return { type: 'sessions', now, sessions: sessionsOf(tables) }
    case 'queues':
      return { type: 'queues', now, queues: queuesOf(tables, now) }
    default:
      return unreachable(ask)
  }
}

function sessionsOf({ sessions }: Tables): seam.SessionSnapshot[] {
  return [...sessions.values()]
    .map(({ session, worker, beat, expiresAt, about }) => ({
      session,
      worker,
      beat,
      expiresAt,
      about,
    }))
    .sort((a, b) => a.session - b.session)
}

function queuesOf({ runsDue, tasksDue }: Tables, now: Instant): seam.QueueSnapshot[] {
  return [...waiting('run', runsDue, now), ...waiting('task', tasksDue, now)]
}

function waiting<Row extends Due>(
  kind: seam.QueueSnapshot['kind'],
  index: DueIndex<Row>,
  now: Instant,
): seam.QueueSnapshot[] {
  const queues = new Map<string, seam.QueueSnapshot>()
  for (const { lane, entries } of index.free()) {
    if (lane.pausedBy !== undefined) continue
    for (const { row } of entries.from()) {
      if (row.at > now) break
      const { queue } = lane
      const { due = 0, oldest = row.at } = queues.get(queue) ?? {}
      queues.set(queue, { kind, queue, due: due + 1, oldest: Math.min(oldest, row.at) })
    }
  }
  return [...queues.values()].sort((a, b) => compareKeys(a.queue, b.queue))
}

export function pageOf(
  turns: readonly RowTurn[],
  newest: number,
  ask: Omit<Extract<seam.LoadAsk, { type: 'history' }>, 'type' | 'runId'>,
): readonly seam.StoredTurn[] {
  const { generation = newest, after, before } = ask
  const found = turnsOf(turns, generation).filter(({ seq }) => seq >= after && seq < (before ?? seq + 1))
  return before === undefined ? found.slice(0, ask.turns) : found.slice(-ask.turns)
}

/** The key of a note among all notes of a run. */
export function noteKey(generation: number, key: string, name: string): string {
  return JSON.stringify([generation, key, name])
}

function notesOf(
  row: RunRow | undefined,
  ask: { readonly generation: number; readonly key: string },
): Record<string, string> {
  // From entries, because an assignment to `__proto__` would not add a property.
  return Object.fromEntries(
    Object.entries(row?.notes ?? {}).flatMap(([id, body]) => {
      const [generation, key, name] = JSON.parse(id) as [number, string, string]
      return generation === ask.generation && key === ask.key ? [[name, body]] : []
    }),
  )
}

export function listRuns(tables: Tables, query: seam.ListQuery, now: Instant): seam.Listed {
  const matching = [...tables.live.values(), ...tables.ended.values()].filter((row) => matches(row, query))
  if (query.groupBy) return { runs: [], groups: new Groups(query.groupBy, matching).largest(query.limit) }
  const found = matching.sort((a, b) => (position(a) < position(b) ? 1 : -1))
  if (query.count) return { runs: [], count: Math.min(found.length, query.countMost ?? found.length) }
  const { cursor } = query
  const rest = cursor === undefined ? found : found.filter((row) => position(row) < cursor)
  const page = rest.slice(0, query.limit)
  const last = page.at(-1)
  const more = rest.length > page.length && last ? { cursor: position(last) } : {}
  return { runs: page.map((row) => snapshot(row, tables.turns.get(row.head.runId), now)), ...more }
}

/** Runs that have ended, oldest first. */
export function endedRuns(tables: Tables, query: seam.EndedQuery, now: Instant): seam.EndedPage {
  const { minAgeMs, limit, cursor = '' } = query
  const behind = [...tables.live.values(), ...tables.ended.values()]
    .filter((row) => row.head.createdAt <= now - minAgeMs && position(row) > cursor)
    .sort((a, b) => (position(a) < position(b) ? -1 : 1))
  const seen = behind.slice(0, limit)
  const runs = seen.flatMap(({ head: { runId, name }, status, endedAt }) => {
    return endedAt === undefined ? [] : [{ runId, name, status: status as EndedStatus, endedAt }]
  })
  const last = seen.at(-1)
  const hasMore = behind.length > seen.length && last
  return { now, runs, ...(hasMore && { next: { cursor: position(last), createdAt: last.head.createdAt } }) }
}

export function matches(row: RunRow, query: seam.ListQuery): boolean {
  const { names, statuses, workflowId, workflowIdPrefix, parentId, createdAfter, createdBefore } = query
  const { head } = row
  if (names && !names.includes(head.name)) return false
  if (statuses && !(statuses.includes(statusOf(row)) && !isArriving(row))) return false
  if (workflowId !== undefined && head.workflowId !== workflowId) return false
  if (workflowIdPrefix !== undefined && !hasPrefix(head, workflowIdPrefix)) return false
  if (parentId !== undefined && head.parent?.runId !== parentId) return false
  if (query.reason !== undefined && !isReason(query.reason, reasonOf(row))) return false
  if (query.pin !== undefined && row.pin !== query.pin) return false
  if (createdAfter !== undefined && head.createdAt < createdAfter) return false
  if (createdBefore !== undefined && head.createdAt >= createdBefore) return false
  return holdAll(row.attributes ?? {}, query.attributes ?? [])
}

/** A run that has ended elsewhere is in progress here until all of it has arrived, and no status finds it. */
function isArriving(row: RunRow): boolean {
  return !hasEnded(row) && (ENDED as readonly Status[]).includes(row.status)
}

export function hasPrefix(
  { runId, workflowId }: Pick<seam.StoredHead, 'runId' | 'workflowId'>,
  prefix: string,
): boolean {
  return workflowId !== runId && workflowId.startsWith(prefix)
}

export function isReason(wanted: string, reason: string | undefined): boolean {
  return wanted.endsWith(':') ? reason?.startsWith(wanted) === true : reason === wanted
}

export function holdAll(attributes: seam.Attributes, tests: readonly seam.AttributeTest[]): boolean {
  return tests.every((test) => {
    const has = Object.hasOwn(attributes, test.name) ? attributes[test.name] : undefined
    return has !== undefined && holds(has, test)
  })
}

function holds(has: seam.AttributeValue, { is, value }: seam.AttributeTest): boolean {
  if (isList(has)) return is === 'eq' && typeof value === 'string' && has.includes(value)
  const [kind, mine] = comparable(has)
  const [wanted, other] = comparable(value)
  if (kind !== wanted) return false
  switch (is) {
    case 'eq':
      return mine === other
    case 'gt':
      return mine > other
    case 'gte':
      return mine >= other
    case 'lt':
      return mine < other
    case 'lte':
      return mine <= other
    default:
      return unreachable(is)
  }
}

export function snapshot(row: RunRow, turns: readonly RowTurn[] | undefined, now: Instant): seam.RunSnapshot {
  const { updatedAt, endedAt, session, epoch, deliveries, paused, inbox, pin } = row
  const last = endedAt === undefined ? undefined : turns?.at(-1)?.body
  return defined({
    head: headOf(row),
    attributes: row.attributes ?? {},
    status: statusOf(row),
    // The clock may have been set back since.
    updatedAt: Math.min(updatedAt, now),
    epoch: endedAt === undefined ? epoch : 0,
    deliveries,
    unread: inbox.length,
    now,
    endedAt: endedAt === undefined ? undefined : Math.min(endedAt, now),
    last,
    wakeAt: row.at < NEVER && !paused ? row.at : undefined,
    session: session === 0 ? undefined : session,
    paused,
    pin,
    reason: reasonOf(row),
  })
}

function taskSnapshot(task: TaskRow): seam.TaskSnapshot {
  const { taskId, name, queue, at: availableAt, failed, deliveries, failure } = task
  const session = task.session === 0 ? undefined : task.session
  return defined({ taskId, name, queue, availableAt, failed, deliveries, session, failure })
}
