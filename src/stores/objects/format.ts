// The contents of log objects and snapshots: a header, then lines of JSON. The writer of a log object had read every
// object before it, so a reader applies the lines without checking any rule.
import { PawlError } from '../../core/base/errors.ts'
import type { Instant } from '../../core/base/time.ts'
import type { Changes, RecordRow, RunChange, SessionRow, TaskRow } from '../../core/stores/driver.ts'
import { damagedObject } from './errors.ts'
import type { ArchiveChange } from './segment.ts'

/**
 * Version 2 added records, pins and compensating runs: a reader of version 1 would drop them. Version 3 added the parts
 * of snapshots and the filters of segments: a reader of version 2 would ignore the parts, and delete the log. Version 4
 * added streams: a reader of version 3 would drop them.
 */
export const VERSION = 4
const OLDEST = 1

export interface LogHeader {
  readonly pawl: number
  readonly n: number
  /** A random word, by which the writer recognises its own object after a lost answer. */
  readonly writer: string
  readonly at: Instant
  /** The newest snapshot the writer knows of. */
  readonly snapshot: number
  /** The number of lines after the header. */
  readonly lines: number
}

export interface LogEntry extends Omit<LogHeader, 'pawl' | 'lines'> {
  readonly changes: Changes
  readonly archive?: ArchiveChange
}

type Line =
  | { readonly run: RunChange }
  | { readonly task: TaskRow }
  | { readonly taskGone: string }
  | { readonly session: SessionRow }
  | { readonly sessionGone: number }
  | { readonly record: RecordRow }
  | { readonly archive: ArchiveChange }

export function encodeEntry(entry: LogEntry): string {
  const { n, writer, at, snapshot, changes, archive } = entry
  const lines: Line[] = [
    ...changes.runs.map((run) => ({ run })),
    ...changes.tasks.map((task) => ({ task })),
    ...changes.tasksGone.map((taskGone) => ({ taskGone })),
    ...changes.sessions.map((session) => ({ session })),
    ...changes.sessionsGone.map((sessionGone) => ({ sessionGone })),
    ...changes.records.map((record) => ({ record })),
    ...(archive ? [{ archive }] : []),
  ]
  const header: LogHeader = { pawl: VERSION, n, writer, at, snapshot, lines: lines.length }
  return text([header, ...lines])
}

export function decodeEntry(key: string, body: string): LogEntry {
  const [{ pawl: _, lines: __, ...header }, ...lines] = parse<LogHeader, Line>(key, body)
  const changes = {
    runs: [] as RunChange[],
    tasks: [] as TaskRow[],
    tasksGone: [] as string[],
    sessions: [] as SessionRow[],
    sessionsGone: [] as number[],
    records: [] as RecordRow[],
  }
  let archive: ArchiveChange | undefined
  for (const line of lines) {
    if ('run' in line) changes.runs.push(line.run)
    else if ('task' in line) changes.tasks.push(line.task)
    else if ('taskGone' in line) changes.tasksGone.push(line.taskGone)
    else if ('session' in line) changes.sessions.push(line.session)
    else if ('sessionGone' in line) changes.sessionsGone.push(line.sessionGone)
    else if ('record' in line) changes.records.push(line.record)
    else archive = line.archive
  }
  return { ...header, changes, ...(archive && { archive }) }
}

/** Updates in which log object each run ended. A run that a new generation reopens is removed. */
export function noteEnd(endedIn: Map<string, number>, { runId, set }: RunChange, n: number): void {
  if (set?.endedAt) endedIn.set(runId, n)
  else if (set?.endedAt === null) endedIn.delete(runId)
}

function text(lines: readonly unknown[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

/** Returns the header and the lines of an object; throws if this version cannot read them. */
export function parse<Header, Each>(key: string, body: string): [Header, ...Each[]] {
  let lines: unknown[]
  try {
    lines = body
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  } catch (error) {
    throw damagedObject(key, `is not readable: ${String(error)}`)
  }
  const { pawl: version, lines: count } = (lines[0] ?? {}) as { pawl?: number; lines?: number }
  if (version !== undefined && version > VERSION) {
    throw new PawlError(
      'SCHEMA_TOO_NEW',
      `${key} was written by a newer pawl (format ${version}; this one reads up to ${VERSION}). Upgrade pawl in this process.`,
    )
  }
  if (version !== undefined && version >= OLDEST && count === lines.length - 1) return lines as [Header, ...Each[]]
  throw damagedObject(key, 'is incomplete, or has a header that does not fit its lines')
}
