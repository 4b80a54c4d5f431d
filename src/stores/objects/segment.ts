// Runs that have ended, packed into objects that never change. A segment's first line is a filter, if it has one: which
// ids and names are certainly not in it. Then comes its index; every further line is one run with all its turns, found by
// its place.
import { PawlError } from '../../core/base/errors.ts'
import type { Instant } from '../../core/base/instant.ts'
import type { Attributes, RowTurn, RunRow } from '../../core/stores/driver.ts'
import { Bloom } from './bloom.ts'

/** What everybody knows of a segment without reading it. */
export interface Segment {
  readonly key: string
  /** Bytes of its filter, which comes first; none if nothing would be in it. Segments of older releases have none. */
  readonly filter?: number
  /** Bytes of the index. */
  readonly index: number
  /** Bytes of all of it. Older releases do not tell. */
  readonly bytes?: number
  readonly runs: number
  /** How often it was merged. */
  readonly level: number
  /** The span of ids that are sorted by time, and whether there are others. */
  readonly ids?: readonly [string, string]
  readonly others: boolean
  /** The span of those among the others that seem to begin with a time, too. */
  readonly near?: readonly [string, string]
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
export interface ArchiveProposal extends ArchiveChange {
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
  wishes: readonly ArchiveProposal[],
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
  /** It was not the newest of its workflow id when it left memory. */
  readonly older?: true
}

/** Column by column, one entry per run, in the order of the lines. */
export interface SegmentIndex {
  readonly ids: readonly string[]
  readonly workflowIds: readonly string[]
  readonly names: readonly string[]
  readonly statuses: readonly RunRow['status'][]
  readonly created: readonly Instant[]
  /** Each of these is absent if no run has any. */
  readonly attributes?: readonly (Attributes | null)[]
  readonly pins?: readonly (string | null)[]
  readonly older?: readonly boolean[]
  /** Where each line ends, in bytes behind the index; it begins where the one before ended. */
  readonly ends: readonly number[]
}

/** `isFiltered` is false only for a segment as older releases made it. */
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

// Ids that are sorted by time need none, and a run that has no name of its own is found by its id.
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

/** As a filter knows them. */
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

/** The lines of a segment: its index, and its runs. */
export function linesIn({ filter = 0 }: Segment, body: string): { index: string; runs: string[] } {
  const lines = body.split('\n').filter((line) => line !== '')
  const [index = '', ...runs] = filter > 0 ? lines.slice(1) : lines
  return { index, runs }
}

export function decodeRun(key: string, line: string): EndedRun {
  try {
    return JSON.parse(line) as EndedRun
  } catch (error) {
    throw new PawlError('STORE_UNSUITABLE', `a line of ${key} is not readable: ${String(error)}`)
  }
}

/** Whether the run could be in the segment, as far as that is known without reading it. */
export function mayHold({ ids, others, near, filter }: Segment, runId: string): boolean {
  if (isSortedByTime(runId)) return isWithin(ids, runId)
  if (filter !== undefined && isNearTime(runId)) return isWithin(near, runId)
  return others
}

/** Whether the filter, if the segment has one, has to be asked about this id. */
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

/** Ids of version 7 begin with the time they were made at. Derived ones are spread over the whole space. */
function isSortedByTime(runId: string): boolean {
  return runId[14] === '7'
}

/** 2020 and 2100, as the beginnings of ids have them. */
const [EARLIEST, LATEST] = ['016f5e66-e800', '03bb2cc3-d800']

/** Derived ids of children begin with the time of their parent. Of others, one in a hundred seems to. */
function isNearTime(runId: string): boolean {
  return !isSortedByTime(runId) && EARLIEST <= runId && runId < LATEST
}
