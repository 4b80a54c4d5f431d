// Which runs a claim may have, and when the next one is due. A run that is pinned to a build is for workers of that
// build; the others are shared out by the last four digits of their ids. What is held, pinned to builds that are not
// served here, or paused by the caller's own build is passed by in the indexes, however much of it there is.
import type { StatementSync } from 'node:sqlite'
import { limits } from '../../core/base/limits.ts'
import type { ClaimRequest } from '../../core/stores/driver.ts'
import type { Statements } from './statements.ts'

interface Share {
  /** The least and the greatest last digits of the ids of runs that are pinned to nothing. */
  readonly first: string
  readonly last: string
}

const ALL: Share = { first: '0000', last: 'ffff' }

type At = { readonly at: number | null }
type Found = { readonly run_id: string; readonly at: number }
type Bound = Record<string, string | number | null>

export class DueRuns {
  readonly #sql: Statements
  readonly #build: string
  /** Nothing first: runs that are not pinned. */
  readonly #pins: readonly (string | null)[]
  readonly #share: Share

  constructor(sql: Statements, { pins, build }: Pick<ClaimRequest, 'pins' | 'build'>) {
    this.#sql = sql
    this.#build = build
    this.#pins = [null, ...(pins?.builds ?? [build])]
    this.#share = pins ? shareOf(pins) : ALL
  }

  /** Those of these lanes that have a run that is due. */
  lanes(lanes: readonly number[], now: number): number[] {
    return this.#lanes(this.#sql.dueLanes, lanes, { now })
  }

  /** Those of these lanes that have a run that another build paused. */
  parkedLanes(lanes: readonly number[]): number[] {
    return this.#lanes(this.#sql.parkedLanes, lanes, {})
  }

  /** The longest due first. */
  runs(lane: number, now: number, limit: number): string[] {
    return this.#oldest(this.#sql.dueRuns, { lane, now, limit }, limit)
  }

  /** One that lost more than one holder. */
  grave(lane: number, now: number): string[] {
    return this.#oldest(this.#sql.graveSuspect, { lane, now }, 1)
  }

  parked(lane: number, limit: number): string[] {
    const found = this.#pins.flatMap((pin) =>
      all<Found>(this.#sql.parkedRuns, { ...this.#share, build: this.#build, pin, lane, limit }),
    )
    return found.slice(0, limit).map(({ run_id }) => run_id)
  }

  /** When the next run in these lanes is due, or when to look again because too many of other shares come before it. */
  next(lanes: readonly number[], now: number): number | undefined {
    const isShared = this.#share !== ALL
    const pins = JSON.stringify(isShared ? this.#pins.slice(1) : this.#pins)
    const [row] = all<At>(this.#sql.nextRunOfPins, { lanes: JSON.stringify(lanes), pins, now })
    const times = isShared ? lanes.map((lane) => this.#nextInShare(lane, now)) : []
    return earliest([row?.at ?? undefined, ...times])
  }

  #nextInShare(lane: number, now: number): number | undefined {
    const look = (limit: number): { at: number; mine: number }[] =>
      all(this.#sql.nextRuns, { ...this.#share, pin: null, lane, now, limit })
    const [first] = look(1)
    if (!first || first.mine) return first?.at
    const many = look(limits.runsPassedMax)
    const last = many.length < limits.runsPassedMax ? undefined : many.at(-1)
    return (many.find((run) => run.mine) ?? last)?.at
  }

  #lanes(statement: StatementSync, lanes: readonly number[], bound: Bound): number[] {
    const [given, pins] = [JSON.stringify(lanes), JSON.stringify(this.#pins)]
    const asked = { ...this.#share, ...bound, build: this.#build, lanes: given, pins }
    return all<{ lane: number }>(statement, asked).map(({ lane }) => lane)
  }

  #oldest(statement: StatementSync, bound: Bound, limit: number): string[] {
    const found = this.#pins.flatMap((pin) =>
      all<Found>(statement, { ...this.#share, ...bound, build: this.#build, pin }),
    )
    return found
      .sort((a, b) => a.at - b.at)
      .slice(0, limit)
      .map(({ run_id }) => run_id)
  }
}

export function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

function shareOf({ from, to }: { from: number; to: number }): Share {
  // Greater than all digits: between it and anything less is nothing.
  if (from >= to) return { first: 'g', last: '' }
  return { first: digits(from), last: digits(to - 1) }
}

// As text they sort as they do as numbers.
function digits(share: number): string {
  return share.toString(16).padStart(4, '0')
}

function all<T>(statement: StatementSync, bound: Bound): T[] {
  return statement.all(bound) as unknown as T[]
}
