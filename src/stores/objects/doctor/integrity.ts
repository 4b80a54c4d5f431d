// Checks a run, or a segment of ended runs. Pure functions; each fault is the rest of a sentence that begins with the
// name of the object.

import { codecsOf, isEncoded } from '../../../core/base/envelope.ts'
import { PawlError } from '../../../core/base/errors.ts'
import { decodeTurn } from '../../../core/index.ts'
import { ENDED, hasEnded, type RowTurn, type RunRow } from '../../../core/stores/driver.ts'
import { withoutAdvice } from '../errors.ts'
import { decodeRun, type EndedRun, encodeSegment, linesIn, type Segment, type SegmentIndex } from '../segment.ts'
import type { Snapshot } from '../snapshot.ts'

const endings: ReadonlySet<RunRow['status']> = new Set(ENDED)

export function faultsOfRun(row: RunRow, turns: readonly RowTurn[]): string[] {
  const faults: string[] = []
  let reached = 0
  let reading = 0
  for (const { generation = 1, seq, count, body } of turns) {
    if (generation !== reading) reached = 0
    reading = generation
    if (seq !== reached) faults.push(`has a turn at event ${seq} where event ${reached} is next`)
    reached = seq + count
    const events = eventsIn(body) ?? count
    if (typeof events === 'string') faults.push(`has a turn at event ${seq} that ${events}`)
    else if (events !== count) faults.push(`has a turn with ${events} events that claims ${count}`)
  }
  if (reached !== row.reached) faults.push(`claims ${row.reached} events, but its turns end at ${reached}`)
  if (endings.has(row.status) !== hasEnded(row))
    faults.push(`is ${row.status}, but ${hasEnded(row) ? 'has' : 'has not'} ended`)
  return faults
}

/** Returns the number of events or a fault; `undefined` for an encoded body, of which only the envelope is checked. */
function eventsIn(body: string): number | string | undefined {
  try {
    if (!isEncoded(body)) return decodeTurn(body).events.length
    codecsOf(body)
    return undefined
  } catch (error) {
    return unreadable('', error)
  }
}

/** Returns the faults of a run in memory: those of any run, and contradictions to the rest of the state. */
export function faultsInState({ tables, endedIn, archive }: Snapshot, row: RunRow): string[] {
  const { runId } = row.head
  const faults = faultsOfRun(row, tables.turns.get(runId) ?? [])
  const end = endedIn.get(runId)
  if (hasEnded(row) && end === undefined) faults.push('has ended, but no log object is noted for its end')
  if (!hasEnded(row) && end !== undefined) faults.push(`has not ended, but its end is noted for log object ${end}`)
  if (end !== undefined && end <= archive.upTo) faults.push(`ended in log object ${end}, but is not in a segment`)
  if (row.session !== 0 && !tables.sessions.has(row.session))
    faults.push(`is held by session ${row.session}, which does not exist`)
  return faults
}

export interface OpenedSegment {
  /** Empty if the segment is not readable. */
  readonly runs: readonly EndedRun[]
  readonly faults: readonly string[]
}

/** Reads a whole segment, and compares its index, its filter and its entry in the list with its lines. */
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
        ...columns.map((column) => `has an index whose '${column}' do not match its runs`),
        ...(isFiltered ? [] : ['has a filter that does not match its runs']),
        ...facts.map((fact) => `is listed with another '${fact}' than it has`),
        ...runs.flatMap(({ row, turns }) => {
          const faults = hasEnded(row) ? [] : ['has not ended']
          return [...faults, ...faultsOfRun(row, turns)].map((fault) => `has run ${row.head.runId}, which ${fault}`)
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
  return [...names].filter((name) => JSON.stringify(left.get(name)) !== JSON.stringify(right.get(name)))
}

/**
 * Returns why an object is not readable. Rethrows if a newer pawl wrote it: this one cannot tell whether it is faulty.
 */
export function unreadable(key: string, error: unknown): string {
  if (error instanceof PawlError && error.code === 'SCHEMA_TOO_NEW') throw error
  const text = error instanceof Error ? error.message : String(error)
  const because = withoutAdvice(text)
  return because.startsWith(`${key} `) ? because.slice(key.length + 1) : `is not readable: ${because}`
}
