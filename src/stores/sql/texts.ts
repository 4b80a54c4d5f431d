// Reads that SQLite and Postgres word alike. They name their tables and columns alike, too; a dialect says the rest.
// Values are written as `?`, in the order in which they are given.

import { type GroupBy, RELEASED } from '../../core/stores/driver.ts'

export interface Dialect {
  /** A table of pawl under its full name. */
  readonly table: (name: string) => string
  /** The rows of a subquery as a JSON array of objects with these fields. */
  readonly jsonRows: (fields: readonly string[], alias: string, order?: string) => string
}

export const HEAD = `run.run_id, l.name, l.queue, l.priority, run.workflow_id, run.parent_id, run.parent_generation,
  run.parent_key, run.created_at, run.input, run.extras`

/** The status of a run in progress as the seam has it, and of any run. */
export const COMPENSATES = `live.compensating and live.status in (${RELEASED.map((each) => `'${each}'`).join(', ')})`
export const LIVE_STATUS = `case when ${COMPENSATES} then 'compensating' else live.status end`
export const STATUS = `coalesce(${LIVE_STATUS}, closed.status)`

/** True if a run in progress shows its reason: neither pending nor running. */
export const SHOWS_REASON = `live.status not in ('pending', 'running')`
/** The reason as the seam has it. */
export const REASON = `case when ${SHOWS_REASON} then live.reason else closed.reason end`

/** The columns that runs are grouped by. */
export const GROUP_KEYS: Readonly<Record<GroupBy, string>> = {
  ...{ name: 'l.name', queue: 'l.queue', status: STATUS, reason: REASON, pin: 'coalesce(live.pin, closed.pin)' },
}

/** What a run's row is joined with; `inner` names a table that every run in question has a row in. */
export function joins(dialect: Dialect, inner?: 'live' | 'closed'): string {
  return `join ${dialect.table('lane')} l on l.lane = run.lane ${stateJoins(dialect, inner)}`
}

export function stateJoins({ table }: Dialect, inner?: 'live' | 'closed'): string {
  const join = (name: 'live' | 'closed'): string =>
    `${inner === name ? '' : 'left '}join ${table(name)} ${name} on ${name}.run_id = run.run_id`
  return `${join('live')} ${join('closed')}`
}

/** A run as `load` and `list` return it. Both add their own conditions. */
export function snapshot(dialect: Dialect, inner?: 'live' | 'closed', more = ''): string {
  const { table, jsonRows } = dialect
  return `select ${more}${HEAD}, coalesce(live.generation, closed.generation) as generation, ${STATUS} as status,
      coalesce(live.pin, closed.pin) as pin, ${REASON} as reason, coalesce(live.updated_at, closed.closed_at) as updated_at,
      closed.closed_at, nullif(closed.body, '') as last, live.at, live.session, live.epoch, live.deliveries, live.parked_build,
      live.parked_failure, (select count(*) from ${table('inbox')} inbox where inbox.run_id = run.run_id) as unread,
      (select ${jsonRows(['name', 'kind', 'text', 'number'], 'a')}
        from ${table('attribute')} a where a.run_id = run.run_id) as attributes,
      (select ${jsonRows(['name', 'text'], 'i', 'i.place')}
        from ${table('attribute_item')} i where i.run_id = run.run_id) as items
    from ${table('run')} run ${joins(dialect, inner)}`
}

/** The texts of `load`, by what is asked for. */
export function loadTexts({ table }: Dialect) {
  return {
    tasks: `select t.*, l.name, l.queue from ${table('task')} t join ${table('lane')} l on l.lane = t.lane
      where t.run_id = ? order by t.task_id`,
    notes: `select name, body from ${table('note')} where run_id = ? and generation = ? and key = ?`,
    sessions: `select session, worker, beat, expires_at, about from ${table('session')} order by session`,
    queues: `select 'run' as kind, l.queue, count(*) as due, min(live.at) as oldest from ${table('live')} live
      join ${table('lane')} l on l.lane = abs(live.lane)
      where live.session = 0 and live.parked_build is null and live.at <= ? group by l.queue
      union all select 'task', l.queue, count(*), min(t.at) from ${table('task')} t
      join ${table('lane')} l on l.lane = t.lane where t.session = 0 and t.at <= ? group by l.queue`,
    /**
     * The runs that are looked at are bounded, and not those that have ended: there may be few of those. Left joins, so
     * that the walk begins with the runs, in their order.
     */
    ended: `select run.run_id, run.created_at, l.name, closed.status, closed.closed_at from ${table('run')} run
      left join ${table('lane')} l on l.lane = run.lane
      left join ${table('closed')} closed on closed.run_id = run.run_id
      where (run.created_at, run.run_id) > (?, ?) and run.created_at <= ?
      order by run.created_at, run.run_id limit ? + 0`,
    generation: `select generation from ${table('live')} where run_id = ?
      union all select generation from ${table('closed')} where run_id = ?`,
  } as const
}
