// The lanes of runs and tasks: one for each queue, name and priority. They are few and never change, so they are known by
// heart until another connection has written, or a transaction that made some did not become durable.
import type { ClaimRequest } from '../../core/stores/driver.ts'
import type { Statements } from './statements.ts'

type Kind = 'run' | 'task'
type Named = { readonly queue: string; readonly name: string; readonly priority: number }
type LaneRow = { readonly lane: number; readonly priority: number }

export class Lanes {
  readonly #sql: Statements
  readonly #known = new Map<string, number>()
  /** For whom there are which. */
  readonly #served = new Map<string, readonly LaneRow[]>()

  constructor(sql: Statements) {
    this.#sql = sql
  }

  /** Made if there is none. */
  of(kind: Kind, { queue, name, priority }: Named): number {
    const asked = [kind, queue, name, priority]
    const key = JSON.stringify(asked)
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const row = this.#sql.lane.get(...asked) ?? this.#sql.insertLane.get(...asked)
    const { lane } = row as LaneRow
    this.#known.set(key, lane)
    this.#served.clear()
    return lane
  }

  /** Higher priorities first; among equals a different one begins each time, so that none starves. */
  served(kind: Kind, { queues, workflows, activities, nonce }: ClaimRequest): number[] {
    const names = kind === 'run' ? workflows : activities
    const key = JSON.stringify([kind, queues, names])
    const rows = this.#served.get(key) ?? this.#read(kind, queues, names)
    this.#served.set(key, rows)
    const place = (lane: number): number => ((lane + (nonce % 65_521)) * 40_503) % 65_521
    return [...rows]
      .sort((a, b) => b.priority - a.priority || place(a.lane) - place(b.lane))
      .map(({ lane }) => lane)
  }

  forget(): void {
    this.#known.clear()
    this.#served.clear()
  }

  #read(kind: Kind, queues: readonly string[], names: readonly string[] | null): LaneRow[] {
    const wanted = names === null ? null : JSON.stringify(names)
    const rows = this.#sql.lanes.all(kind, JSON.stringify(queues), wanted, wanted)
    return rows as unknown as LaneRow[]
  }
}
