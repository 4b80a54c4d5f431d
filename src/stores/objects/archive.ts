// Reads ended runs that have left memory: finds the segments that may have a run, reads their indexes, then single
// lines.
import {
  type ArchivedRuns,
  hasPrefix,
  holdAll,
  isReason,
  type ListQuery,
  matches,
  type RunRow,
} from '../../core/stores/driver.ts'
import type { Bloom } from './bloom.ts'
import type { Bucket, ByteRange } from './bucket.ts'
import { forEach } from './bucket.ts'
import { SegmentGone } from './errors.ts'
import {
  type ArchiveState,
  decodeFilter,
  decodeRun,
  type EndedRun,
  emptyArchive,
  filteredId,
  filteredName,
  isFilteredId,
  linesIn,
  mayHold,
  type Segment,
  type SegmentIndex,
} from './segment.ts'

/** The number of rows and of indexes that are cached. */
const ROWS_KEPT = 10_000
const INDEXES_KEPT = 256

const FILTERS_AT_ONCE = 32

/** A run in a segment, with what the index says of it. */
export interface Archived {
  readonly segment: Segment
  readonly line: number
  readonly head: { readonly runId: string; readonly createdAt: number }
}

/** One of the runs of a workflow id. */
interface Namesake {
  readonly runId: string
  readonly createdAt: number
  readonly isOlder: boolean
}

export class Archive implements ArchivedRuns {
  state: ArchiveState = emptyArchive
  readonly #bucket: Bucket
  readonly #indexes = new Map<string, Promise<SegmentIndex>>()
  /** The filters of all listed segments. None is evicted, because they are small. */
  readonly #filters = new Map<string, Promise<Bloom>>()
  /** The results of searches; `undefined` means that the segments do not have it. */
  readonly #rows = new Map<string, RunRow | undefined>()
  readonly #newest = new Map<string, string | undefined>()

  constructor(bucket: Bucket) {
    this.#bucket = bucket
  }

  /** Replaces the state. Drops cached results, because another state may have other runs. */
  become(state: ArchiveState): void {
    this.state = state
    this.#rows.clear()
    this.#newest.clear()
    const listed = new Set(state.segments.map(({ key }) => key))
    for (const key of this.#filters.keys()) if (!listed.has(key)) this.#filters.delete(key)
  }

  run(runId: string): RunRow | undefined {
    return this.#rows.get(runId)
  }

  newest(workflowId: string): string | undefined {
    return this.#newest.get(workflowId)
  }

  /** Loads these runs and workflow ids, so that `run` and `newest` can answer without a request. */
  async look(runIds: Iterable<string>, workflowIds: Iterable<string>): Promise<void> {
    if (this.state.segments.length === 0) return
    for (const runId of runIds) await this.#lookForRun(runId)
    for (const workflowId of workflowIds) {
      const runId = await this.newestOf(workflowId)
      // The cache of names may outlast that of rows, so the run is looked for again.
      if (runId !== undefined) await this.#lookForRun(runId)
    }
  }

  async find(runId: string): Promise<EndedRun | undefined> {
    const held = this.state.segments.filter((segment) => mayHold(segment, runId))
    const asked = isFilteredId(runId) ? await this.#filtered(held, filteredId(runId)) : held
    for (const segment of asked) {
      const line = (await this.#index(segment)).ids.indexOf(runId)
      if (line >= 0) return this.read(segment, line)
    }
    return undefined
  }

  async newestOf(workflowId: string): Promise<string | undefined> {
    if (!this.#newest.has(workflowId)) return this.#lookForName(workflowId)
    const runId = this.#newest.get(workflowId)
    keep(this.#newest, workflowId, runId, ROWS_KEPT)
    return runId
  }

  async read(segment: Segment, line: number): Promise<EndedRun> {
    const { ends } = await this.#index(segment)
    const begin = (segment.filter ?? 0) + segment.index
    const from = begin + (line === 0 ? 0 : (ends[line - 1] ?? 0))
    const to = begin + (ends[line] ?? 0)
    return decodeRun(segment.key, await this.#get(segment, { from, to }))
  }

  /** Every run of a segment. */
  async readAll(segment: Segment): Promise<EndedRun[]> {
    const text = await this.#get(segment)
    return linesIn(segment, text).runs.map((line) => decodeRun(segment.key, line))
  }

  /** Returns the runs that match a query, in no order. */
  async matching(query: ListQuery): Promise<Archived[]> {
    const found: Archived[] = []
    for (const segment of this.state.segments) {
      if (!couldMatch(segment, query)) continue
      const index = await this.#index(segment)
      for (const [line, runId] of index.ids.entries()) {
        const createdAt = index.created[line] ?? 0
        if (!fits(index, line, query)) continue
        if (isUnsure(index, query) && !matches((await this.read(segment, line)).row, query)) continue
        found.push({ segment, line, head: { runId, createdAt } })
      }
    }
    return found
  }

  /** The rows that match, one segment at a time: a segment is read whole, which is one request. */
  async *rowsOf(query: ListQuery): AsyncGenerator<RunRow> {
    for (const segment of this.state.segments) {
      if (!couldMatch(segment, query)) continue
      for (const { row } of await this.readAll(segment)) if (matches(row, query)) yield row
    }
  }

  /** Counts the runs that match, from the counts of the segments alone if the query allows. */
  async count(query: ListQuery): Promise<number> {
    const { workflowId, createdAfter, createdBefore, attributes, pin } = query
    const others = [workflowId, createdAfter, createdBefore, attributes, pin]
    others.push(query.workflowIdPrefix, query.parentId, query.reason)
    if (others.some((other) => other !== undefined)) return (await this.matching(query)).length
    let count = 0
    for (const { counts } of this.state.segments) {
      for (const [key, runs] of Object.entries(counts)) {
        const [name, status] = JSON.parse(key) as [string, RunRow['status']]
        if (isWanted(query, name, status)) count += runs
      }
    }
    return count
  }

  // Reads run beside the replica's writer, so the state may change during a search. Then the result is right for the
  // reader, but is not cached, because it may be wrong for the new state.
  async #lookForRun(runId: string): Promise<void> {
    const { state } = this
    // A known row is cached again, so that the next ones do not evict it.
    const isKnown = this.#rows.has(runId)
    const found = isKnown ? this.#rows.get(runId) : (await this.find(runId))?.row
    if (this.state === state) keep(this.#rows, runId, found, ROWS_KEPT)
  }

  async #lookForName(workflowId: string): Promise<string | undefined> {
    const { state } = this
    let newest: Namesake | undefined
    for (const segment of await this.#mayName(workflowId)) {
      const { workflowIds, ids, created, older } = await this.#index(segment)
      for (const [line, id] of workflowIds.entries()) {
        if (id !== workflowId) continue
        const about = { createdAt: created[line] ?? 0, isOlder: older?.[line] ?? false }
        if (!newest || !isBefore(about, newest)) newest = { runId: ids[line] ?? '', ...about }
      }
    }
    if (this.state === state) keep(this.#newest, workflowId, newest?.runId, ROWS_KEPT)
    return newest?.runId
  }

  // Returns the segments that may have a run of this workflow id. A run without a workflow id is named by its run id.
  async #mayName(workflowId: string): Promise<Segment[]> {
    const { segments } = this.state
    const named = new Set(await this.#filtered(segments, filteredName(workflowId)))
    const held = segments.filter((segment) => mayHold(segment, workflowId))
    const ids = isFilteredId(workflowId) ? await this.#filtered(held, filteredId(workflowId)) : held
    for (const segment of ids) named.add(segment)
    return [...named]
  }

  /** Returns the segments whose filters do not exclude the text, and those of older releases, which have no filter. */
  async #filtered(segments: readonly Segment[], text: string): Promise<Segment[]> {
    const may = new Set<Segment>()
    await forEach(segments, FILTERS_AT_ONCE, async (segment) => {
      const isOut = segment.filter !== undefined && !(await this.#filter(segment))?.mayHave(text)
      if (!isOut) may.add(segment)
    })
    return segments.filter((segment) => may.has(segment))
  }

  #filter(segment: Segment): Promise<Bloom | undefined> {
    const { key, filter = 0 } = segment
    if (filter === 0) return Promise.resolve(undefined)
    const there = this.#filters.get(key)
    if (there) return there
    const loading = this.#get(segment, { from: 0, to: filter }).then(decodeFilter)
    this.#filters.set(key, loading)
    loading.catch(() => this.#filters.delete(key))
    return loading
  }

  #index(segment: Segment): Promise<SegmentIndex> {
    const there = this.#indexes.get(segment.key)
    if (there) return there
    const loading = this.#loadIndex(segment)
    keep(this.#indexes, segment.key, loading, INDEXES_KEPT)
    loading.catch(() => this.#indexes.delete(segment.key))
    return loading
  }

  async #loadIndex(segment: Segment): Promise<SegmentIndex> {
    const from = segment.filter ?? 0
    return JSON.parse(await this.#get(segment, { from, to: from + segment.index })) as SegmentIndex
  }

  async #get({ key }: Segment, range?: ByteRange): Promise<string> {
    const text = await this.#bucket.get(key, range)
    if (text === undefined) throw new SegmentGone(key)
    return text
  }
}

function couldMatch(segment: Segment, query: ListQuery): boolean {
  return Object.keys(segment.counts).some((key) => {
    const [name, status] = JSON.parse(key) as [string, RunRow['status']]
    return isWanted(query, name, status)
  })
}

function isWanted({ names, statuses }: ListQuery, name: string, status: RunRow['status']): boolean {
  return (!names || names.includes(name)) && (!statuses || statuses.includes(status))
}

function fits(index: SegmentIndex, line: number, query: ListQuery): boolean {
  const { workflowId, workflowIdPrefix, parentId, reason, createdAfter, createdBefore, pin } = query
  const created = index.created[line] ?? 0
  const status = index.statuses[line]
  if (status === undefined || !isWanted(query, index.names[line] ?? '', status)) return false
  if (workflowId !== undefined && index.workflowIds[line] !== workflowId) return false
  const head = { runId: index.ids[line] ?? '', workflowId: index.workflowIds[line] ?? '' }
  if (workflowIdPrefix !== undefined && !hasPrefix(head, workflowIdPrefix)) return false
  if (parentId !== undefined && index.parents && index.parents[line] !== parentId) return false
  if (reason !== undefined && index.reasons && !isReason(reason, index.reasons[line] ?? undefined)) return false
  if (pin !== undefined && index.pins?.[line] !== pin) return false
  if (createdAfter !== undefined && created < createdAfter) return false
  if (createdBefore !== undefined && created >= createdBefore) return false
  return holdAll(index.attributes?.[line] ?? {}, query.attributes ?? [])
}

/** True if the index is of an older release, and does not tell whether a run matches. */
function isUnsure(index: SegmentIndex, { parentId, reason }: ListQuery): boolean {
  return (parentId !== undefined && !index.parents) || (reason !== undefined && !index.reasons)
}

// Of two runs created at the same instant, the one marked as older comes first.
function isBefore(one: Omit<Namesake, 'runId'>, other: Namesake): boolean {
  if (one.createdAt !== other.createdAt) return one.createdAt < other.createdAt
  return one.isOlder && !other.isOlder
}

function keep<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, most: number): void {
  map.delete(key)
  const [oldest] = map.keys()
  if (map.size >= most && oldest !== undefined) map.delete(oldest)
  map.set(key, value)
}
