// What can be wrong with a run, or with a segment of runs that have ended. Pure functions; each fault is what follows
// the name of the object in a sentence.

import { codecsOf, isEncoded } from '../../../core/base/envelope.ts'
import { PawlError } from '../../../core/base/errors.ts'
import { decodeTurn } from '../../../core/index.ts'
import { hasEnded, type RowTurn, type RunRow } from '../../../core/stores/driver.ts'
import {
  decodeRun,
  type EndedRun,
  encodeSegment,
  linesIn,
  type Segment,
  type SegmentIndex,
} from '../segment.ts'
import type { Snapshot } from '../snapshot.ts'

const endings: ReadonlySet<RunRow['status']> = new Set(['completed', 'failed', 'cancelled'])

export function faultsOfRun(row: RunRow, turns: readonly RowTurn[]): string[] {
  const faults: string[] = []
  let reached = 0
  let reading = 0
  for (const { generation = 1, seq, count, body } of turns) {
    if (generation !== reading) reached = 0
    reading = generation
    if (seq !== reached) faults.push(`has a turn at event ${seq} where ${reached} is next`)
    reached = seq + count
    const events = eventsIn(body) ?? count
    if (typeof events === 'string') faults.push(`has a turn at event ${seq} that ${events}`)
    else if (events !== count)
      faults.push(`has a turn of ${events} events that is said to have ${count}`)
  }
  if (reached !== row.reached)
    faults.push(`is said to have ${row.reached} events, and its turns end at ${reached}`)
  if (endings.has(row.status) !== hasEnded(row))
    faults.push(`is ${row.status}, and ${hasEnded(row) ? 'has' : 'has not'} ended`)
  return faults
}

/** Unknown of a body that only codecs can read. */
function eventsIn(body: string): number | string | undefined {
  try {
    if (!isEncoded(body)) return decodeTurn(body).events.length
    // Its envelope can be judged, and what is in it cannot.
    codecsOf(body)
    return undefined
  } catch (error) {
    return unreadable('', error)
  }
}

/** What is wrong with a run that is in memory, beside what could be wrong with any. */
export function faultsInState({ tables, endedIn, archive }: Snapshot, row: RunRow): string[] {
  const { runId } = row.head
  const faults = faultsOfRun(row, tables.turns.get(runId) ?? [])
  const end = endedIn.get(runId)
  if (hasEnded(row) && end === undefined)
    faults.push('has ended, and nothing says in which log object')
  if (!hasEnded(row) && end !== undefined) faults.push(`has not ended, and is said to in ${end}`)
  if (end !== undefined && end <= archive.upTo)
    faults.push(`ended in log object ${end}, and should be in a segment`)
  if (row.session !== 0 && !tables.sessions.has(row.session))
    faults.push(`is held by session ${row.session}, which is gone`)
  return faults
}

export interface OpenedSegment {
  /** As many as could be read. */
  readonly runs: readonly EndedRun[]
  readonly faults: readonly string[]
}

/** Reads a segment whole, and holds what is known of it against its lines. */
export function openSegment(known: Segment, body: string): OpenedSegment {
  try {
    const lines = linesIn(known, body)
    const index = JSON.parse(lines.index) as SegmentIndex
    const runs = lines.runs.map((line) => decodeRun(known.key, line))
    const right = encodeSegment(known.key, runs, known.level, known.filter !== undefined)
    const columns = different(index, JSON.parse(right.head) as SegmentIndex)
    const { filter = 0 } = right.segment
    const isFiltered = body.slice(0, filter) === right.body.slice(0, filter)
    const facts = different(known, right.segment)
    return {
      runs,
      faults: [
        ...columns.map((column) => `has an index whose '${column}' are not those of its lines`),
        ...(isFiltered ? [] : ['has a filter that is not that of its lines']),
        ...facts.map((fact) => `is listed with '${fact}' other than it has`),
        ...runs.flatMap(({ row, turns }) => {
          const faults = hasEnded(row) ? [] : ['has not ended']
          return [...faults, ...faultsOfRun(row, turns)].map(
            (fault) => `has run ${row.head.runId}, which ${fault}`,
          )
        }),
      ],
    }
  } catch (error) {
    return { runs: [], faults: [unreadable(known.key, error)] }
  }
}

function different(one: object, other: object): string[] {
  const [left, right] = [new Map(Object.entries(one)), new Map(Object.entries(other))]
  const names = new Set([...left.keys(), ...right.keys()])
  return [...names].filter(
    (name) => JSON.stringify(left.get(name)) !== JSON.stringify(right.get(name)),
  )
}

/** Why an object is not readable. One that a newer pawl has written is not faulty: that is not for this one to judge. */
export function unreadable(key: string, error: unknown): string {
  if (error instanceof PawlError && error.code === 'SCHEMA_TOO_NEW') throw error
  const text = error instanceof Error ? error.message : String(error)
  const because = text.replace(/\.? Run `pawl doctor`\.$/, '')
  return because.startsWith(`${key} `)
    ? because.slice(key.length + 1)
    : `is not readable: ${because}`
}
