// The queries of a claim: which runs and tasks it may be granted, and when the next is due. A run that is pinned to a
// build is for workers of that build; the others are shared out by the last four digits of their ids. Rows that are
// held, pinned to builds that are not served here, or paused by the claimer's own build are skipped in the indexes,
// however many there are.
import type { StatementSync } from 'node:sqlite'
import { limits } from '../../core/base/limits.ts'
import type { ClaimRequest } from '../../core/stores/driver.ts'
import type { Lanes } from './lanes.ts'
import type { LiveValues } from './run-row.ts'
import type { Statements } from './statements.ts'

/** The least and the greatest last digits of the ids of unpinned runs that the claimer serves. */
interface Share {
  readonly first: string
  readonly last: string
}

/** The last four digits of an id are a number below this. */
const SHARES = 65_536

const ALL: Share = { first: '0000', last: 'ffff' }

type At = { readonly at: number | null }
type Bound = Record<string, string | number | null>

/** The claimer's pins, `null` first for runs that are not pinned, and its share of those. */
interface Claimer {
  readonly pins: readonly (string | null)[]
  readonly bound: Share & { readonly build: string; readonly now: number }
}

export class DueRows {
  readonly #sql: Statements
  readonly #lanes: Lanes
  readonly #now: number

  constructor(sql: Statements, lanes: Lanes, now: number) {
    this.#sql = sql
    this.#lanes = lanes
    this.#now = now
  }

  /** In each lane those that are due first, then those that another build paused. */
  runs(request: ClaimRequest, limit: number): LiveValues[] {
    const claimer = this.#claimer(request)
    const lanes = this.#lanes.served('run', request)
    const due = new Set(this.#among(this.#sql.dueLanes, lanes, claimer))
    const parked = new Set(this.#among(this.#sql.parkedLanes, lanes, claimer))
    const found: LiveValues[] = []
    for (const lane of lanes) {
      if (found.length >= limit) break
      if (due.has(lane)) found.push(...this.#longestDue(lane, claimer, limit - found.length))
      if (parked.has(lane)) found.push(...this.#parked(lane, claimer, limit - found.length))
    }
    return found
  }

  /** Free runs whose holder died are in lanes of their own, so that `runs` never meets them. */
  suspects(request: ClaimRequest, holders: 1 | 2, limit: number): LiveValues[] {
    const claimer = this.#claimer(request)
    const lanes = this.#lanes.served('run', request).map((lane) => -lane)
    const found: LiveValues[] = []
    for (const lane of this.#among(this.#sql.dueLanes, lanes, claimer)) {
      if (found.length >= limit) break
      const statement = holders === 1 ? this.#sql.dueRuns : this.#sql.graveSuspect
      found.push(...this.#longestDue(lane, claimer, limit - found.length, statement))
    }
    return found
  }

  /** True if `runs` or `tasks` would find any, or `suspects` if they are wanted. */
  isAnything(request: ClaimRequest): boolean {
    if (request.runs > 0) {
      const claimer = this.#claimer(request)
      const lanes = this.#lanes.served('run', request)
      if (this.#among(this.#sql.dueLanes, lanes, claimer).length > 0) return true
      if (this.#among(this.#sql.parkedLanes, lanes, claimer).length > 0) return true
      const suspects = request.suspects > 0 ? lanes.map((lane) => -lane) : []
      if (this.#among(this.#sql.dueLanes, suspects, claimer).length > 0) return true
    }
    if (request.tasks === 0) return false
    const lanes = JSON.stringify(this.#lanes.served('task', request))
    return this.#sql.dueTaskLanes.get({ lanes, now: this.#now }) !== undefined
  }

  tasks<Row>(request: ClaimRequest, limit: number): Row[] {
    const found: Row[] = []
    const lanes = JSON.stringify(this.#lanes.served('task', request))
    for (const { lane } of all<{ lane: number }>(this.#sql.dueTaskLanes, {
      lanes,
      now: this.#now,
    })) {
      if (found.length >= limit) break
      const rows = this.#sql.dueTasks.all(lane, this.#now, limit - found.length) as unknown
      found.push(...(rows as Row[]))
    }
    return found
  }

  /** When the next is due, or when to look again because too many runs of other shares come before it. */
  next(request: ClaimRequest): number | undefined {
    const { pins, bound } = this.#claimer(request)
    const lanes = this.#lanes.served('run', request)
    const isShared = request.pins !== undefined
    const asked = { lanes: JSON.stringify(lanes), now: this.#now }
    const whole = JSON.stringify(isShared ? pins.slice(1) : pins)
    const [run] = all<At>(this.#sql.nextRunOfPins, { ...asked, pins: whole })
    const taskLanes = JSON.stringify(this.#lanes.served('task', request))
    const [task] = all<At>(this.#sql.nextTask, { ...asked, lanes: taskLanes })
    const shared = isShared ? lanes.map((lane) => this.#nextInShare(lane, bound)) : []
    const times = [run?.at, task?.at, ...shared].filter((at) => at !== null && at !== undefined)
    return times.length === 0 ? undefined : Math.min(...times)
  }

  #nextInShare(lane: number, { first, last }: Share): number | undefined {
    const look = (limit: number): { at: number; mine: number }[] =>
      all(this.#sql.nextRuns, { first, last, pin: null, lane, now: this.#now, limit })
    const [next] = look(1)
    if (!next || next.mine) return next?.at
    const many = look(limits.runsPassedMax)
    const furthest = many.length < limits.runsPassedMax ? undefined : many.at(-1)
    return (many.find((run) => run.mine) ?? furthest)?.at
  }

  #claimer({ pins, build }: ClaimRequest): Claimer {
    const { first, last } = pins ? shareOf(pins) : ALL
    return {
      pins: [null, ...(pins?.builds ?? [build])],
      bound: { first, last, build, now: this.#now },
    }
  }

  #among(statement: StatementSync, lanes: readonly number[], { pins, bound }: Claimer): number[] {
    if (lanes.length === 0) return []
    const { now, ...others } = bound
    const time = statement === this.#sql.parkedLanes ? {} : { now }
    const asked = { ...others, ...time, lanes: JSON.stringify(lanes), pins: JSON.stringify(pins) }
    return all<{ lane: number }>(statement, asked).map(({ lane }) => lane)
  }

  #longestDue(lane: number, { pins, bound }: Claimer, limit: number, statement = this.#sql.dueRuns): LiveValues[] {
    const count = statement === this.#sql.dueRuns ? { limit } : {}
    const found = pins.map((pin) => all<LiveValues>(statement, { ...bound, lane, pin, ...count }))
    const [some = [], ...others] = found.filter((rows) => rows.length > 0)
    if (others.length === 0) return some
    return found
      .flat()
      .sort((a, b) => a[2] - b[2])
      .slice(0, limit)
  }

  #parked(lane: number, { pins, bound }: Claimer, limit: number): LiveValues[] {
    const { now: _, ...others } = bound
    const found = pins.flatMap((pin) => all<LiveValues>(this.#sql.parkedRuns, { ...others, lane, pin, limit }))
    return found.slice(0, limit)
  }
}

function shareOf({ from, to }: { from: number; to: number }): Share {
  // Greater than all digits: between it and anything less is nothing.
  if (from >= to) return { first: 'g', last: '' }
  return { first: digits(from), last: digits(Math.min(to, SHARES) - 1) }
}

// As text they sort as they do as numbers.
function digits(share: number): string {
  return share.toString(16).padStart(4, '0')
}

function all<T>(statement: StatementSync, bound: Bound): T[] {
  return statement.all(bound) as unknown as T[]
}
