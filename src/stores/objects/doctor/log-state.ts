// The state that a snapshot and the log after it amount to: what a replica would hold, without following the log.
import { Tables } from '../../../core/stores/driver.ts'
import { type LogEntry, noteEnd } from '../format.ts'
import { logKey } from '../layout.ts'
import { changedArchive } from '../segment.ts'
import { beginning, captureAll, linesOf, type Snapshot, type StateLine } from '../snapshot.ts'

export class LogState implements Snapshot {
  readonly tables: Tables
  readonly endedIn: Map<string, number>
  readonly #snapshot: string | undefined
  archive: Snapshot['archive']
  n: number
  at: number

  /** Begins with a snapshot and its key, or with an empty state. */
  constructor(from: Snapshot = { ...beginning, tables: new Tables() }, key?: string) {
    this.tables = from.tables
    this.#snapshot = key
    this.endedIn = new Map(from.endedIn)
    this.archive = from.archive
    this.n = from.n
    this.at = from.at
  }

  /** The object to name in a problem: the snapshot, or the last log object. */
  get origin(): string {
    return this.#snapshot ?? logKey(this.n)
  }

  /** Names the objects that the state was read from. */
  get name(): string {
    const log = `the log up to ${logKey(this.n)}`
    return this.#snapshot === undefined ? log : `${this.#snapshot} with ${log}`
  }

  apply({ n, at, changes, archive }: LogEntry): void {
    this.tables.apply(changes, at)
    this.n = n
    this.at = at
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

/** Names the first difference of two states; `undefined` if there is none. The order of rows does not matter. */
export function differenceOf(one: Snapshot, other: Snapshot): string | undefined {
  const [left, right] = [textsOf(one), textsOf(other)]
  for (const [name, line] of left) if (right.get(name) !== line) return name
  for (const name of right.keys()) if (!left.has(name)) return name
  return undefined
}

function textsOf(snapshot: Snapshot): Map<string, string> {
  const { n, at, archive } = snapshot
  const texts = new Map([['its header', JSON.stringify({ n, at, archive })]])
  for (const line of linesOf(captureAll(snapshot))) {
    const name = nameOf(line)
    texts.set(name, (texts.get(name) ?? '') + JSON.stringify(line))
  }
  return texts
}

function nameOf(line: StateLine): string {
  if ('row' in line) return `run ${line.row.head.runId}`
  if ('of' in line) return `the history of run ${line.of}`
  if ('task' in line) return `task ${line.task.taskId}`
  if ('record' in line) return `record ${JSON.stringify([line.record.space, line.record.key])}`
  return 'session' in line ? `session ${line.session.session}` : JSON.stringify(line)
}
