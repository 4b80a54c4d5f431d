// The reading half of the SQLite store. Nothing here writes.

import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { limits } from '../../core/base/limits.ts'
import {
  type EndedPage,
  type EndedQuery,
  type GroupBy,
  Groups,
  type HistoryPage,
  type Listed,
  type ListQuery,
  type LoadAsk,
  type Loaded,
  type RunGroup,
  type StoredTurn,
} from '../../core/stores/driver.ts'
import { ALL, both, boundsOf, type Condition as SqlCondition } from '../sql/conditions.ts'
import { endedPage, endedValues, loadedOf, type PlainAsk, valuesOf } from '../sql/loaded.ts'
import { cursorOf, type SnapshotColumns, snapshotOf, type TurnColumns, turnOf } from '../sql/rows.ts'
import { type PageAsk, pageOfRows, pageValues } from '../sql/streams.ts'
import { GROUP_KEYS, stateJoins } from '../sql/texts.ts'
import { aspectsOf, conditionOf, NEWEST, type Plan, plansOf, restOf, type Source } from './sources.ts'
import type { Statements } from './statements.ts'
import { SNAPSHOT, sqliteDialect } from './statements.ts'

export class SqliteReader {
  readonly #database: DatabaseSync
  readonly #sql: Statements
  readonly #version: StatementSync

  constructor(database: DatabaseSync, sql: Statements) {
    this.#database = database
    this.#sql = sql
    this.#version = database.prepare('pragma data_version')
  }

  load(ask: LoadAsk, now: number): Loaded {
    if (ask.type === 'stream') return this.#stream(ask)
    if (ask.type !== 'history') return loadedOf(ask, this.#statementOf(ask).all(...valuesOf(ask, now)), now)
    const { runId, generation = this.#generation(runId), after, turns, before } = ask
    const values = [runId, after, turns, generation]
    const { history, historyBefore } = this.#sql
    if (before === undefined) return { type: 'history', ...firstOf(history.iterate(...values)) }
    const page = firstOf(historyBefore.iterate(...values, before))
    return { type: 'history', ...page, turns: page.turns.toReversed() }
  }

  ended(query: EndedQuery, now: number): EndedPage {
    return endedPage(this.#sql.endedRuns.all(...endedValues(query, now)), query, now)
  }

  #statementOf({ type }: PlainAsk): StatementSync {
    const { snapshot: run, newest: named, tasksOfRun: tasks, notes, sessions, queues, streams } = this.#sql
    return { run, named, tasks, notes, sessions, queues, streams }[type]
  }

  #stream(ask: PageAsk): Loaded {
    const { streamPage, streamBatches } = this.#sql
    const values = pageValues(ask)
    const rows = streamPage.all(...values.stream) as unknown as Parameters<typeof pageOfRows>[0]
    const batches = streamBatches.all(...values.batches) as unknown as Parameters<typeof pageOfRows>[1]
    const page = pageOfRows(rows, batches, ask.from)
    return { type: 'stream', ...(page && { page }) }
  }

  list(query: ListQuery, slice: Slice): Promise<Listed> {
    return new RunLister(this.#database, query, slice).list()
  }

  dataVersion(): number {
    return (this.#version.get() as { data_version: number }).data_version
  }

  #generation(runId: string): number {
    const row = this.#sql.generation.get(runId, runId) as { generation: number } | undefined
    return row?.generation ?? 1
  }
}

/** As many turns as fit in a page. */
function firstOf(rows: Iterable<unknown>): HistoryPage {
  const turns: StoredTurn[] = []
  let bytes = 0
  for (const row of rows) {
    const turn = turnOf(row as TurnColumns)
    turns.push(turn)
    bytes += turn.body.length
    if (bytes >= limits.historyPageBytes) return { turns, more: true }
  }
  return { turns }
}

// Lists and counts runs without walking through all of them. The query says where to look: at one workflow id, at the
// runs of a name, at those with a status, at those in progress, or at those with an attribute. The smallest of these
// sources is walked, and every condition is tested on its rows. A walk is done in slices with a pause between two,
// because a read blocks the process, with its timers and renewals.

type Condition = SqlCondition<SQLInputValue>

const STATES = stateJoins(sqliteDialect)
const NEWEST_FIRST: Plan = { sources: [NEWEST], covers: ['created'] }

/** Does one short read, after a pause unless it is the first. */
export type Slice = <T>(read: (now: number) => T) => Promise<T>

/** The row behind which a walk continues; absent at its start. */
type Place = readonly SQLInputValue[] | undefined

type Match = { readonly created_at: number; readonly run_id: string }

export class RunLister {
  readonly #database: DatabaseSync
  readonly #query: ListQuery
  readonly #slice: Slice

  constructor(database: DatabaseSync, query: ListQuery, slice: Slice) {
    this.#database = database
    this.#query = query
    this.#slice = slice
  }

  async list(): Promise<Listed> {
    const { plan, isSmall } = await this.#slice(() => this.#plan())
    if (this.#query.count) return { runs: [], count: await this.#count(plan) }
    if (this.#query.groupBy) return { runs: [], groups: await this.#groups(plan, this.#query.groupBy) }
    const { limit } = this.#query
    const found = await this.#find(plan, isSmall, limit + 1)
    const page = found.slice(0, limit)
    const last = page.at(-1)
    const more = found.length > page.length && last ? { cursor: cursorOf(last) } : {}
    return { runs: await this.#shown(page), ...more }
  }

  /** The smallest plan, or the first if all are large. */
  #plan(): { plan: Plan; isSmall: boolean } {
    const plans = plansOf(this.#query, this.#database).filter((plan) => this.#isReadable(plan))
    const covering = this.#query.count && plans.find((plan) => this.#isCovered(plan))
    if (covering) return { plan: covering, isSmall: false }
    const sizes = plans.map(({ sources }) => this.#sizeOf(sources))
    const least = Math.min(...sizes)
    return { plan: plans[sizes.indexOf(least)] as Plan, isSmall: least < limits.listSliceRuns }
  }

  /** False for a range that is too large to be read at once. */
  #isReadable(plan: Plan): boolean {
    if (plan.sources.every(({ isRange }) => !isRange)) return true
    const isCovered = this.#isCovered(plan)
    const { count, countMost = Number.POSITIVE_INFINITY } = this.#query
    if (count && isCovered && countMost <= limits.listRangeRuns) return true
    const most = isCovered ? limits.listRangeRuns : limits.listSliceRuns
    return this.#sizeOf(plan.sources, most) < most
  }

  /** How many rows there are to walk through, up to one slice. */
  #sizeOf(sources: readonly Source[], most: number = limits.listSliceRuns): number {
    let size = 0
    for (const source of sources) size += this.#countRows(source, this.#startOf(source), most - size)
    return size
  }

  #countRows(source: Source, from: Place, most: number): number {
    const { where, values } = both(this.#rest(source, from), source.filter ?? ALL)
    const rows = `select 1 from ${tableOf(source)} where ${where} limit ?`
    const statement = this.#database.prepare(`select count(*) as size from (${rows})`)
    return (statement.get(...values, most) as { size: number }).size
  }

  async #find(plan: Plan, isSmall: boolean, limit: number): Promise<Match[]> {
    const { sources } = plan
    if (!isSmall && sources.some(({ isOrdered }) => !isOrdered)) {
      // Runs that match may be common. Then there are enough of them among the newest.
      const first = await this.#matches(NEWEST_FIRST, NEWEST, limit, limits.listNewestSlices)
      if (first.length >= limit) return first
    }
    const found = new Map<string, Match>()
    for (const source of sources) {
      for (const match of await this.#matches(plan, source, limit)) found.set(match.run_id, match)
    }
    return newestFirst([...found.values()]).slice(0, limit)
  }

  /**
   * The newest runs of a source that match the query. With a number of slices, it gives up when those will not have
   * enough.
   */
  async #matches(plan: Plan, source: Source, limit: number, slices = Number.POSITIVE_INFINITY): Promise<Match[]> {
    const rest = restOf(this.#query, plan)
    const { where, values } = conditionOf(rest)
    let matches: Match[] = []
    let walked = 0
    // If matches are common, a page is full soon.
    const isQuick = source.isOrdered && slices > 1
    const size = isQuick ? Math.min(2 * limit, limits.listSliceRuns) : limits.listSliceRuns
    await this.#walk(source, size, (range) => {
      const text = `select run.created_at, run.run_id from ${joined(source, range, rest)} where ${where}
        order by run.created_at desc, run.run_id desc limit ?`
      const rows = this.#database.prepare(text).all(...range.values, ...values, limit) as unknown as Match[]
      matches = newestFirst([...matches, ...rows]).slice(0, limit)
      if (source.isOrdered && matches.length >= limit) return true
      walked++
      return walked >= slices || matches.length * slices < limit * walked
    })
    return matches
  }

  /** True if every run of the plan's sources matches the query. */
  #isCovered({ covers }: Plan): boolean {
    return aspectsOf(this.#query).every((aspect) => covers.includes(aspect))
  }

  async #count(plan: Plan): Promise<number> {
    const { sources } = plan
    const isCovered = this.#isCovered(plan)
    const rest = restOf(this.#query, plan)
    const { where, values } = conditionOf(rest)
    const size = isCovered ? limits.countSliceRuns : limits.listSliceRuns
    const { countMost = Number.POSITIVE_INFINITY } = this.#query
    let total = 0
    for (const source of sources) {
      if (total >= countMost) break
      await this.#walk(source, size, (range) => {
        if (source.isRange && isCovered) {
          total += this.#countRows(source, undefined, Math.min(countMost, Number.MAX_SAFE_INTEGER) - total)
          return true
        }
        const from = isCovered ? rowsOf(source, range) : joined(source, range, rest)
        const statement = this.#database.prepare(`select count(*) as count from ${from} where ${where}`)
        total += (statement.get(...range.values, ...values) as { count: number }).count
        return total >= countMost
      })
    }
    return Math.min(total, countMost)
  }

  async #groups(plan: Plan, by: GroupBy): Promise<RunGroup[]> {
    const groups = new Groups(by)
    const rest = restOf(this.#query, plan)
    const { where, values } = conditionOf(rest)
    const key = GROUP_KEYS[by]
    for (const source of plan.sources) {
      await this.#walk(source, limits.listSliceRuns, (range) => {
        const text = `select ${key} as key, count(*) as count, min(run.created_at) as oldest
          from ${joined(source, range, rest)} join pawl_lane l on l.lane = run.lane
          where ${where} and ${key} is not null group by 1`
        const rows = this.#database.prepare(text).all(...range.values, ...values)
        for (const group of rows as unknown as RunGroup[]) groups.add(group)
        return false
      })
    }
    return groups.largest(this.#query.limit)
  }

  /** Walks through a source in slices, at first of `size` rows, until `visit` returns true. */
  async #walk(source: Source, size: number, visit: (range: Condition) => boolean): Promise<void> {
    if (source.isRange) {
      const range = both(this.#rest(source, undefined), source.filter ?? ALL)
      await this.#slice(() => visit(range))
      return
    }
    const { columns, order, until } = walkOf(source)
    let from = this.#startOf(source)
    let width = size
    for (let isDone = false; !isDone; ) {
      isDone = await this.#slice(() => {
        const rest = this.#rest(source, from)
        const border = this.#database.prepare(
          `select ${columns.join(', ')} from ${tableOf(source)} where ${rest.where} order by ${order} limit 1 offset ?`,
        )
        const last = border.get(...rest.values, width - 1)
        const to = last && columns.map((column) => last[column] as SQLInputValue)
        const slice = to ? both(source, beyond(source, from), { where: until, values: to }) : rest
        const isEnough = visit(both(slice, source.filter ?? ALL))
        from = to
        width = Math.min(width * 4, Math.max(size, limits.listSliceRuns))
        return isEnough || to === undefined
      })
    }
  }

  #startOf({ isOrdered }: Source): Place {
    return isOrdered ? boundsOf(this.#query).behind : undefined
  }

  /** The rest of a source behind a place. Never two bounds on one side, because SQLite would use only one of them. */
  #rest(source: Source, from: Place): Condition {
    const { since } = boundsOf(this.#query)
    const isBounded = source.isOrdered && since !== undefined
    const end = isBounded ? { where: 'created_at >= ?', values: [since] } : ALL
    return both(source, beyond(source, from), end)
  }

  /** The condition is tested again, because a run may have changed since it was found. */
  async #shown(page: readonly Match[]): Promise<Listed['runs']> {
    const { where, values } = conditionOf(this.#query)
    const text = `${SNAPSHOT} where run.run_id in (select value from json_each(?)) and ${where}
      order by run.created_at desc, run.run_id desc`
    const shown: Listed['runs'][number][] = []
    for (let at = 0; at < page.length; at += limits.listShownRuns) {
      const ids = page.slice(at, at + limits.listShownRuns).map(({ run_id }) => run_id)
      const runs = await this.#slice((now) => {
        const rows = this.#database.prepare(text).all(JSON.stringify(ids), ...values) as unknown
        return (rows as SnapshotColumns[]).map((row) => snapshotOf(row, now))
      })
      shown.push(...runs)
    }
    return shown
  }
}

/** The order of a source, and how its places are compared. */
function walkOf({ isOrdered }: Source): {
  readonly columns: readonly string[]
  readonly order: string
  readonly behind: string
  readonly until: string
} {
  if (!isOrdered) return { columns: ['run_id'], order: 'run_id', behind: 'run_id > ?', until: 'run_id <= ?' }
  return {
    columns: ['created_at', 'run_id'],
    order: 'created_at desc, run_id desc',
    behind: '(created_at, run_id) < (?, ?)',
    until: '(created_at, run_id) >= (?, ?)',
  }
}

function beyond(source: Source, from: Place): Condition {
  return from ? { where: walkOf(source).behind, values: from } : ALL
}

function tableOf({ table, index }: Source): string {
  return index === undefined ? table : `${table} indexed by ${index}`
}

function rowsOf(source: Source, range: Condition): string {
  return `(select run_id from ${tableOf(source)} where ${range.where})`
}

/** Rows of a source joined with what the rest of the query is tested on; the source is walked first. */
function joined(source: Source, range: Condition, { statuses, reason, pin, groupBy }: ListQuery): string {
  const states = statuses ?? reason ?? pin ?? groupBy
  const more = states === undefined ? '' : STATES
  if (source.table === 'pawl_run') {
    return `(select run_id, lane, workflow_id, parent_id, created_at from ${tableOf(source)} where ${range.where}) run ${more}`
  }
  return `${rowsOf(source, range)} found cross join pawl_run run on run.run_id = found.run_id ${more}`
}

function newestFirst(matches: Match[]): Match[] {
  return matches.sort((a, b) => b.created_at - a.created_at || (a.run_id < b.run_id ? 1 : a.run_id > b.run_id ? -1 : 0))
}
