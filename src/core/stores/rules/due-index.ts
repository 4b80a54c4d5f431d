// Finds rows by the session that holds them and, if they are free, by when they are due, so that a claim costs what it
// grants, however many runs are in progress.
import type { Instant } from '../../base/time.ts'
import type { LeaseState, RunRow, TaskRow } from './row.ts'
import { SortedList } from './sorted-list.ts'

/** What all free rows of a lane have in common, as far as a claim distinguishes them. */
export interface Lane {
  readonly queue: string
  readonly name: string
  readonly priority: number
  /** How often a holder died since the last release, up to 2. */
  readonly deaths: number
  readonly pin?: string | undefined
  /** The build that paused the runs of this lane. */
  readonly pausedBy?: string | undefined
}

export interface RowKind<Row> {
  readonly idOf: (row: Row) => string
  readonly laneOf: (row: Row) => Lane
}

/** A row, and how many rows were added before it. */
interface Entry<Row> {
  row: Row
  readonly order: number
  /** The lane of a free row. */
  readonly lane?: string
}

/** A row that can be leased. */
export interface Due extends LeaseState {
  readonly at: Instant
}

/** A lane and its rows, in the order in which they are due. */
interface Place<Row> {
  readonly lane: Lane
  readonly entries: SortedList<Entry<Row>>
}

export class DueIndex<Row extends Due> {
  readonly #kind: RowKind<Row>
  readonly #entries = new Map<string, Entry<Row>>()
  readonly #lanes = new Map<string, Place<Row>>()
  readonly #held = new Map<number, Map<string, Row>>()
  #order = 0

  constructor(kind: RowKind<Row>) {
    this.#kind = kind
  }

  /** Adds a row, or replaces the one with its id. */
  put(row: Row): void {
    const id = this.#kind.idOf(row)
    const before = this.#entries.get(id)
    const lane = row.session === 0 ? this.#kind.laneOf(row) : undefined
    const key = lane && keyOf(lane)
    if (before && before.lane === key && before.row.at === row.at && lane) {
      before.row = row
      return
    }
    if (before) this.#takeOut(id, before)
    const entry = { row, order: before?.order ?? this.#order++, ...(key && { lane: key }) }
    this.#entries.set(id, entry)
    if (lane && key) this.#place(key, lane).entries.add(entry)
    else this.#heldBy(row.session).set(id, row)
  }

  delete(id: string): void {
    const entry = this.#entries.get(id)
    if (!entry) return
    this.#takeOut(id, entry)
    this.#entries.delete(id)
  }

  heldBy(session: number): Iterable<Row> {
    return this.#held.get(session)?.values() ?? []
  }

  /** How many rows were added before this one; `undefined` if it is not in the index. */
  orderOf(id: string): number | undefined {
    return this.#entries.get(id)?.order
  }

  /** Free rows, lane by lane, each in the order in which they are due. */
  free(): Iterable<Place<Row>> {
    return this.#lanes.values()
  }

  #takeOut(id: string, entry: Entry<Row>): void {
    if (entry.lane === undefined) {
      const { session } = entry.row
      const held = this.#heldBy(session)
      held.delete(id)
      if (held.size === 0) this.#held.delete(session)
      return
    }
    const place = this.#lanes.get(entry.lane)
    place?.entries.delete(entry)
    if (place?.entries.isEmpty) this.#lanes.delete(entry.lane)
  }

  #heldBy(session: number): Map<string, Row> {
    const held = this.#held.get(session) ?? new Map<string, Row>()
    this.#held.set(session, held)
    return held
  }

  #place(key: string, lane: Lane): Place<Row> {
    const place = this.#lanes.get(key) ?? { lane, entries: new SortedList(compareEntries) }
    this.#lanes.set(key, place)
    return place
  }
}

export const runKind: RowKind<RunRow> = {
  idOf: ({ head }) => head.runId,
  laneOf: ({ head, deliveries, pin, paused }) => {
    const { queue, name, priority } = head
    const deaths = Math.min(deliveries, 2)
    return { queue, name, priority, deaths, pin, pausedBy: paused?.build }
  },
}

export const taskKind: RowKind<TaskRow> = {
  idOf: ({ taskId }) => taskId,
  laneOf: ({ queue, name, priority }) => ({ queue, name, priority, deaths: 0 }),
}

function keyOf({ queue, name, priority, deaths, pin, pausedBy }: Lane): string {
  return JSON.stringify([queue, name, priority, deaths, pin, pausedBy])
}

function compareEntries<Row extends Due>(a: Entry<Row>, b: Entry<Row>): number {
  return a.row.at - b.row.at || a.order - b.order
}
