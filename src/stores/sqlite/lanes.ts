// The lanes of runs and tasks: one for each queue, name and priority. They are few and never change, so they are kept
// in memory until another connection has written, or a transaction that added some was rolled back.
import { type ClaimRequest, compareRanks, rankOf } from '../../core/stores/driver.ts'
import type { Statements } from './statements.ts'

type Kind = 'run' | 'task'
type Named = { readonly queue: string; readonly name: string; readonly priority: number }
type LaneRow = Named & { readonly lane: number }

export class Lanes {
  readonly #sql: Statements
  readonly #known = new Map<string, number>()
  /** By the queues and names that are served. */
  readonly #served = new Map<string, readonly LaneRow[]>()
  /** The answers for the last request, because a claim asks several times. */
  #last: { readonly request: ClaimRequest; run?: number[]; task?: number[] } | undefined

  constructor(sql: Statements) {
    this.#sql = sql
  }

  /** Added if there is none. */
  of(kind: Kind, { queue, name, priority }: Named): number {
    const key = `${kind} ${priority} ${queue}\n${name}`
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const asked = [kind, queue, name, priority]
    const row = this.#sql.lane.get(...asked) ?? this.#sql.insertLane.get(...asked)
    const { lane } = row as LaneRow
    this.#known.set(key, lane)
    this.#forgetServed()
    return lane
  }

  /** The lanes that a claim is for, in the claim order. */
  served(kind: Kind, request: ClaimRequest): readonly number[] {
    if (this.#last?.request !== request) this.#last = { request }
    this.#last[kind] ??= this.#ordered(kind, request)
    return this.#last[kind]
  }

  #ordered(kind: Kind, { queues, workflows, activities, nonce }: ClaimRequest): number[] {
    const names = kind === 'run' ? workflows : activities
    const key = JSON.stringify([kind, queues, names])
    const rows = this.#served.get(key) ?? this.#read(kind, queues, names)
    this.#served.set(key, rows)
    const ranked = rows.map((row) => ({ lane: row.lane, ...rankOf(row, nonce) }))
    return ranked.sort(compareRanks).map(({ lane }) => lane)
  }

  forget(): void {
    this.#known.clear()
    this.#forgetServed()
  }

  #forgetServed(): void {
    this.#served.clear()
    this.#last = undefined
  }

  #read(kind: Kind, queues: readonly string[], names: readonly string[] | null): LaneRow[] {
    const wanted = names === null ? null : JSON.stringify(names)
    const rows = this.#sql.lanes.all(kind, JSON.stringify(queues), wanted, wanted)
    return rows as unknown as LaneRow[]
  }
}
