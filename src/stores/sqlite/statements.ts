// Every statement of the SQLite store, prepared once.
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { NEVER } from '../../core/stores/driver.ts'

const HEAD = `run.run_id, l.name, l.queue, l.priority, run.workflow_id, run.parent_id, run.parent_generation,
  run.parent_key, run.created_at, run.input, run.extras`

const TASK = `task.*, l.name, l.queue from pawl_task task join pawl_lane l on l.lane = task.lane`

/** Of a row of `live`. */
export const LIVE_STATUS = `iif(live.compensating and live.status in ('running', 'waiting'), 'compensating', live.status)`
export const STATUS = `coalesce(${LIVE_STATUS}, closed.status)`

/** True if a run with this pin falls into the caller's share: what is pinned is shared out by its pin alone. */
const inShare = (pin: string): string =>
  `(${pin} is not null or substr(live.run_id, 33) between :first and :last)`

const due = (lane: string, pin: string): string =>
  `lane = ${lane} and pin is ${pin} and at <= :now and session = 0
    and (parked_build is null or parked_build <> :build) and ${inShare(pin)}`

/** Paused by another build than the caller's: below it and above it, so that what it paused itself is passed by. */
const parked = (lane: string, pin: string, select: string): string => {
  const each = (
    range: string,
  ): string => `select ${select} from pawl_live live indexed by pawl_live_parked
    where lane = ${lane} and pin is ${pin} and parked_build is not null and session = 0 and ${range}
      and ${inShare(pin)}`
  return `${each(`parked_build > '' and parked_build < :build`)} union all ${each('parked_build > :build')}`
}

export const SNAPSHOT_JOINS = `join pawl_lane l on l.lane = run.lane
  left join pawl_live live on live.run_id = run.run_id left join pawl_closed closed on closed.run_id = run.run_id`

/** A run as `load` and `list` show it; both add their own conditions. */
export const SNAPSHOT = `
  select ${HEAD}, coalesce(live.generation, closed.generation) as generation,
    ${STATUS} as status, coalesce(live.pin, closed.pin) as pin, coalesce(live.updated_at, closed.closed_at) as updated_at,
    closed.closed_at, closed.body as last, live.at, live.session, live.epoch, live.deliveries, live.parked_build,
    live.parked_failure, (select count(*) from pawl_inbox inbox where inbox.run_id = run.run_id) as unread,
    (select json_group_array(json_object('name', a.name, 'kind', a.kind, 'text', a.text, 'number', a.number))
      from pawl_attribute a where a.run_id = run.run_id) as attributes,
    (select json_group_array(json_object('name', i.name, 'text', i.text) order by i.place)
      from pawl_attribute_item i where i.run_id = run.run_id) as items
  from pawl_run run ${SNAPSHOT_JOINS}`

export const texts = {
  runDigest: 'select digest from pawl_run where run_id = ?',
  // A run that nobody named is called by its id, and its name is not written down.
  newest: `select name.run_id, closed.status from pawl_name name left join pawl_closed closed on closed.run_id = name.run_id
      where name.workflow_id = ?1
    union all select run.run_id, closed.status from pawl_run run left join pawl_closed closed on closed.run_id = run.run_id
      where run.run_id = ?1 and run.workflow_id is null
    limit 1`,
  putName: `insert into pawl_name (workflow_id, run_id) values (?, ?) on conflict (workflow_id) do update set run_id = excluded.run_id`,
  insertRun: `insert into pawl_run (run_id, lane, workflow_id, parent_id, parent_generation, parent_key, created_at, digest,
    input, extras) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  insertLive: `insert into pawl_live (run_id, lane, at, start_at, session, epoch, nonce, deliveries, status,
    generation, seq, updated_at, pin, turn_id) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  // All that a turn of it is judged by: one statement costs less than four.
  held: `select lane, session, epoch, nonce, deliveries, generation, parked_build, compensating, pin, updated_at,
    (select seq + count from pawl_turn turn where turn.run_id = ?1 and turn.generation = live.generation
      order by seq desc limit 1) as next,
    exists (select 1 from pawl_inbox inbox where inbox.run_id = ?1) as unread,
    exists (select 1 from pawl_note note where note.run_id = ?1) as noted
    from pawl_live live where run_id = ?1`,
  live: `select lane, session, epoch, nonce, deliveries, generation, seq, parked_build, compensating, pin, updated_at
    from pawl_live where run_id = ?`,
  atRest: `select run.lane, coalesce(live.generation, closed.generation) as generation,
    coalesce(live.epoch, closed.epoch) as epoch, live.session, live.parked_build,
    coalesce(live.pin, closed.pin) as pin, coalesce(live.updated_at, closed.closed_at) as updated_at
    from pawl_run run left join pawl_live live on live.run_id = run.run_id left join pawl_closed closed on closed.run_id = run.run_id
    where run.run_id = ?`,
  // A run that has not begun waits for its time, and a paused one for another build; not if it is urgent.
  wakeRun: `update pawl_live set at = min(at, max(?1, iif(?2 or status <> 'pending', 0, start_at))),
    parked_build = null, parked_failure = null where run_id = ?3`,
  claimed: `select ${HEAD}, live.generation, live.session, live.epoch, live.nonce, live.deliveries, live.seq,
    live.turn_id, exists (select 1 from pawl_inbox inbox where inbox.run_id = ?1) as unread
    from pawl_live live join pawl_run run on run.run_id = live.run_id join pawl_lane l on l.lane = run.lane where live.run_id = ?1`,
  runsOfSession: 'select run_id from pawl_live where session = ?',
  dueRuns: `select run_id, at from pawl_live live where ${due(':lane', ':pin')} order by at limit :limit`,
  parkedRuns: `${parked(':lane', ':pin', 'run_id')} limit :limit`,
  graveSuspect: `select run_id, at from pawl_live live indexed by pawl_live_grave where ${due(':lane', ':pin')} and deliveries > 1
    order by at limit 1`,
  dueLanes: `select l.value as lane from json_each(:lanes) l where exists (
    select 1 from json_each(:pins) p cross join pawl_live live where ${due('l.value', 'p.value')})`,
  parkedLanes: `select l.value as lane from json_each(:lanes) l where exists (
    select 1 from json_each(:pins) p where exists (${parked('l.value', 'p.value', '1')}))`,
  grantRun: `update pawl_live set session = ?, nonce = ?, epoch = epoch + 1, deliveries = deliveries + 1,
    at = min(at, ?), status = 'running' where run_id = ?`,
  release: `update pawl_live set session = 0, nonce = 0, deliveries = 0, lane = abs(lane), at = ?, status = ?, seq = ?,
    turn_id = ?, updated_at = max(?, ?), parked_build = ?, parked_failure = ? where run_id = ?`,
  freeRuns: `update pawl_live set session = 0, nonce = 0, lane = -abs(lane), at = min(at, ?1),
    updated_at = max(updated_at, ?3)
    where session = ?2`,
  setGeneration: 'update pawl_live set generation = ?, compensating = 0 where run_id = ?',
  mark: 'update pawl_live set compensating = ?, pin = ? where run_id = ?',
  // If holders died of it before it was paused, it stays apart from ordinary runs, for whoever looks for such.
  keepDeliveries: `update pawl_live set deliveries = ?1, lane = iif(?1 > 0, -abs(lane), lane),
    at = iif(?1 > 0 and parked_build <> '', ?2, at) where run_id = ?3`,
  deleteLive: 'delete from pawl_live where run_id = ?',

  lastTurn: `select turn_id from pawl_turn where run_id = ? and generation = ? order by seq desc limit 1`,
  turn: 'select turn_id from pawl_turn where run_id = ? and generation = ? and seq = ?',
  insertTurn: `insert into pawl_turn (run_id, generation, seq, count, turn_id, epoch, body) values (?, ?, ?, ?, ?, ?, ?)`,
  closedTurn: 'select turn_id, seq from pawl_closed where run_id = ?',
  close: `insert into pawl_closed (run_id, status, closed_at, generation, seq, count, turn_id, epoch, body, pin, created_at)
    values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, (select created_at from pawl_run where run_id = ?1))`,
  keepLastTurn: `insert into pawl_turn (run_id, generation, seq, count, turn_id, epoch, body)
    select run_id, generation, seq, count, turn_id, epoch, body from pawl_closed
    where run_id = ? and count > 0`,
  deleteClosed: 'delete from pawl_closed where run_id = ?',
  forgetTurns: 'delete from pawl_turn where run_id = ? and generation <= ?',

  putAttribute: `insert into pawl_attribute (run_id, name, kind, text, number) values (?, ?, ?, ?, ?) on conflict (run_id, name)
    do update set kind = excluded.kind, text = excluded.text, number = excluded.number`,
  deleteAttribute: 'delete from pawl_attribute where run_id = ? and name = ?',
  insertItem: 'insert into pawl_attribute_item (run_id, name, place, text) values (?, ?, ?, ?)',
  deleteItems: 'delete from pawl_attribute_item where run_id = ? and name = ?',
  note: 'select body from pawl_note where run_id = ? and generation = ? and key = ? and name = ?',
  notes: 'select name, body from pawl_note where run_id = ? and generation = ? and key = ?',
  putNote: `insert into pawl_note (run_id, generation, key, name, body) values (?, ?, ?, ?, ?) on conflict do update set body = excluded.body`,
  putNoteOnce:
    'insert into pawl_note (run_id, generation, key, name, body) values (?, ?, ?, ?, ?) on conflict do nothing',
  deleteNotes: 'delete from pawl_note where run_id = ?',

  insertMessage:
    'insert into pawl_inbox (run_id, message_id, body) values (?, ?, ?) on conflict do nothing',
  inbox: 'select message_id as id, body from pawl_inbox inbox where run_id = ? order by inbox.id',
  deleteMessage: 'delete from pawl_inbox where run_id = ? and message_id = ?',

  record: 'select key, version, write_id, body from pawl_record where space = ? and key = ?',
  records: `select key, version, body from pawl_record where space = ?1 and key > ?2 order by key limit ?3`,
  putRecord: `insert into pawl_record (space, key, version, write_id, body) values (?, ?, ?, ?, ?) on conflict (space, key)
    do update set version = excluded.version, write_id = excluded.write_id, body = excluded.body`,

  task: `select ${TASK} where task_id = ?`,
  tasksOfSession: 'select task_id from pawl_task where session = ?',
  dueTasks:
    'select task_id from pawl_task where lane = ? and at <= ? and session = 0 order by at limit ?',
  grantTask: `update pawl_task set session = ?, nonce = ?, epoch = epoch + 1, deliveries = deliveries + 1
    where task_id = ?`,
  insertTask: `insert into pawl_task (task_id, run_id, lane, at, body) values (?, ?, ?, ?, ?)
    on conflict do nothing`,
  returnTask:
    'update pawl_task set session = 0, nonce = 0, deliveries = deliveries - 1 where task_id = ?',
  retryTask: `update pawl_task set session = 0, nonce = 0, deliveries = 0, at = ?, failed = ?, failure = ?
    where task_id = ?`,
  freeTasks: 'update pawl_task set session = 0, nonce = 0, at = min(at, ?) where session = ?',
  deleteTask: 'delete from pawl_task where task_id = ?',
  deleteTasks: 'delete from pawl_task where run_id = ?',
  tasksOfRun: `select ${TASK} where run_id = ? order by task_id`,

  session: 'select beat, latest from pawl_session where session = ?',
  sessions: 'select session, worker, beat, expires_at, about from pawl_session order by session',
  putSession: `insert into pawl_session (session, worker, beat, expires_at, about, ttl_ms, latest)
    values (?, ?, ?, ?, ?, ?, ?)
    on conflict (session) do update set worker = excluded.worker, beat = excluded.beat, about = excluded.about,
      expires_at = excluded.expires_at, ttl_ms = excluded.ttl_ms,
      latest = max(latest, pawl_session.expires_at, excluded.latest)`,
  otherSessions:
    'select session, beat, expires_at as expiresAt, ttl_ms as ttlMs from pawl_session where session <> ?',
  deleteSession: 'delete from pawl_session where session = ?',

  lane: 'select lane from pawl_lane where kind = ? and queue = ? and name = ? and priority = ?',
  insertLane:
    'insert into pawl_lane (kind, queue, name, priority) values (?, ?, ?, ?) returning lane',
  lanes: `select lane, priority from pawl_lane where kind = ? and queue in (select value from json_each(?))
    and (? is null or name in (select value from json_each(?)))`,

  history: `select seq, count, turn_id, epoch, body from pawl_turn where run_id = ?1 and generation = ?4 and seq >= ?2
    union all select seq, count, turn_id, epoch, body from pawl_closed
      where run_id = ?1 and generation = ?4 and seq >= ?2 and count > 0
    order by seq limit ?3`,
  snapshot: `${SNAPSHOT} where run.run_id = ?`,
  nextRuns: `select at, ${inShare(':pin')} as mine from pawl_live live
    where lane = :lane and pin is :pin and at > :now and at < ${NEVER} and session = 0 order by at limit :limit`,
  nextRunOfPins: `select min((select at from pawl_live live where lane = l.value and pin is p.value
      and at > :now and at < ${NEVER} and session = 0 order by at limit 1)) as at
    from json_each(:lanes) l cross join json_each(:pins) p`,
  dueTaskLanes: `select l.value as lane from json_each(:lanes) l where exists (
    select 1 from pawl_task where lane = l.value and at <= :now and session = 0)`,
  nextTask: `select min((select at from pawl_task where lane = l.value and at > :now and session = 0
    order by at limit 1)) as at from json_each(:lanes) l`,
} as const

export type Statements = { readonly [Name in keyof typeof texts]: StatementSync }

export function statements(database: DatabaseSync): Statements {
  const prepared = Object.entries(texts).map(([name, text]) => [name, database.prepare(text)])
  return Object.fromEntries(prepared) as Statements
}
