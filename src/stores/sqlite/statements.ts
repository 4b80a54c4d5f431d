// Every statement of the SQLite store, prepared once.
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { NEVER } from '../never.ts'

const HEAD = `run.run_id, l.name, l.queue, l.priority, run.workflow_id, run.parent_id, run.parent_generation,
  run.parent_key, run.created_at, run.input, run.extras`

const TASK = `task.*, l.name, l.queue from task join lane l on l.lane = task.lane`

/** Of a row of `live`. */
const LIVE_STATUS = `iif(live.compensating and live.status in ('running', 'waiting'), 'compensating', live.status)`
export const STATUS = `coalesce(${LIVE_STATUS}, closed.status)`

/** Whether the run is for who asks: pinned to one of these builds, or with the last digits of its id between these. */
const MINE = `iif(pin is null, substr(run_id, 33) between :first and :last, pin in (select value from json_each(:builds)))`

/** Whether nobody has it, and the build is not the one that paused it. */
const FREE = `session = 0 and (parked_build is null or parked_build <> :build)`
const PARKED = `lane = :lane and parked_build is not null and parked_build not in ('', :build) and session = 0`

/** A run as `load` and `list` show it; both add their own conditions. */
export const SNAPSHOT = `
  select ${HEAD}, coalesce(live.generation, closed.generation) as generation,
    ${STATUS} as status, coalesce(live.pin, closed.pin) as pin, coalesce(live.updated_at, closed.closed_at) as updated_at,
    closed.closed_at, closed.body as last, live.at, live.session, live.deliveries, live.parked_build,
    live.parked_failure, (select count(*) from inbox where inbox.run_id = run.run_id) as unread,
    (select json_group_array(json_object('name', a.name, 'kind', a.kind, 'text', a.text, 'number', a.number))
      from attribute a where a.run_id = run.run_id) as attributes
  from run join lane l on l.lane = run.lane
    left join live on live.run_id = run.run_id left join closed on closed.run_id = run.run_id`

const texts = {
  runDigest: 'select digest from run where run_id = ?',
  // A run that nobody named is called by its id, and its name is not written down.
  newest: `select name.run_id, closed.status from name left join closed on closed.run_id = name.run_id
      where name.workflow_id = ?1
    union all select run.run_id, closed.status from run left join closed on closed.run_id = run.run_id
      where run.run_id = ?1 and run.workflow_id is null
    limit 1`,
  putName: `insert into name values (?, ?) on conflict (workflow_id) do update set run_id = excluded.run_id`,
  insertRun: 'insert into run values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  insertLive: `insert into live (run_id, lane, at, start_at, session, epoch, nonce, deliveries, status,
    generation, seq, updated_at, pin, turn_id) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  live: `select lane, session, epoch, nonce, deliveries, generation, seq, parked_build, compensating, pin, updated_at
    from live where run_id = ?`,
  atRest: `select run.lane, coalesce(live.generation, closed.generation) as generation,
    coalesce(live.epoch, closed.epoch) as epoch, live.session, live.parked_build,
    coalesce(live.pin, closed.pin) as pin, coalesce(live.updated_at, closed.closed_at) as updated_at
    from run left join live on live.run_id = run.run_id left join closed on closed.run_id = run.run_id
    where run.run_id = ?`,
  // A run that has not begun waits for its time, and a paused one for another build; not if it is urgent.
  wakeRun: `update live set at = min(at, max(?1, iif(?2 or status <> 'pending', 0, start_at))),
    parked_build = null, parked_failure = null where run_id = ?3`,
  claimed: `select ${HEAD}, live.generation, live.session, live.epoch, live.nonce, live.deliveries, live.seq,
    live.turn_id from live join run on run.run_id = live.run_id join lane l on l.lane = run.lane where live.run_id = ?`,
  runsOfSession: `select run_id from live where lane in (select lane from lane union all select -lane from lane)
    and at < ${NEVER} and session = ?`,
  dueRuns: `select run_id from live where lane = :lane and at <= :now and ${FREE} and ${MINE} order by at limit :limit`,
  parkedRuns: `select run_id from live indexed by live_parked where ${PARKED} and ${MINE} limit :limit`,
  graveSuspect: `select run_id from live where lane = :lane and at <= :now and deliveries > 1 and ${FREE} and ${MINE}
    order by at limit 1`,
  grantRun: `update live set session = ?, nonce = ?, epoch = epoch + 1, deliveries = deliveries + 1,
    at = min(at, ?), status = 'running' where run_id = ?`,
  release: `update live set session = 0, nonce = 0, deliveries = 0, lane = abs(lane), at = ?, status = ?, seq = ?,
    turn_id = iif(?, ?, turn_id), updated_at = max(?, ?), parked_build = ?, parked_failure = ? where run_id = ?`,
  // What only a message can wake is not held, so this passes by it.
  freeRuns: `update live set session = 0, nonce = 0, lane = -abs(lane), at = min(at, ?1), updated_at = max(updated_at, ?3)
    where lane in (select lane from lane union all select -lane from lane) and at < ${NEVER} and session = ?2`,
  setGeneration: 'update live set generation = ?, compensating = 0 where run_id = ?',
  mark: 'update live set compensating = ?, pin = ? where run_id = ?',
  setDeliveries: 'update live set deliveries = ? where run_id = ?',
  deleteLive: 'delete from live where run_id = ?',

  lastTurn: `select seq, turn_id, seq + count as next from turn where run_id = ? and generation = ?
    order by seq desc limit 1`,
  turn: 'select turn_id from turn where run_id = ? and generation = ? and seq = ?',
  insertTurn: 'insert into turn values (?, ?, ?, ?, ?, ?, ?)',
  closedTurn: 'select turn_id, seq from closed where run_id = ?',
  close: `insert into closed (run_id, status, closed_at, generation, seq, count, turn_id, epoch, body, pin)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  keepLastTurn: `insert into turn select run_id, generation, seq, count, turn_id, epoch, body from closed
    where run_id = ? and count > 0`,
  deleteClosed: 'delete from closed where run_id = ?',
  forgetTurns: 'delete from turn where run_id = ? and generation <= ?',

  putAttribute: `insert into attribute values (?, ?, ?, ?, ?) on conflict (run_id, name)
    do update set kind = excluded.kind, text = excluded.text, number = excluded.number`,
  note: 'select body from note where run_id = ? and generation = ? and key = ? and name = ?',
  notes: 'select name, body from note where run_id = ? and generation = ? and key = ?',
  putNote: `insert into note values (?, ?, ?, ?, ?) on conflict do update set body = excluded.body`,
  putNoteOnce: 'insert into note values (?, ?, ?, ?, ?) on conflict do nothing',
  deleteNotes: 'delete from note where run_id = ?',

  insertMessage:
    'insert into inbox (run_id, message_id, body) values (?, ?, ?) on conflict do nothing',
  inbox: 'select message_id as id, body from inbox where run_id = ? order by inbox.id',
  deleteMessage: 'delete from inbox where run_id = ? and message_id = ?',

  record: 'select key, version, write_id, body from record where space = ? and key = ?',
  records: `select key, version, body from record where space = ?1 and key > ?2 order by key limit ?3`,
  putRecord: `insert into record (space, key, version, write_id, body) values (?, ?, ?, ?, ?) on conflict (space, key)
    do update set version = excluded.version, write_id = excluded.write_id, body = excluded.body`,

  task: `select ${TASK} where task_id = ?`,
  tasksOfSession: 'select task_id from task where session = ?',
  dueTasks:
    'select task_id from task where lane = ? and at <= ? and session = 0 order by at limit ?',
  grantTask: `update task set session = ?, nonce = ?, epoch = epoch + 1, deliveries = deliveries + 1
    where task_id = ?`,
  insertTask: `insert into task (task_id, run_id, lane, at, body) values (?, ?, ?, ?, ?)
    on conflict do nothing`,
  returnTask:
    'update task set session = 0, nonce = 0, deliveries = deliveries - 1 where task_id = ?',
  retryTask: `update task set session = 0, nonce = 0, deliveries = 0, at = ?, failed = ?, failure = ?
    where task_id = ?`,
  freeTasks: 'update task set session = 0, nonce = 0, at = min(at, ?) where session = ?',
  deleteTask: 'delete from task where task_id = ?',
  deleteTasks: 'delete from task where run_id = ?',
  tasksOfRun: `select ${TASK} where run_id = ? order by task_id`,

  session: 'select beat, latest from session where session = ?',
  sessions: 'select session, worker, beat, expires_at, about from session order by session',
  putSession: `insert into session (session, worker, beat, expires_at, about, ttl_ms, latest) values (?, ?, ?, ?, ?, ?, ?)
    on conflict (session) do update set worker = excluded.worker, beat = excluded.beat, about = excluded.about,
      expires_at = excluded.expires_at, ttl_ms = excluded.ttl_ms,
      latest = max(latest, session.expires_at, excluded.latest)`,
  otherSessions:
    'select session, beat, expires_at as expiresAt, ttl_ms as ttlMs from session where session <> ?',
  deleteSession: 'delete from session where session = ?',

  lane: 'select lane from lane where kind = ? and queue = ? and name = ? and priority = ?',
  insertLane:
    'insert into lane (kind, queue, name, priority) values (?, ?, ?, ?) on conflict do nothing',
  lanes: `select lane, priority from lane where kind = ? and queue in (select value from json_each(?))
    and (? is null or name in (select value from json_each(?)))`,

  history: `select seq, count, turn_id, epoch, body from turn where run_id = ?1 and generation = ?4 and seq >= ?2
    union all select seq, count, turn_id, epoch, body from closed
      where run_id = ?1 and generation = ?4 and seq >= ?2 and count > 0
    order by seq limit ?3`,
  snapshot: `${SNAPSHOT} where run.run_id = ?`,
  countLive: `select count(*) as count from live where ${LIVE_STATUS} in (select value from json_each(?))`,
  countClosed:
    'select count(*) as count from closed where status in (select value from json_each(?))',
  nextRuns: `select at, ${MINE} as mine from live where lane = :lane and at > :now and at < ${NEVER} and session = 0
    order by at limit :limit`,
  nextTask: 'select min(at) as at from task where lane = ? and at > ? and session = 0',
  anyDueRun: `select 1 as found from live where lane = :lane and at <= :now and ${FREE} and ${MINE} limit 1`,
  anyParked: `select 1 as found from live indexed by live_parked where ${PARKED} and ${MINE} limit 1`,
  anyDueTask: 'select 1 as found from task where lane = ? and at <= ? and session = 0 limit 1',
} as const

export type Statements = { readonly [Name in keyof typeof texts]: StatementSync }

export function statements(database: DatabaseSync): Statements {
  const prepared = Object.entries(texts).map(([name, text]) => [name, database.prepare(text)])
  return Object.fromEntries(prepared) as Statements
}
