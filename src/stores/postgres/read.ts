// The reading half of the Postgres store. Nothing here writes.
import { unreachable } from '../../core/base/assert.ts'
import { limits } from '../../core/base/limits.ts'
import type {
  EndedPage,
  EndedQuery,
  GroupBy,
  Listed,
  ListQuery,
  LoadAsk,
  Loaded,
  RunGroup,
  RunSnapshot,
  Status,
  StoredBatch,
} from '../../core/stores/driver.ts'
import { ALL, both, type Condition, conditionOf } from '../sql/conditions.ts'
import { endedPage, endedValues, loadedOf, type PlainAsk, valuesOf } from '../sql/loaded.ts'
import {
  cursorOf,
  onlyStates,
  type SnapshotColumns,
  snapshotOf,
  statusesOf,
  type TurnColumns,
  turnOf,
} from '../sql/rows.ts'
import { type PageAsk, pageOfRows, pageValues, type StreamColumns, streamTexts } from '../sql/streams.ts'
import { type Dialect, GROUP_KEYS, joins, loadTexts, snapshot, stateJoins } from '../sql/texts.ts'
import {
  hasAttribute,
  hasReason,
  hasStatus,
  isNamed,
  isPinned,
  numbered,
  type Places,
  postgresDialect,
} from './dialect.ts'
import { nameOf } from './functions/index.ts'
import { DEAD } from './functions/transaction.ts'

type Query = <Row>(text: string, values: readonly unknown[], name?: string) => Promise<Row[]>

export class PostgresReader {
  readonly #query: Query
  readonly #schema: string
  readonly #dialect: Dialect
  readonly #texts: ReturnType<typeof loadTexts>
  readonly #streams: ReturnType<typeof streamTexts>

  constructor(query: Query, schema: string) {
    this.#query = query
    this.#schema = schema
    this.#dialect = postgresDialect(schema)
    this.#texts = loadTexts(this.#dialect)
    this.#streams = streamTexts(this.#dialect)
  }

  async load(asks: readonly LoadAsk[], now: number | null): Promise<readonly Loaded[]> {
    const runIds = asks.flatMap((ask) => (ask.type === 'run' ? [ask.runId] : []))
    const runs = runIds.length > 0 ? await this.#runs(runIds, now) : new Map<string, RunSnapshot>()
    return Promise.all(asks.map((ask) => this.#loadOne(ask, runs, now)))
  }

  async list(query: ListQuery, now: number | null): Promise<Listed> {
    const simple = onlyStates(query)
    if (simple) return { runs: [], count: await this.#count(query, simple) }
    const lanes = query.names && (await this.#lanesOf(query.names))
    if (lanes?.length === 0) return { runs: [], ...(query.count && { count: 0 }), ...(query.groupBy && { groups: [] }) }
    const table = this.#tableOf(query.statuses)
    // A count that needs nothing of `run` reads half as much without it.
    const counted = query.count && !needsRun(query) ? table : undefined
    const places = await this.#placesOf(query.attributes)
    const { where, values } = conditionOf<unknown>(query, {
      names: () => ({ where: 'run.lane = any(?)', values: [lanes] }),
      statuses: hasStatus,
      workflowId: isNamed,
      parentId: (parentId) => ({ where: 'run.parent_id = ?', values: [parentId] }),
      reason: (reason) => hasReason(reason, table),
      pin: (pin) => isPinned(pin, table, this.#dialect),
      attribute: (test) => hasAttribute(test, places.get(test) ?? 'values', this.#dialect, counted ?? 'run'),
    })
    if (query.groupBy)
      return { runs: [], groups: await this.#groups(query.groupBy, query.limit, table, { where, values }) }
    if (query.count) {
      const rows = counted
        ? `${this.#dialect.table(counted)} ${counted}`
        : `${this.#dialect.table('run')} run ${stateJoins(this.#dialect, table)}`
      const found = `select 1 from ${rows} where ${where}`
      return { runs: [], count: await this.#countOf(query, [{ where: found, values }]) }
    }
    const found = `${snapshot(this.#dialect, table)} where ${where}`
    const order = `order by run.created_at desc, run.run_id desc limit ${query.limit + 1}`
    const [time, rows] = await Promise.all([
      this.#clock(now),
      this.#query<SnapshotColumns>(numbered(`${found} ${order}`), values),
    ])
    const page = rows.slice(0, query.limit)
    const last = page.at(-1)
    const more = rows.length > page.length && last ? { cursor: cursorOf(last) } : {}
    return { runs: page.map((row) => snapshotOf(row, time)), ...more }
  }

  /** The table that has all runs with these statuses, if one has: it may be much smaller than all runs. */
  #tableOf(statuses: readonly Status[] = []): 'live' | 'closed' | undefined {
    const { live, closed } = statusesOf(statuses)
    if (live.length > 0 === closed.length > 0) return undefined
    return live.length > 0 ? 'live' : 'closed'
  }

  async #lanesOf(names: readonly string[]): Promise<number[]> {
    const text = `select lane from ${this.#schema}.lane where kind = 'run' and name = any($1)`
    const rows = await this.#query<{ lane: number }>(text, [names], 'lanes of names')
    return rows.map(({ lane }) => lane)
  }

  /** Which tables have runs with the text of each test. The plan for one table is much better than that for both. */
  async #placesOf(tests: ListQuery['attributes'] = []): Promise<Places> {
    // By order, so that the first is found in the index, however common the text is.
    const first = (table: string): string => `(select text from ${this.#schema}.${table}
      where name = $1 and text >= $2 order by text limit 1) is not distinct from $2`
    const text = `select ${first('attribute')} as value, ${first('attribute_item')} as item`
    const found = tests.map(async (test) => {
      if (test.is !== 'eq' || typeof test.value !== 'string') return [test, 'values'] as const
      type Row = { readonly value: boolean; readonly item: boolean }
      const [row] = await this.#query<Row>(text, [test.name, test.value], 'places')
      return [test, !row?.item ? 'values' : row.value ? 'both' : 'lists'] as const
    })
    return new Map(await Promise.all(found))
  }

  /** Counts runs by what only the tables of their states have. */
  async #count(query: ListQuery, { live, closed }: { live: Status[]; closed: Status[] }): Promise<number> {
    const { reason } = query
    const statesIn = (table: 'live' | 'closed', statuses: readonly Status[]): Condition => {
      const tests = both(hasStatus(statuses), reason === undefined ? ALL : hasReason(reason, table))
      return { where: `select 1 from ${this.#schema}.${table} where ${tests.where}`, values: tests.values }
    }
    const parts = [
      ...(live.length > 0 ? [statesIn('live', live)] : []),
      ...(closed.length > 0 ? [statesIn('closed', closed)] : []),
    ]
    return parts.length === 0 ? 0 : this.#countOf(query, parts)
  }

  #groups(by: GroupBy, limit: number, table: 'live' | 'closed' | undefined, of: Condition): Promise<RunGroup[]> {
    const key = GROUP_KEYS[by]
    const text = `select (${key}) collate "C" as key, count(*)::int4 as count, min(run.created_at) as oldest
      from ${this.#dialect.table('run')} run ${joins(this.#dialect, table)}
      where ${of.where} and ${key} is not null
      group by 1 order by 2 desc, 1 limit ${limit}`
    return this.#query<RunGroup>(numbered(text), of.values)
  }

  async #countOf({ countMost }: ListQuery, parts: readonly Condition[]): Promise<number> {
    const found = parts.map(({ where }) => `(${where})`).join(' union all ')
    const most = countMost === undefined ? '' : `limit ${countMost}`
    const text = numbered(`select count(*)::int4 as count from (${found} ${most}) found`)
    const values = parts.flatMap((part) => part.values)
    const [row] = await this.#query<{ count: number }>(text, values)
    return row?.count ?? 0
  }

  async #loadOne(ask: LoadAsk, runs: ReadonlyMap<string, RunSnapshot>, now: number | null): Promise<Loaded> {
    switch (ask.type) {
      case 'run': {
        const run = runs.get(ask.runId)
        return { type: 'run', ...(run && { run }) }
      }
      case 'history':
        return this.#history(ask)
      case 'named': {
        const text = `select ${nameOf(this.#schema, 'newest')}(?) as run_id`
        return loadedOf(ask, await this.#read(text, ask), 0)
      }
      case 'sessions': {
        // A session whose rows could not all be freed is dead, and kept until they are.
        const text = this.#texts.sessions.replace('order by', `where expires_at > ${DEAD} order by`)
        const [time, rows] = await Promise.all([this.#clock(now), this.#read(text, ask)])
        return loadedOf(ask, rows, time)
      }
      case 'queues': {
        const time = await this.#clock(now)
        return loadedOf(ask, await this.#query(numbered(this.#texts.queues), valuesOf(ask, time), ask.type), time)
      }
      case 'streams':
        return loadedOf(ask, await this.#read(this.#streams.streams, ask), 0)
      case 'stream':
        return this.#stream(ask)
      case 'tasks':
      case 'notes':
        return loadedOf(ask, await this.#read(this.#texts[ask.type], ask), 0)
      default:
        return unreachable(ask)
    }
  }

  async ended(query: EndedQuery, now: number | null): Promise<EndedPage> {
    const time = await this.#clock(now)
    const rows = await this.#query(numbered(this.#texts.ended), endedValues(query, time), 'ended')
    return endedPage(rows, query, time)
  }

  async #stream(ask: PageAsk): Promise<Loaded> {
    const { stream, batches } = this.#streams
    const values = pageValues(ask)
    const rows = await this.#query<StreamColumns>(numbered(stream), values.stream, 'stream')
    const found = await this.#query<StoredBatch>(numbered(batches), values.batches, 'stream batches')
    const page = pageOfRows(rows, found, ask.from)
    return { type: 'stream', ...(page && { page }) }
  }

  #read(text: string, ask: PlainAsk): Promise<unknown[]> {
    return this.#query(numbered(text), valuesOf(ask), ask.type)
  }

  // A page of turns, also bounded by bytes. The inner limit avoids sorting the whole rest of a long history.
  async #history(ask: Extract<LoadAsk, { type: 'history' }>): Promise<Loaded> {
    const [name, order] = ask.before === undefined ? ['history', 'seq'] : ['history before', 'seq desc']
    const of = 'run_id = $1 and generation = $4 and seq >= $2::bigint and seq < $5::bigint'
    const text = `
      select seq, count, turn_id, epoch, body, found from (
        select *, count(*) over () as found, sum(octet_length(body)) over (order by ${order}) - octet_length(body) as before
        from ((select seq, count, turn_id, epoch, body from ${this.#schema}.turn
            where ${of} order by ${order} limit $3)
          union all (select seq, count, turn_id, epoch, body from ${this.#schema}.closed
            where ${of} and count > 0) order by ${order} limit $3) page) sized
      where before < ${limits.historyPageBytes} order by seq`
    const generation = ask.generation ?? (await this.#generation(ask.runId))
    const values = [ask.runId, ask.after, ask.turns, generation, ask.before ?? Number.MAX_SAFE_INTEGER]
    const rows = await this.#query<TurnColumns & { found: number }>(text, values, name)
    const isCut = rows.length < (rows[0]?.found ?? 0)
    return { type: 'history', turns: rows.map(turnOf), ...(isCut && { more: true }) }
  }

  async #generation(runId: string): Promise<number> {
    const text = numbered(this.#texts.generation)
    const [row] = await this.#query<{ generation: number }>(text, [runId, runId], 'generation')
    return row?.generation ?? 1
  }

  async #runs(runIds: readonly string[], now: number | null): Promise<Map<string, RunSnapshot>> {
    const time = `${nameOf(this.#schema, 'clock')}($2) as now, `
    const text = `${snapshot(this.#dialect, undefined, time)} where run.run_id = any($1)`
    const rows = await this.#query<SnapshotColumns & { now: number }>(text, [runIds, now], 'runs')
    return new Map(rows.map((row) => [row.run_id, snapshotOf(row, row.now)]))
  }

  async #clock(now: number | null): Promise<number> {
    const [row] = await this.#query<{ now: number }>(
      `select ${nameOf(this.#schema, 'clock')}($1) as now`,
      [now],
      'clock',
    )
    return row?.now ?? 0
  }
}

/** True if the query tests what only the row of the run itself has. */
function needsRun(query: ListQuery): boolean {
  const { names, workflowId, workflowIdPrefix, parentId, createdAfter, createdBefore, cursor } = query
  return [names, workflowId, workflowIdPrefix, parentId, createdAfter, createdBefore, cursor].some(
    (each) => each !== undefined,
  )
}
