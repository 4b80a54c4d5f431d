// What is in the objects of the log and in snapshots: JSON lines, a header first. The writer of a log object had read
// all before it, so its lines are plain facts: whoever reads them applies them and judges nothing.
import { PawlError } from '../../core/base/errors.ts'
import type { Instant } from '../../core/base/instant.ts'
import type {
  Changes,
  RecordRow,
  RunChange,
  SessionRow,
  TaskRow,
} from '../../core/stores/driver.ts'
import type { ArchiveChange } from './segment.ts'

/**
 * Since 2 there are records, pins, and runs that undo what they did: who knows only 1 would leave them out. Since 3 a
 * snapshot may have parts, and a segment a filter: who knows only 2 would delete the log behind a snapshot without them.
 */
export const VERSION = 3
const OLDEST = 1

export interface LogHeader {
  readonly pawl: number
  readonly n: number
  /** Unique to this object: how its writer knows it again after a lost answer. */
  readonly writer: string
  readonly at: Instant
  /** The newest snapshot the writer knows of. */
  readonly snapshot: number
  /** Lines behind this one. */
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

/** Keeps book of the log object in which a run ended. One that begins again has not. */
export function noteEnd(endedIn: Map<string, number>, { runId, set }: RunChange, n: number): void {
  if (set?.endedAt) endedIn.set(runId, n)
  else if (set?.endedAt === null) endedIn.delete(runId)
}

function text(lines: readonly unknown[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

/** The header and the lines of an object, if this version can read them. */
export function parse<Header, Each>(key: string, body: string): [Header, ...Each[]] {
  let lines: unknown[]
  try {
    lines = body
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  } catch (error) {
    throw new PawlError(
      'STORE_UNSUITABLE',
      `${key} is not readable: ${String(error)}. Run \`pawl doctor\`.`,
    )
  }
  const { pawl: version, lines: count } = (lines[0] ?? {}) as { pawl?: number; lines?: number }
  if (version !== undefined && version > VERSION) {
    throw new PawlError(
      'SCHEMA_TOO_NEW',
      `${key} was written by a newer pawl (format ${version}, this one knows ${VERSION}). Upgrade pawl in this process.`,
    )
  }
  if (version !== undefined && version >= OLDEST && count === lines.length - 1)
    return lines as [Header, ...Each[]]
  throw new PawlError('STORE_UNSUITABLE', `${key} is not whole. Run \`pawl doctor\`.`)
}
