// A snapshot: the state after a number of the log, so that the log need not be read from its beginning. A small state
// is one object. A large one is a list of parts: those of a whole state, then those of later changes, in which a row
// replaces the one before. So a snapshot costs as much as has changed, and no object becomes too large.

import { limits } from '../../core/base/limits.ts'
import type { Instant } from '../../core/base/time.ts'
import type { Clock } from '../../core/runtime/clock.ts'
import type { RecordRow, RowTurn, RunRow, SessionRow, StreamChange, Tables, TaskRow } from '../../core/stores/driver.ts'
import type { Bucket } from './bucket.ts'
import type { ChangedRows } from './changed-rows.ts'
import { parse, VERSION } from './format.ts'
import { type ArchiveState, emptyArchive } from './segment.ts'

export interface Snapshot {
  readonly n: number
  readonly at: Instant
  readonly archive: ArchiveState
  readonly tables: Tables
  /** The log object in which each run ended, for runs that are not in a segment yet. */
  readonly endedIn: ReadonlyMap<string, number>
}

export const beginning = { n: 0, at: 0, archive: emptyArchive, endedIn: new Map<string, number>() }

/** An object with a part of a state. */
export interface Part {
  readonly key: string
  readonly bytes: number
  /** The number of the log at which it was written. */
  readonly n: number
}

/** The header of a snapshot. Its own lines, if any, come after those of its parts. */
export interface Manifest {
  readonly n: number
  readonly at: Instant
  readonly archive: ArchiveState
  readonly parts?: readonly Part[]
}

interface Header {
  readonly pawl: number
  readonly lines: number
}

interface RunLine {
  readonly row: RunRow
  readonly turns: readonly RowTurn[]
  readonly endedIn?: number
  /** Set if it is not the newest run of its workflow id, even if that one has left memory. */
  readonly older?: true
}

/** One line of a snapshot or of a part. */
export type StateLine =
  | RunLine
  /** Further turns of a run with an earlier line. */
  | { readonly of: string; readonly turns: readonly RowTurn[] }
  /** Further batches of a stream of a run with an earlier line. */
  | { readonly streamOf: string; readonly stream: StreamChange }
  | { readonly runGone: string }
  | { readonly task: TaskRow }
  | { readonly taskGone: string }
  | { readonly session: SessionRow }
  | { readonly sessionGone: number }
  | { readonly record: RecordRow }

/** A run, with the number of its turns when it was captured: turns added later are not part of the snapshot. */
interface CapturedRun {
  readonly row: RunRow
  readonly turns: readonly RowTurn[]
  readonly count: number
  readonly streams: readonly StreamChange[]
  readonly endedIn: number | undefined
  readonly older: boolean
}

type Captured = CapturedRun | Exclude<StateLine, { readonly turns: readonly RowTurn[] }>

/** Captures the whole state at this moment. Rows are never changed in place, so this only collects references. */
export function captureAll({ tables, endedIn }: Snapshot): Captured[] {
  const captured: Captured[] = []
  for (const rows of [tables.live, tables.ended]) {
    for (const row of rows.values()) captured.push(captureRun(row, tables, endedIn))
  }
  for (const task of tables.tasks.values()) captured.push({ task })
  for (const session of tables.sessions.values()) captured.push({ session })
  for (const space of tables.records.values()) {
    for (const record of space.values()) captured.push({ record })
  }
  return captured
}

/** Captures, at this moment, the rows that changed after a number of the log. */
export function captureChanged({ tables, endedIn }: Snapshot, changed: ChangedRows, since: number): Captured[] {
  return [
    ...changed.runs(since).map((runGone) => {
      const row = tables.run(runGone)
      return row ? captureRun(row, tables, endedIn) : { runGone }
    }),
    ...changed.tasks(since).map((taskGone) => {
      const task = tables.tasks.get(taskGone)
      return task ? { task } : { taskGone }
    }),
    ...changed.sessions(since).map((sessionGone) => {
      const session = tables.sessions.get(sessionGone)
      return session ? { session } : { sessionGone }
    }),
    ...changed.records(since).flatMap(([space, key]) => {
      const record = tables.records.get(space)?.get(key)
      return record ? [{ record }] : []
    }),
  ]
}

function captureRun(row: RunRow, tables: Tables, endedIn: ReadonlyMap<string, number>): CapturedRun {
  const { runId } = row.head
  const turns = tables.turns.get(runId) ?? []
  const older = !tables.isNewest(row)
  const streams = tables.streams.copyOf(runId)
  return { row, turns, count: turns.length, streams, endedIn: endedIn.get(runId), older }
}

/** Yields the lines of what was captured. A long history takes several. */
export function* linesOf(captured: Iterable<Captured>): Generator<StateLine> {
  for (const each of captured) {
    if (!('row' in each)) {
      yield each
      continue
    }
    const { row, count, endedIn, older } = each
    const [first = [], ...more] = chunks(each.turns, count)
    const about = { ...(endedIn !== undefined && { endedIn }), ...(older && { older }) }
    yield { row, turns: first, ...about }
    for (const turns of more) yield { of: row.head.runId, turns }
    for (const stream of each.streams) yield* streamLines(row.head.runId, stream)
  }
}

function* streamLines(streamOf: string, { row, parts, batches }: StreamChange): Generator<StateLine> {
  let some: StreamChange['batches'][number][] = []
  let bytes = 0
  for (const batch of batches) {
    some.push(batch)
    bytes += batch.body.length
    if (bytes <= limits.snapshotLineBytes) continue
    yield { streamOf, stream: { row, parts: [], batches: some } }
    some = []
    bytes = 0
  }
  yield { streamOf, stream: { row, parts, batches: some } }
}

function chunks(turns: readonly RowTurn[], count: number): RowTurn[][] {
  const found: RowTurn[][] = []
  let bytes = 0
  for (let index = 0; index < count; index++) {
    const turn = turns[index] as RowTurn
    if (found.length === 0 || bytes > limits.snapshotLineBytes) {
      found.push([])
      bytes = 0
    }
    found.at(-1)?.push(turn)
    bytes += turn.body.length
  }
  return found
}

/**
 * Yields the lines of what was captured as texts of about `bytes`. Works in slices of a few milliseconds, so that the
 * process can do other work meanwhile.
 */
export async function* textsOf(
  captured: Iterable<Captured>,
  bytes: number,
  clock: Clock,
): AsyncGenerator<{ readonly text: string; readonly lines: number }> {
  let texts: string[] = []
  let length = 0
  let since = clock.monotonic()
  for (const line of linesOf(captured)) {
    const text = `${JSON.stringify(line)}\n`
    texts.push(text)
    length += text.length
    if (clock.monotonic() - since > limits.snapshotSliceMs) {
      await clock.breathe()
      since = clock.monotonic()
    }
    if (length < bytes) continue
    yield { text: texts.join(''), lines: texts.length }
    texts = []
    length = 0
  }
  if (texts.length > 0) yield { text: texts.join(''), lines: texts.length }
}

/** Returns the body of an object: a header, then these lines. */
export function withHeader(about: object, text: string, lines: number): string {
  return `${JSON.stringify({ pawl: VERSION, lines, ...about })}\n${text}`
}

export function manifestIn(key: string, body: string): Manifest {
  const [{ n, at, archive, parts }] = parse<Header & Manifest, StateLine>(key, body)
  return { n, at, archive, ...(parts && { parts }) }
}

export interface Restored extends Manifest {
  readonly endedIn: Map<string, number>
  /** The key of a missing object; absent if the snapshot was restored. */
  readonly missing?: undefined
}

/** Reads a snapshot and its parts into empty tables. */
export async function restore(
  bucket: Bucket,
  key: string,
  tables: Tables,
): Promise<Restored | { readonly missing: string }> {
  const body = await bucket.get(key)
  if (body === undefined) return { missing: key }
  const [{ n, at, archive, parts = [] }, ...own] = parse<Header & Manifest, StateLine>(key, body)
  const rows = new StateRows()
  for (let from = 0; from < parts.length; from += PARTS_AT_ONCE) {
    const some = parts.slice(from, from + PARTS_AT_ONCE)
    const bodies = await Promise.all(some.map((part) => bucket.get(part.key)))
    for (const [index, part] of some.entries()) {
      const text = bodies[index]
      if (text === undefined) return { missing: part.key }
      const [, ...lines] = parse<Header, StateLine>(part.key, text)
      for (const line of lines) rows.put(line)
    }
  }
  for (const line of own) rows.put(line)
  return { n, at, archive, parts, endedIn: rows.fill(tables) }
}

const PARTS_AT_ONCE = 4

/** Collects rows from lines; a later line replaces an earlier one of the same row. */
class StateRows {
  readonly #runs = new Map<string, RunLine & { readonly turns: RowTurn[] }>()
  readonly #streams = new Map<string, StreamChange[]>()
  readonly #tasks = new Map<string, TaskRow>()
  readonly #sessions = new Map<number, SessionRow>()
  readonly #records: RecordRow[] = []

  put(line: StateLine): void {
    if ('row' in line) {
      this.#runs.set(line.row.head.runId, { ...line, turns: [...line.turns] })
      this.#streams.delete(line.row.head.runId)
    } else if ('streamOf' in line) {
      this.#streams.set(line.streamOf, [...(this.#streams.get(line.streamOf) ?? []), line.stream])
    } else if ('of' in line) this.#runs.get(line.of)?.turns.push(...line.turns)
    else if ('runGone' in line) this.#runs.delete(line.runGone)
    else if ('task' in line) this.#tasks.set(line.task.taskId, line.task)
    else if ('taskGone' in line) this.#tasks.delete(line.taskGone)
    else if ('session' in line) this.#sessions.set(line.session.session, line.session)
    else if ('sessionGone' in line) this.#sessions.delete(line.sessionGone)
    else this.#records.push(line.record)
  }

  /** Fills the tables, and returns the log object in which each run ended. */
  fill(tables: Tables): Map<string, number> {
    const ends = new Map<string, number>()
    for (const [runId, { row, turns, endedIn, older }] of this.#runs) {
      tables.restore(row, turns, older)
      const streams = this.#streams.get(runId)
      if (streams) tables.streams.apply(runId, streams)
      if (endedIn !== undefined) ends.set(runId, endedIn)
    }
    for (const task of this.#tasks.values()) tables.putTask(task)
    for (const session of this.#sessions.values()) tables.sessions.set(session.session, session)
    for (const record of this.#records) tables.putRecord(record)
    return ends
  }
}
