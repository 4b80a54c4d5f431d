// Runs that have ended, packed into objects that never change. A segment's first line is its index; every further
// line is one run with all its turns, found by its place.
import { PawlError } from '../../kernel/errors.ts'
import type { Instant } from '../../kernel/event.ts'
import type { RowTurn, RunRow } from '../rows/row.ts'
import type { Attributes } from '../store.ts'

/** What everybody knows of a segment without reading it. */
export interface Segment {
  readonly key: string
  /** Bytes of the first line. */
  readonly index: number
  readonly runs: number
  /** How often it was merged. */
  readonly level: number
  /** The span of ids that are sorted by time, and whether there are others. */
  readonly ids?: readonly [string, string]
  readonly others: boolean
  readonly endedTo: Instant
  /** Runs by workflow and status, as JSON pairs. */
  readonly counts: Readonly<Record<string, number>>
}

export interface ArchiveState {
  /** Runs that ended in log objects up to this one are in the segments, and nowhere else. */
  readonly upTo: number
  readonly segments: readonly Segment[]
}

/** From one state of the archive to the next. */
export interface ArchiveChange {
  readonly from: number
  readonly upTo: number
  readonly dropped: readonly string[]
  readonly added: readonly Segment[]
}

/** A change that somebody wants. Its segments may be swept away as nobody's if it comes too late. */
export interface ArchiveWish extends ArchiveChange {
  readonly until: Instant
  /** Runs that leave memory by it. */
  readonly packed: readonly string[]
}

export const emptyArchive: ArchiveState = { upTo: 0, segments: [] }

export function changedArchive(state: ArchiveState, change: ArchiveChange): ArchiveState {
  const kept = state.segments.filter(({ key }) => !change.dropped.includes(key))
  return { upTo: change.upTo, segments: [...kept, ...change.added] }
}

/** Whether a change still fits: nobody was faster. */
function fits(state: ArchiveState, change: ArchiveChange): boolean {
  const keys = new Set(state.segments.map(({ key }) => key))
  return state.upTo === change.from && change.dropped.every((key) => keys.has(key))
}

/** The first of these changes that can still be made. All runs that leave memory by it must rest. */
export function firstFitting(
  wishes: readonly ArchiveWish[],
  state: ArchiveState,
  now: Instant,
  rests: (runId: string, upTo: number) => boolean,
): ArchiveChange | undefined {
  const wish = wishes
    .filter((each) => each.until > now && fits(state, each))
    .find(({ packed, upTo }) => packed.every((runId) => rests(runId, upTo)))
  if (!wish) return undefined
  const { until: _, packed: __, ...change } = wish
  return change
}

export interface EndedRun {
  readonly row: RunRow
  readonly turns: readonly RowTurn[]
}

/** Column by column, one entry per run, in the order of the lines. */
export interface SegmentIndex {
  readonly ids: readonly string[]
  readonly workflowIds: readonly string[]
  readonly names: readonly string[]
  readonly statuses: readonly RunRow['status'][]
  readonly created: readonly Instant[]
  /** Both are absent if no run has any. */
  readonly attributes?: readonly (Attributes | null)[]
  readonly pins?: readonly (string | null)[]
  /** Where each line ends, in bytes behind the index; it begins where the one before ended. */
  readonly ends: readonly number[]
}

export function encodeSegment(
  key: string,
  runs: readonly EndedRun[],
  level: number,
): { segment: Segment; body: string } {
  const lines = runs.map((run) => `${JSON.stringify(run)}\n`)
  let end = 0
  const rows = runs.map(({ row }) => row)
  const index: SegmentIndex = {
    ids: rows.map(({ head }) => head.runId),
    workflowIds: rows.map(({ head }) => head.workflowId),
    names: rows.map(({ head }) => head.name),
    statuses: rows.map(({ status }) => status),
    created: rows.map(({ head }) => head.createdAt),
    ...(rows.some(({ attributes }) => attributes) && {
      attributes: rows.map(({ attributes }) => attributes ?? null),
    }),
    ...(rows.some(({ pin }) => pin !== undefined) && { pins: rows.map(({ pin }) => pin ?? null) }),
    ends: lines.map((line) => (end += Buffer.byteLength(line))),
  }
  const head = `${JSON.stringify(index)}\n`
  const sorted = index.ids.filter(isSortedByTime).toSorted()
  const [first, last] = [sorted[0], sorted.at(-1)]
  const segment: Segment = {
    key,
    index: Buffer.byteLength(head),
    runs: runs.length,
    level,
    ...(first !== undefined && last !== undefined && { ids: [first, last] as const }),
    others: sorted.length < runs.length,
    endedTo: Math.max(...rows.map(({ endedAt }) => endedAt ?? 0)),
    counts: countsOf(rows),
  }
  return { segment, body: head + lines.join('') }
}

export function decodeRun(key: string, line: string): EndedRun {
  try {
    return JSON.parse(line) as EndedRun
  } catch (error) {
    throw new PawlError('STORE_UNSUITABLE', `a line of ${key} is not readable: ${String(error)}`)
  }
}

/** Whether the run could be in the segment, as far as that is known without reading it. */
export function mayHold({ ids, others }: Segment, runId: string): boolean {
  if (!isSortedByTime(runId)) return others
  return ids !== undefined && ids[0] <= runId && runId <= ids[1]
}

export function countKey(name: string, status: string): string {
  return JSON.stringify([name, status])
}

function countsOf(rows: readonly RunRow[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { head, status } of rows) {
    const key = countKey(head.name, status)
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

/** Ids of version 7 begin with the time they were made at. Derived ones are spread over the whole space. */
function isSortedByTime(runId: string): boolean {
  return runId[14] === '7'
}
