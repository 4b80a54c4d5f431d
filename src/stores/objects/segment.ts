// Segments: ended runs in objects that never change. The first line is a filter, which tells the ids and names that are
// certainly not in the segment; some segments have none. Then comes the index. Every further line is one run with all
// its turns, found by its position.
import type { Instant } from '../../core/base/time.ts'
import type { Attributes, RowTurn, RunRow, StreamChange } from '../../core/stores/driver.ts'
import { Bloom } from './bloom.ts'
import { damagedObject } from './errors.ts'

/** A segment in the list that every process has in memory. */
export interface Segment {
  readonly key: string
  /** Bytes of the filter; 0 if it would be empty. Absent for segments of older releases, which have no filter. */
  readonly filter?: number
  /** Bytes of the index. */
  readonly index: number
  /** Bytes of the whole segment. Absent for segments of older releases. */
  readonly bytes?: number
  readonly runs: number
  /** How often its runs were merged. */
  readonly level: number
  /** The range of run ids that are sorted by time, and whether there are other ids. */
  readonly ids?: readonly [string, string]
  readonly others: boolean
  /** The range of those other ids that seem to begin with a time as well. */
  readonly near?: readonly [string, string]
  readonly endedTo: Instant
  /** The number of runs by workflow and status; the keys are pairs in JSON. */
  readonly counts: Readonly<Record<string, number>>
}

export interface ArchiveState {
  /** Runs that ended in log objects up to this number are in segments only. */
  readonly upTo: number
  readonly segments: readonly Segment[]
}

/** Changes one state of the archive into the next. */
export interface ArchiveChange {
  readonly from: number
  readonly upTo: number
  readonly dropped: readonly string[]
  readonly added: readonly Segment[]
}

/** A change that is written if it still fits. After `until`, a sweep may delete its segments as orphans. */
export interface ArchiveProposal extends ArchiveChange {
  readonly until: Instant
  /** Runs that leave memory with this change. */
  readonly packed: readonly string[]
}

export const emptyArchive: ArchiveState = { upTo: 0, segments: [] }

export function changedArchive(state: ArchiveState, change: ArchiveChange): ArchiveState {
  const kept = state.segments.filter(({ key }) => !change.dropped.includes(key))
  return { upTo: change.upTo, segments: [...kept, ...change.added] }
}

/** True if no other process has changed the archive since the change was proposed. */
function fits(state: ArchiveState, change: ArchiveChange): boolean {
  const keys = new Set(state.segments.map(({ key }) => key))
  return state.upTo === change.from && change.dropped.every((key) => keys.has(key))
}

/** Returns the first proposal that still fits. All runs that leave memory with it must still have ended. */
export function firstFitting(
  proposals: readonly ArchiveProposal[],
  state: ArchiveState,
  now: Instant,
  hasEnded: (runId: string, upTo: number) => boolean,
): ArchiveChange | undefined {
  const proposal = proposals
    .filter((each) => each.until > now && fits(state, each))
    .find(({ packed, upTo }) => packed.every((runId) => hasEnded(runId, upTo)))
  if (!proposal) return undefined
  const { until: _, packed: __, ...change } = proposal
  return change
}

export interface EndedRun {
  readonly row: RunRow
  readonly turns: readonly RowTurn[]
  readonly streams?: readonly StreamChange[]
  /** Set if it was not the newest run of its workflow id when it left memory. */
  readonly older?: true
}

/** Columns with one entry per run, in the order of the lines. */
export interface SegmentIndex {
  readonly ids: readonly string[]
  readonly workflowIds: readonly string[]
  readonly names: readonly string[]
  readonly statuses: readonly RunRow['status'][]
  readonly created: readonly Instant[]
  /** Each of these columns is absent if no run has a value. */
  readonly attributes?: readonly (Attributes | null)[]
  readonly pins?: readonly (string | null)[]
  readonly older?: readonly boolean[]
  /** Of each run its parent and its reason. Only segments of older releases have no such columns. */
  readonly parents?: readonly (string | null)[]
  readonly reasons?: readonly (string | null)[]
  /** Where each line ends, in bytes after the index. A line begins where the one before ends. */
  readonly ends: readonly number[]
}

/** `isFiltered` is false only to check a segment of an older release. */
export function encodeSegment(
  key: string,
  runs: readonly EndedRun[],
  level: number,
  isFiltered = true,
): { segment: Segment; head: string; body: string } {
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
    ...(runs.some(({ older }) => older) && { older: runs.map(({ older = false }) => older) }),
    parents: rows.map(({ head }) => head.parent?.runId ?? null),
    reasons: rows.map(({ reason }) => reason ?? null),
    ends: lines.map((line) => (end += Buffer.byteLength(line))),
  }
  const head = `${JSON.stringify(index)}\n`
  const filter = isFiltered ? filterOf(index) : ''
  const [ids, near] = [isSortedByTime, isNearTime].map((test) => spanOf(index.ids.filter(test)))
  const sizes = { filter: filter.length, bytes: filter.length + Buffer.byteLength(head) + end }
  const segment: Segment = {
    key,
    index: Buffer.byteLength(head),
    runs: runs.length,
    level,
    ...(ids && { ids }),
    others: !index.ids.every(isSortedByTime),
    endedTo: Math.max(...rows.map(({ endedAt }) => endedAt ?? 0)),
    counts: countsOf(rows),
    ...(isFiltered && { ...sizes, ...(near && { near }) }),
  }
  return { segment, head, body: filter + head + lines.join('') }
}

// The filter leaves out ids sorted by time, which ranges find, and workflow ids that equal the run id.
function filterOf({ ids, workflowIds }: SegmentIndex): string {
  const texts = ids.filter((id) => !isSortedByTime(id)).map(filteredId)
  for (const [line, workflowId] of workflowIds.entries()) {
    if (workflowId !== ids[line]) texts.push(filteredName(workflowId))
  }
  return texts.length === 0 ? '' : `${JSON.stringify(Bloom.of(texts).encode())}\n`
}

export function decodeFilter(line: string): Bloom {
  return Bloom.decode(JSON.parse(line) as string)
}

/** The texts by which a filter knows run ids and workflow ids. */
export function filteredId(runId: string): string {
  return `run ${runId}`
}
export function filteredName(workflowId: string): string {
  return `name ${workflowId}`
}

function spanOf(ids: readonly string[]): readonly [string, string] | undefined {
  const sorted = ids.toSorted()
  const [first, last] = [sorted[0], sorted.at(-1)]
  return first === undefined || last === undefined ? undefined : [first, last]
}

/** Splits a segment into its index and the lines of its runs. */
export function linesIn({ filter = 0 }: Segment, body: string): { index: string; runs: string[] } {
  const lines = body.split('\n').filter((line) => line !== '')
  const [index = '', ...runs] = filter > 0 ? lines.slice(1) : lines
  return { index, runs }
}

export function decodeRun(key: string, line: string): EndedRun {
  try {
    return JSON.parse(line) as EndedRun
  } catch (error) {
    throw damagedObject(key, `has a line that is not readable: ${String(error)}`)
  }
}

/** False if the run is certainly not in the segment, as far as the list tells. */
export function mayHold({ ids, others, near, filter }: Segment, runId: string): boolean {
  if (isSortedByTime(runId)) return isWithin(ids, runId)
  if (filter !== undefined && isNearTime(runId)) return isWithin(near, runId)
  return others
}

/** True if filters contain ids of this kind. */
export function isFilteredId(runId: string): boolean {
  return !isSortedByTime(runId)
}

function isWithin(span: readonly [string, string] | undefined, id: string): boolean {
  return span !== undefined && span[0] <= id && id <= span[1]
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

/** UUIDs of version 7 begin with the time of their creation. Derived ids are spread over the whole range. */
function isSortedByTime(runId: string): boolean {
  return runId[14] === '7'
}

/** The beginnings of ids from 2020 and 2100. */
const [EARLIEST, LATEST] = ['016f5e66-e800', '03bb2cc3-d800']

/** Derived ids of children begin with the time of their parent. One in a hundred other ids seems to. */
function isNearTime(runId: string): boolean {
  return !isSortedByTime(runId) && EARLIEST <= runId && runId < LATEST
}
