// What a snapshot and the log behind it say, without following them: what a replica would hold, made at leisure.
import { Tables } from '../rows/tables.ts'
import {
  beginning,
  decodeSnapshot,
  encodeSnapshot,
  type LogEntry,
  noteEnd,
  type Snapshot,
} from './format.ts'
import { logKey } from './layout.ts'
import { changedArchive } from './segment.ts'

export class Fold implements Snapshot {
  readonly tables = new Tables()
  readonly endedIn: Map<string, number>
  readonly #snapshot: string | undefined
  archive: Snapshot['archive']
  n: number
  at: number

  /** Of nothing, or of a snapshot. */
  constructor(snapshot?: { readonly key: string; readonly body: string }) {
    const { tables } = this
    const from = snapshot
      ? decodeSnapshot(snapshot.key, snapshot.body, tables)
      : { ...beginning, tables }
    this.#snapshot = snapshot?.key
    this.endedIn = new Map(from.endedIn)
    this.archive = from.archive
    this.n = from.n
    this.at = from.at
  }

  /** The object that has most of it. */
  get origin(): string {
    return this.#snapshot ?? logKey(this.n)
  }

  /** What was read, as a person would look for it. */
  get name(): string {
    const log = `the log up to ${logKey(this.n)}`
    return this.#snapshot === undefined ? log : `${this.#snapshot} with ${log}`
  }

  apply({ n, at, changes, archive }: LogEntry): void {
    this.tables.apply(changes, at)
    this.n = n
    this.at = Math.max(this.at, at)
    for (const change of changes.runs) noteEnd(this.endedIn, change, n)
    if (!archive) return
    this.archive = changedArchive(this.archive, archive)
    for (const [runId, end] of this.endedIn) {
      if (end > archive.upTo) continue
      this.tables.forget(runId)
      this.endedIn.delete(runId)
    }
  }
}

/** Where two states differ, in words; `undefined` if nowhere. The order of rows means nothing. */
export function differenceOf(one: Snapshot, other: Snapshot): string | undefined {
  const [left, right] = [linesOf(one), linesOf(other)]
  for (const [name, line] of left) if (right.get(name) !== line) return name
  for (const name of right.keys()) if (!left.has(name)) return name
  return undefined
}

function linesOf(snapshot: Snapshot): Map<string, string> {
  const lines = encodeSnapshot(snapshot).trimEnd().split('\n')
  return new Map(lines.map((line) => [nameOf(line), line]))
}

interface AnyLine {
  readonly row?: { readonly head: { readonly runId: string } }
  readonly task?: { readonly taskId: string }
  readonly session?: { readonly session: number }
  readonly record?: { readonly space: string; readonly key: string }
}

function nameOf(line: string): string {
  const { row, task, session, record } = JSON.parse(line) as AnyLine
  if (row) return `run ${row.head.runId}`
  if (task) return `task ${task.taskId}`
  if (record) return `record ${JSON.stringify([record.space, record.key])}`
  return session ? `session ${session.session}` : 'its header'
}

/** Does the work for each, a few at a time. */
export async function forEach<T>(
  items: Iterable<T>,
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = items[Symbol.iterator]()
  const lane = async (): Promise<void> => {
    for (let next = left.next(); !next.done; next = left.next()) await work(next.value)
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
}
