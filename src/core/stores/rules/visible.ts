// What a transaction sees of rows that can be leased: those of the index, replaced by the ones it has changed itself.
import type { Instant } from '../../base/time.ts'
import { compareRanks, type Rank, rankOf } from '../claim-order.ts'
import { NEVER } from '../values.ts'
import type { Due, DueIndex, Lane, RowKind } from './due-index.ts'

/** The rows that a transaction has changed. */
export interface Changed<Row> {
  has(id: string): boolean
  /** The changed rows, without those that were deleted. */
  rows(): Iterable<Row>
}

/** A row, and its place in the claim order. */
interface Candidate<Row> extends Rank {
  readonly row: Row
  readonly order: number
}

export class Visible<Row extends Due> {
  readonly #index: DueIndex<Row>
  readonly #changed: Changed<Row>
  readonly #kind: RowKind<Row>

  constructor(index: DueIndex<Row>, changed: Changed<Row>, kind: RowKind<Row>) {
    this.#index = index
    this.#changed = changed
    this.#kind = kind
  }

  heldBy(session: number): Row[] {
    const rows = [...this.#index.heldBy(session)].filter((row) => !this.#isChanged(row))
    for (const row of this.#changed.rows()) if (row.session === session) rows.push(row)
    return rows
  }

  /**
   * Free rows in the claim order; those that became due in the same instant, by age. `until` says up to which time the
   * rows of a lane count; `undefined` if they do not.
   */
  *free(nonce: number, until: (lane: Lane) => Instant | undefined): Generator<Row> {
    const queues = [this.#changedFree(nonce, until)]
    for (const { lane, entries } of this.#index.free()) {
      const last = until(lane)
      if (last !== undefined) queues.push(this.#unchanged(rankOf(lane, nonce), entries.from(), last))
    }
    for (const { row } of merged(queues)) yield row
  }

  /** When the first free row is due after an instant; `NEVER` if none is. */
  nextAfter(now: Instant, isWanted: (lane: Lane) => boolean, fits: (row: Row) => boolean = () => true): Instant {
    let next: Instant = NEVER
    for (const row of this.#changed.rows()) {
      const isNext = row.session === 0 && row.at > now && row.at < next
      if (isNext && isWanted(this.#kind.laneOf(row)) && fits(row)) next = row.at
    }
    for (const { lane, entries } of this.#index.free()) {
      if (!isWanted(lane)) continue
      for (const { row } of entries.from(({ row: { at } }) => at <= now)) {
        if (row.at >= next) break
        if (!this.#isChanged(row) && fits(row)) next = row.at
      }
    }
    return next
  }

  *#unchanged(
    rank: Rank,
    entries: Iterable<{ readonly row: Row; readonly order: number }>,
    last: Instant,
  ): Generator<Candidate<Row>> {
    for (const { row, order } of entries) {
      if (row.at > last) return
      if (!this.#isChanged(row)) yield { row, order, ...rank }
    }
  }

  *#changedFree(nonce: number, until: (lane: Lane) => Instant | undefined): Generator<Candidate<Row>> {
    const found: Candidate<Row>[] = []
    let newest = Number.MAX_SAFE_INTEGER / 2
    for (const row of this.#changed.rows()) {
      const order = this.#index.orderOf(this.#kind.idOf(row)) ?? newest++
      const lane = this.#kind.laneOf(row)
      const last = row.session === 0 ? until(lane) : undefined
      if (last !== undefined && row.at <= last) found.push({ row, order, ...rankOf(lane, nonce) })
    }
    yield* found.sort(compare)
  }

  #isChanged(row: Row): boolean {
    return this.#changed.has(this.#kind.idOf(row))
  }
}

/** The items of several ordered queues, in order. */
function* merged<Row extends Due>(queues: readonly Iterator<Candidate<Row>>[]): Generator<Candidate<Row>> {
  const heads = queues.map((queue) => ({ queue, head: queue.next() }))
  for (;;) {
    let first: (typeof heads)[number] | undefined
    for (const each of heads) {
      if (each.head.done) continue
      if (!first || first.head.done || compare(each.head.value, first.head.value) < 0) first = each
    }
    if (!first || first.head.done) return
    yield first.head.value
    first.head = first.queue.next()
  }
}

function compare<Row extends Due>(a: Candidate<Row>, b: Candidate<Row>): number {
  return compareRanks(a, b) || a.row.at - b.row.at || a.order - b.order
}
