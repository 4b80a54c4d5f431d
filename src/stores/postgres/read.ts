// The reading half of the Postgres store. Nothing here writes.
import { unreachable } from '../../core/base/assert.ts'
import { isUuid } from '../../core/base/digest.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import type {
  Listed,
  ListQuery,
  LoadAsk,
  Loaded,
  RunSnapshot,
  Status,
} from '../../core/stores/driver.ts'
import {
  cursorOf,
  type NoteColumns,
  notesOf,
  onlyStatuses,
  readCursor,
  type SessionColumns,
  type SnapshotColumns,
  sessionOf,
  snapshotOf,
  statusesOf,
  type TaskColumns,
  type TurnColumns,
  taskSnapshotOf,
  turnOf,
} from '../sql/rows.ts'
import { attributeCondition, type Places } from './attribute-condition.ts'
import { nameOf } from './functions/index.ts'
import { DEAD } from './functions/sessions.ts'

const LIVE_STATUS = `case when live.compensating and live.status in ('running', 'waiting') then 'compensating'
  else live.status end`
const STATUS = `coalesce(${LIVE_STATUS}, closed.status)`

type Query = <Row>(text: string, values: readonly unknown[], name?: string) => Promise<Row[]>

export class PostgresReader {
  readonly #query: Query
  readonly #schema: string
  readonly #snapshot: string

  constructor(query: Query, schema: string) {
    this.#query = query
    this.#schema = schema
    this.#snapshot = `
      select run.run_id, l.name, l.queue, l.priority, run.workflow_id, run.parent_id, run.parent_generation,
        run.parent_key, run.created_at, run.input, run.extras, coalesce(live.generation, closed.generation) as generation,
        ${STATUS} as status, coalesce(live.pin, closed.pin) as pin, coalesce(live.updated_at, closed.closed_at) as updated_at,
        closed.closed_at, closed.body as last, live.at, live.session, live.epoch, live.deliveries, live.parked_build,
        live.parked_failure, (select count(*) from ${schema}.inbox where inbox.run_id = run.run_id) as unread,
        (select json_agg(json_build_object('name', a.name, 'kind', a.kind, 'text', a.text, 'number', a.number))
          from ${schema}.attribute a where a.run_id = run.run_id) as attributes,
        (select json_agg(json_build_object('name', i.name, 'text', i.text) order by i.place)
          from ${schema}.attribute_item i where i.run_id = run.run_id) as items
      from ${schema}.run join ${schema}.lane l on l.lane = run.lane
        left join ${schema}.live on live.run_id = run.run_id
        left join ${schema}.closed on closed.run_id = run.run_id`
  }

  async load(asks: readonly LoadAsk[], now: number | null): Promise<readonly Loaded[]> {
    const runIds = asks.flatMap((ask) => (ask.type === 'run' ? [ask.runId] : []))
    const runs = runIds.length > 0 ? await this.#runs(runIds, now) : new Map<string, RunSnapshot>()
    return Promise.all(asks.map((ask) => this.#loadOne(ask, runs, now)))
  }

  async list(query: ListQuery, now: number | null): Promise<Listed> {
    const simple = onlyStatuses(query)
    if (simple) return { runs: [], count: await this.#count(simple) }
    const lanes = query.names && (await this.#lanesOf(query.names))
    if (lanes?.length === 0) return { runs: [], ...(query.count && { count: 0 }) }
    const places = await this.#placesOf(query.attributes)
    const { where, values } = conditions(query, lanes, places, this.#schema)
    const snapshot = this.#joined(query.statuses)
    if (query.count) {
      const text = `select count(*)::int4 as count from (${snapshot} where ${where}) found`
      const [row] = await this.#query<{ count: number }>(text, values)
      return { runs: [], count: row?.count ?? 0 }
    }
    const text = `${snapshot} where ${where} order by run.created_at desc, run.run_id desc limit ${query.limit + 1}`
    const [time, found] = await Promise.all([
      this.#clock(now),
      this.#query<SnapshotColumns>(text, values),
    ])
    const page = found.slice(0, query.limit)
    const last = page.at(-1)
    const more = found.length > page.length && last ? { cursor: cursorOf(last) } : {}
    return { runs: page.map((row) => snapshotOf(row, time)), ...more }
  }

  /** Only the table that the runs in question are in is joined: it may be much smaller than all runs. */
  #joined(statuses: readonly Status[] = []): string {
    const { live, closed } = statusesOf(statuses)
    if (live.length > 0 === closed.length > 0) return this.#snapshot
    const table = `${this.#schema}.${live.length > 0 ? 'live' : 'closed'}`
    return this.#snapshot.replace(`left join ${table} on`, `join ${table} on`)
  }

  async #lanesOf(names: readonly string[]): Promise<number[]> {
    const text = `select lane from ${this.#schema}.lane where kind = 'run' and name = any($1)`
    const rows = await this.#query<{ lane: number }>(text, [names], 'lanes of names')
    return rows.map(({ lane }) => lane)
  }

  /** Where runs with the text of each test are. The plan for one table is much better than that for both. */
  async #placesOf(tests: ListQuery['attributes'] = []): Promise<Places> {
    // By order, so that the first is looked up in the index however common it is.
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

  async #count({ live, closed }: { live: Status[]; closed: Status[] }): Promise<number> {
    const tables = closed.length === 0 ? ['live'] : ['live', 'closed']
    const counts = tables.map((table) => {
      const test = table === 'live' ? `${LIVE_STATUS} = any($1)` : 'status = any($2)'
      return `(select count(*) from ${this.#schema}.${table} where ${test})`
    })
    const values = closed.length === 0 ? [live] : [live, closed]
    const text = `select (${counts.join(' + ')})::int4 as count`
    const [row] = await this.#query<{ count: number }>(text, values)
    return row?.count ?? 0
  }

  async #loadOne(
    ask: LoadAsk,
    runs: ReadonlyMap<string, RunSnapshot>,
    now: number | null,
  ): Promise<Loaded> {
    switch (ask.type) {
      case 'run': {
        const run = runs.get(ask.runId)
        return { type: 'run', ...(run && { run }) }
      }
      case 'named':
        return this.#named(ask.workflowId)
      case 'history':
        return this.#history(ask)
      case 'tasks': {
        const text = `select t.*, l.name, l.queue from ${this.#schema}.task t
          join ${this.#schema}.lane l on l.lane = t.lane where t.run_id = $1 order by t.task_id`
        const rows = await this.#query<TaskColumns>(text, [ask.runId], 'tasks')
        return { type: 'tasks', tasks: rows.map(taskSnapshotOf) }
      }
      case 'notes': {
        const text = `select name, body from ${this.#schema}.note
          where run_id = $1 and generation = $2 and key = $3`
        const rows = await this.#query<NoteColumns>(
          text,
          [ask.runId, ask.generation, ask.key],
          'notes',
        )
        return { type: 'notes', notes: notesOf(rows) }
      }
      case 'sessions': {
        const text = `select session, worker, beat, expires_at, about from ${this.#schema}.session
          where expires_at > ${DEAD} order by session`
        const [time, rows] = await Promise.all([
          this.#clock(now),
          this.#query<SessionColumns>(text, [], 'sessions'),
        ])
        return { type: 'sessions', now: time, sessions: rows.map(sessionOf) }
      }
      default:
        return unreachable(ask)
    }
  }

  // A page of turns, bounded by bytes as well. The limit inside spares sorting all that is left of a long history.
  async #history(ask: Extract<LoadAsk, { type: 'history' }>): Promise<Loaded> {
    const text = `
      select seq, count, turn_id, epoch, body, found from (
        select *, count(*) over () as found, sum(octet_length(body)) over (order by seq) - octet_length(body) as before
        from ((select seq, count, turn_id, epoch, body from ${this.#schema}.turn
            where run_id = $1 and generation = $4 and seq >= $2 order by seq limit $3)
          union all (select seq, count, turn_id, epoch, body from ${this.#schema}.closed
            where run_id = $1 and generation = $4 and seq >= $2 and count > 0) order by seq limit $3) page) sized
      where before < ${limits.historyPageBytes} order by seq`
    const generation = ask.generation ?? (await this.#generation(ask.runId))
    const values = [ask.runId, ask.after, ask.turns, generation]
    const rows = await this.#query<TurnColumns & { found: number }>(text, values, 'history')
    const isCut = rows.length < (rows[0]?.found ?? 0)
    return { type: 'history', turns: rows.map(turnOf), ...(isCut && { more: true }) }
  }

  async #generation(runId: string): Promise<number> {
    const text = `select coalesce((select generation from ${this.#schema}.live where run_id = $1),
      (select generation from ${this.#schema}.closed where run_id = $1), 1) as generation`
    const [row] = await this.#query<{ generation: number }>(text, [runId], 'generation')
    return row?.generation ?? 1
  }

  async #named(workflowId: string): Promise<Loaded> {
    const text = `select ${nameOf(this.#schema, 'newest')}($1) as run_id`
    const [row] = await this.#query<{ run_id: string | null }>(text, [workflowId], 'named')
    return { type: 'named', ...(row?.run_id && { runId: row.run_id }) }
  }

  async #runs(runIds: readonly string[], now: number | null): Promise<Map<string, RunSnapshot>> {
    const text = `${this.#snapshot.replace('select run.run_id', `select ${nameOf(this.#schema, 'clock')}($2) as now, run.run_id`)} where run.run_id = any($1)`
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

/** In terms of the column, which the server has statistics of. */
function isLive(statuses: readonly Status[], place: (value: unknown) => string): string {
  const marked = `live.compensating and live.status in ('running', 'waiting')`
  const plain = `(live.status = any(${place(statuses)}) and not (${marked}))`
  return statuses.includes('compensating') ? `(${plain} or (${marked}))` : plain
}

function conditions(
  query: ListQuery,
  lanes: readonly number[] | undefined,
  places: Places,
  schema: string,
): { where: string; values: unknown[] } {
  const { statuses, workflowId, createdAfter, createdBefore, cursor } = query
  const parts = ['true']
  const values: unknown[] = []
  const place = (value: unknown): string => `$${values.push(value)}`
  if (lanes) parts.push(`run.lane = any(${place(lanes)})`)
  if (statuses) {
    const { live, closed } = statusesOf(statuses)
    const tests = [
      ...(live.length > 0 ? [isLive(live, place)] : []),
      ...(closed.length > 0 ? [`closed.status = any(${place(closed)})`] : []),
    ]
    parts.push(`(${tests.join(' or ') || 'false'})`)
  }
  if (workflowId !== undefined) {
    // A run that nobody named is called by its id. Only where the name can be one: each is then looked up in an index.
    const own = isUuid(workflowId)
      ? ` or (run.run_id = ${place(workflowId)} and run.workflow_id is null)`
      : ''
    parts.push(`(run.workflow_id = ${place(workflowId)}${own})`)
  }
  if (query.pin !== undefined) parts.push(`coalesce(live.pin, closed.pin) = ${place(query.pin)}`)
  if (createdAfter !== undefined) parts.push(`run.created_at >= ${place(createdAfter)}`)
  if (createdBefore !== undefined) parts.push(`run.created_at < ${place(createdBefore)}`)
  for (const test of query.attributes ?? []) {
    parts.push(attributeCondition({ test, where: places.get(test) ?? 'values' }, schema, place))
  }
  if (cursor !== undefined) {
    const from = readCursor(cursor)
    if (!from) {
      throw new PawlError(
        'INPUT_INVALID',
        'the cursor is not one that list gave. Leave it out to begin at the newest run.',
      )
    }
    parts.push(`(run.created_at, run.run_id) < (${place(from.createdAt)}, ${place(from.runId)})`)
  }
  return { where: parts.join(' and '), values }
}
