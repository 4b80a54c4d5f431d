// The streams of all runs of a store in memory, and those of a transaction over them.

import type { Loaded, StreamAsk } from '../reading.ts'
import type { StreamPage, StreamSnapshot } from '../stream.ts'
import { compareKeys } from '../values.ts'
import type { RunRow } from './row.ts'
import type { BatchRow, PartRow, StreamChange, StreamRow, StreamRows } from './stream-rows.ts'

/** A stream with all its rows, its parts by their numbers. */
type StoredStream = StreamChange

class StreamTable implements StoredStream {
  row: StreamRow
  readonly parts: PartRow[] = []
  readonly batches: BatchRow[] = []
  /** The newest part of each writer. */
  readonly newest = new Map<string, PartRow>()

  constructor(row: StreamRow) {
    this.row = row
  }

  apply({ row, parts, batches }: StreamChange): void {
    this.row = row
    for (const part of parts) {
      this.parts[part.number] = part
      this.newest.set(writerOf(part), part)
    }
    this.batches.push(...batches)
  }
}

function writerOf({ writer, chapter }: Pick<PartRow, 'writer' | 'chapter'>): string {
  return `${chapter} ${writer}`
}

export class StreamTables {
  readonly #runs = new Map<string, Map<string, StreamTable>>()

  get(runId: string, name: string): StreamTable | undefined {
    return this.#runs.get(runId)?.get(name)
  }

  count(runId: string): number {
    return this.#runs.get(runId)?.size ?? 0
  }

  names(runId: string): Iterable<string> {
    return this.#runs.get(runId)?.keys() ?? []
  }

  apply(runId: string, changes: readonly StreamChange[]): void {
    const streams = this.#runs.get(runId) ?? new Map<string, StreamTable>()
    this.#runs.set(runId, streams)
    for (const change of changes) {
      const { name } = change.row
      const table = streams.get(name) ?? new StreamTable(change.row)
      streams.set(name, table)
      table.apply(change)
    }
  }

  /** The streams of a run as they are now. */
  of(runId: string): Iterable<StoredStream> {
    return this.#runs.get(runId)?.values() ?? []
  }

  /** A copy of the rows of a run's streams, as changes that make them. */
  copyOf(runId: string): StreamChange[] {
    return [...this.of(runId)].map(({ row, parts, batches }) => ({ row, parts: [...parts], batches: [...batches] }))
  }

  delete(runId: string): void {
    this.#runs.delete(runId)
  }
}

/** What a transaction has changed, and reads through to the tables. */
export class StreamDrafts implements StreamRows {
  readonly #tables: StreamTables
  readonly #changes = new Map<string, Map<string, StreamChange>>()

  constructor(tables: StreamTables) {
    this.#tables = tables
  }

  stream(runId: string, name: string): StreamRow | undefined {
    return this.#change(runId, name)?.row ?? this.#tables.get(runId, name)?.row
  }

  countStreams(runId: string): number {
    return new Set([...this.#tables.names(runId), ...(this.#changes.get(runId)?.keys() ?? [])]).size
  }

  newestPart(runId: string, name: string, of: Pick<PartRow, 'writer' | 'chapter'>): PartRow | undefined {
    const drafted = this.#change(runId, name)?.parts.findLast((part) => writerOf(part) === writerOf(of))
    return drafted ?? this.#tables.get(runId, name)?.newest.get(writerOf(of))
  }

  offsetOf(runId: string, name: string, { part, n }: Pick<BatchRow, 'part' | 'n'>): number | undefined {
    const isIt = (batch: BatchRow): boolean => batch.part === part && batch.n === n
    const drafted = this.#change(runId, name)?.batches.findLast(isIt)
    return (drafted ?? this.#tables.get(runId, name)?.batches.findLast(isIt))?.first
  }

  putStream(runId: string, row: StreamRow, part?: PartRow, batch?: BatchRow): void {
    const { parts = [], batches = [] } = this.#change(runId, row.name) ?? {}
    const changes = this.#changes.get(runId) ?? new Map<string, StreamChange>()
    this.#changes.set(runId, changes)
    const others = parts.filter(({ number }) => number !== part?.number)
    changes.set(row.name, {
      row,
      parts: part ? [...others, part] : parts,
      batches: batch ? [...batches, batch] : batches,
    })
  }

  /** Runs with changed streams, and the changes. */
  *streamChanges(): Generator<readonly [runId: string, changes: readonly StreamChange[]]> {
    for (const [runId, changes] of this.#changes) yield [runId, [...changes.values()]]
  }

  #change(runId: string, name: string): StreamChange | undefined {
    return this.#changes.get(runId)?.get(name)
  }
}

/** What was asked of the streams of a run. */
export function loadStreams(run: RunRow | undefined, streams: Iterable<StoredStream>, ask: StreamAsk): Loaded {
  if (ask.type === 'streams') return { type: 'streams', ...(run && { streams: snapshotsOf(run, [...streams]) }) }
  if (!run) return { type: 'stream' }
  const stream = [...streams].find(({ row }) => row.name === ask.stream)
  return { type: 'stream', page: pageOf(run, stream, ask) }
}

/** The streams of a run, by their names. */
function snapshotsOf(run: RunRow, streams: readonly StoredStream[]): StreamSnapshot[] {
  return streams
    .map(({ row }) => ({ ...shownRow(row), closed: isClosed(run, row) }))
    .toSorted((a, b) => compareKeys(a.name, b.name))
}

/** A page of one stream of a run. One that was never written to is empty. */
function pageOf(
  run: RunRow,
  stream: StoredStream | undefined,
  ask: Extract<StreamAsk, { type: 'stream' }>,
): StreamPage {
  const closed = isClosed(run, stream?.row)
  if (!stream) return { items: 0, closed, parts: [], batches: [] }
  const parts = stream.parts.slice(ask.parts).map(({ partId: _, batches: __, ...part }) => part)
  const at = placeOf(stream.batches, ask.from)
  const batches = stream.batches.slice(at, at + ask.batches).map(({ n: _, ...batch }) => batch)
  return { items: stream.row.items, closed, parts, batches }
}

/** The place of the batch with this offset; behind the last if there is none. */
function placeOf(batches: readonly BatchRow[], offset: number): number {
  let [low, high] = [0, batches.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const { first, count } = batches[middle] as BatchRow
    if (first + count > offset) high = middle
    else low = middle + 1
  }
  return low
}

function shownRow({ closedIn: _, ...row }: StreamRow): Omit<StreamRow, 'closedIn'> {
  return row
}

function isClosed({ endedAt, generation }: RunRow, row: StreamRow | undefined): boolean {
  return endedAt !== undefined || row?.closedIn === generation
}
