// Every statement of the SQLite store, prepared once.
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { NEVER } from '../../core/stores/driver.ts'
import { streamTexts } from '../sql/streams.ts'
import { type Dialect, HEAD, loadTexts, snapshot } from '../sql/texts.ts'
import { updateText } from './run-row.ts'

/** SQLite's way to word what it has in common with Postgres. */
export const sqliteDialect: Dialect = {
  table: (name) => `pawl_${name}`,
  jsonRows: (fields, alias, order) => {
    const values = fields.map((field) => `'${field}', ${alias}.${field}`).join(', ')
    return `json_group_array(json_object(${values})${order === undefined ? '' : ` order by ${order}`})`
  },
}

/** True if a run with this pin falls into the claimer's share: only unpinned runs are shared out. */
const inShare = (pin: string): string => `(${pin} is not null or substr(live.run_id, 33) between :first and :last)`

const due = (lane: string, pin: string): string =>
  `lane = ${lane} and pin is ${pin} and at <= :now and session = 0
    and (parked_build is null or parked_build <> :build) and ${inShare(pin)}`

/** Paused by another build than the claimer's: below it and above it, so that the index skips its own. */
const parked = (lane: string, pin: string, select: string): string => {
  const each = (range: string): string => `select ${select} from pawl_live live indexed by pawl_live_parked
    where lane = ${lane} and pin is ${pin} and parked_build is not null and session = 0 and ${range}
      and ${inShare(pin)}`
  return `${each(`parked_build > '' and parked_build < :build`)} union all ${each('parked_build > :build')}`
}

export const SNAPSHOT = snapshot(sqliteDialect)
const load = loadTexts(sqliteDialect)
const streams = streamTexts(sqliteDialect)

/** A limit that is given as a value. SQLite prepares a statement with a plain `limit ?` anew at every call. */
const bounded = (limit: string): string => `${limit} + 0`

/** A run's row as the rules read it: see `LiveValues`. */
const LIVE = `live.run_id, live.lane, live.at, live.start_at, live.session, live.epoch, live.nonce, live.deliveries, live.status,
  live.generation, live.seq, live.turn_id, live.updated_at, live.parked_build, live.compensating, live.pin`
const UNREAD = `exists (select 1 from pawl_inbox inbox where inbox.run_id = live.run_id) as unread`

/** A task as the rules read it, and with what a claim returns: see `TaskValues`. */
const TASK = 'task_id, run_id, at, session, epoch, nonce, deliveries'
const WHOLE_TASK = `${TASK}, failed, body, l.name from pawl_task task join pawl_lane l on l.lane = task.lane`

function historyWhere(bounds: string): string {
  const of = `where run_id = ?1 and generation = ?4 and ${bounds}`
  return `select seq, count, turn_id, epoch, body from pawl_turn ${of}
    union all select seq, count, turn_id, epoch, body from pawl_closed ${of} and count > 0`
}

export const texts = {
  digest: 'select digest from pawl_run where run_id = ?',
  // A run without a name is called by its id, and that name is not stored.
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
  live: `select ${LIVE} from pawl_live live where run_id = ?`,
  // All that a turn is checked against, because one statement costs less than four.
  forTurn: `select ${LIVE}, ${UNREAD},
    (select seq + count from pawl_turn turn where turn.run_id = ?1 and turn.generation = live.generation
      order by seq desc limit 1) as reached,
    exists (select 1 from pawl_note note where note.run_id = ?1) as noted
    from pawl_live live where run_id = ?1`,
  ended: `select closed.run_id, run.lane, closed.status, closed.closed_at, closed.generation, closed.epoch, closed.pin
    from pawl_closed closed join pawl_run run on run.run_id = closed.run_id where closed.run_id = ?`,
  generation: load.generation,
  head: `select ${HEAD} from pawl_run run join pawl_lane l on l.lane = run.lane where run.run_id = ?`,
  heldRuns: `select ${LIVE}, ${UNREAD} from pawl_live live where session = ?`,
  dueRuns: `select ${LIVE}, ${UNREAD} from pawl_live live where ${due(':lane', ':pin')} order by at limit ${bounded(':limit')}`,
  parkedRuns: `${parked(':lane', ':pin', `${LIVE}, ${UNREAD}`)} limit ${bounded(':limit')}`,
  graveSuspect: `select ${LIVE}, ${UNREAD} from pawl_live live indexed by pawl_live_grave
    where ${due(':lane', ':pin')} and deliveries > 1 order by at limit 1`,
  dueLanes: `select l.value as lane from json_each(:lanes) l where exists (
    select 1 from json_each(:pins) p cross join pawl_live live where ${due('l.value', 'p.value')})`,
  parkedLanes: `select l.value as lane from json_each(:lanes) l where exists (
    select 1 from json_each(:pins) p where exists (${parked('l.value', 'p.value', '1')}))`,
  deleteLive: 'delete from pawl_live where run_id = ?',

  lastTurn: `select turn_id from pawl_turn where run_id = ? and generation = ? order by seq desc limit 1`,
  turn: `select turn_id from pawl_turn where run_id = ?1 and generation = ?2 and seq = ?3
    union all select turn_id from pawl_closed where run_id = ?1 and generation = ?2 and seq = ?3`,
  insertTurn: `insert into pawl_turn (run_id, generation, seq, count, turn_id, epoch, body) values (?, ?, ?, ?, ?, ?, ?)`,
  close: `insert into pawl_closed (run_id, status, closed_at, generation, seq, count, turn_id, epoch, body, pin, reason, created_at)
    values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, (select created_at from pawl_run where run_id = ?1))`,
  keepLastTurn: `insert into pawl_turn (run_id, generation, seq, count, turn_id, epoch, body)
    select run_id, generation, seq, count, turn_id, epoch, body from pawl_closed
    where run_id = ? and count > 0`,
  deleteClosed: 'delete from pawl_closed where run_id = ?',
  hasParentInProgress: `select 1 from pawl_run run join pawl_live parent on parent.run_id = run.parent_id
      and parent.generation = run.parent_generation where run.run_id = ?`,
  deleteName: `delete from pawl_name where run_id = ?1
    and workflow_id = (select workflow_id from pawl_run where run_id = ?1) returning workflow_id`,
  nameNewest: `insert into pawl_name (workflow_id, run_id) select workflow_id, run_id from pawl_run where workflow_id = ?
    order by created_at desc, run_id desc limit 1`,
  deleteRun: 'delete from pawl_run where run_id = ?',
  deleteTurns: 'delete from pawl_turn where run_id = ?',
  deleteInbox: 'delete from pawl_inbox where run_id = ?',
  deleteAttributes: 'delete from pawl_attribute where run_id = ?',
  deleteAllItems: 'delete from pawl_attribute_item where run_id = ?',
  endedRuns: load.ended,
  forgetTurns: 'delete from pawl_turn where run_id = ? and generation < ?',

  putAttribute: `insert into pawl_attribute (run_id, name, kind, text, number) values (?, ?, ?, ?, ?) on conflict (run_id, name)
    do update set kind = excluded.kind, text = excluded.text, number = excluded.number`,
  deleteAttribute: 'delete from pawl_attribute where run_id = ? and name = ?',
  insertItem: 'insert into pawl_attribute_item (run_id, name, place, text) values (?, ?, ?, ?)',
  deleteItems: 'delete from pawl_attribute_item where run_id = ? and name = ?',
  note: 'select body from pawl_note where run_id = ? and generation = ? and key = ? and name = ?',
  notes: load.notes,
  putNote: `insert into pawl_note (run_id, generation, key, name, body) values (?, ?, ?, ?, ?) on conflict do update set body = excluded.body`,
  deleteNotes: 'delete from pawl_note where run_id = ?',

  insertMessage: 'insert into pawl_inbox (run_id, message_id, body) values (?, ?, ?) on conflict do nothing',
  inbox: 'select message_id as id, body from pawl_inbox inbox where run_id = ? order by inbox.id',
  unreadAmong: `select l.value as run_id from json_each(?) l
    where exists (select 1 from pawl_inbox inbox where inbox.run_id = l.value)`,
  deleteMessage: 'delete from pawl_inbox where run_id = ? and message_id = ?',

  record: 'select space, key, version, write_id as writeId, body from pawl_record where space = ? and key = ?',
  records: `select space, key, version, write_id as writeId, body from pawl_record where space = ?1 and key > ?2
    order by key limit ${bounded('?3')}`,
  putRecord: `insert into pawl_record (space, key, version, write_id, body) values (?, ?, ?, ?, ?) on conflict (space, key)
    do update set version = excluded.version, write_id = excluded.write_id, body = excluded.body`,

  task: `select ${TASK} from pawl_task where task_id = ?`,
  heldTasks: `select ${WHOLE_TASK} where session = ?`,
  dueTasks: `select ${WHOLE_TASK} where task.lane = ? and at <= ? and session = 0 order by at limit ${bounded('?')}`,
  insertTask: `insert into pawl_task (task_id, run_id, lane, at, body) values (?, ?, ?, ?, ?)
    on conflict do nothing`,
  grantTask: 'update pawl_task set session = ?, nonce = ?, epoch = ?, deliveries = ? where task_id = ?',
  changeTask: `update pawl_task set session = ?, nonce = ?, deliveries = ?, at = ?, failed = coalesce(?, failed),
    failure = coalesce(?, failure) where task_id = ?`,
  deleteTask: 'delete from pawl_task where task_id = ?',
  deleteTasks: 'delete from pawl_task where run_id = ?',
  tasksOfRun: load.tasks,

  streams: streams.streams,
  streamPage: streams.stream,
  streamBatches: streams.batches,
  stream: `select name, items, bytes, parts, closed_in as closedIn from pawl_stream where run_id = ? and name = ?`,
  countStreams: 'select count(*) as count from pawl_stream where run_id = ?',
  putStream: `insert into pawl_stream (run_id, name, items, bytes, parts, closed_in) values (?, ?, ?, ?, ?, ?)
    on conflict (run_id, name) do update set items = excluded.items, bytes = excluded.bytes, parts = excluded.parts,
      closed_in = excluded.closed_in`,
  newestPart: `select number, writer, chapter, generation, attempt, part_id as partId, keep, items, batches
    from pawl_stream_part where run_id = ? and name = ? and writer = ? and chapter = ? order by number desc limit 1`,
  putPart: `insert into pawl_stream_part (run_id, name, number, writer, chapter, generation, attempt, part_id, keep, items,
      batches) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    on conflict (run_id, name, number) do update set items = excluded.items, batches = excluded.batches`,
  streamBatch: 'select first from pawl_stream_batch where run_id = ? and name = ? and part = ? and n = ?',
  deleteStreams: 'delete from pawl_stream where run_id = ?',
  deleteParts: 'delete from pawl_stream_part where run_id = ?',
  deleteBatches: 'delete from pawl_stream_batch where run_id = ?',
  insertBatch: `insert into pawl_stream_batch (run_id, name, first, count, part, n, body) values (?, ?, ?, ?, ?, ?, ?)`,

  session: `select session, beat, expires_at, ttl_ms, latest from pawl_session where session = ?`,
  sessions: load.sessions,
  queues: load.queues,
  putSession: `insert into pawl_session (session, worker, beat, expires_at, about, ttl_ms, latest)
    values (?, ?, ?, ?, ?, ?, ?)
    on conflict (session) do update set worker = excluded.worker, beat = excluded.beat, about = excluded.about,
      expires_at = excluded.expires_at, ttl_ms = excluded.ttl_ms, latest = excluded.latest`,
  extendSession: 'update pawl_session set latest = ? where session = ?',
  otherSessions: `select session, beat, expires_at, ttl_ms, latest from pawl_session where session <> ?`,
  deleteSession: 'delete from pawl_session where session = ?',

  lane: 'select lane from pawl_lane where kind = ? and queue = ? and name = ? and priority = ?',
  insertLane: 'insert into pawl_lane (kind, queue, name, priority) values (?, ?, ?, ?) returning lane',
  lanes: `select lane, queue, name, priority from pawl_lane where kind = ? and queue in (select value from json_each(?))
    and (? is null or name in (select value from json_each(?)))`,

  history: `${historyWhere('seq >= ?2')} order by seq limit ${bounded('?3')}`,
  historyBefore: `${historyWhere('seq >= ?2 and seq < ?5')} order by seq desc limit ${bounded('?3')}`,
  snapshot: `${SNAPSHOT} where run.run_id = ?`,
  nextRuns: `select at, ${inShare(':pin')} as mine from pawl_live live
    where lane = :lane and pin is :pin and at > :now and at < ${NEVER} and session = 0 order by at limit ${bounded(':limit')}`,
  nextRunOfPins: `select min((select at from pawl_live live where lane = l.value and pin is p.value
      and at > :now and at < ${NEVER} and session = 0 order by at limit 1)) as at
    from json_each(:lanes) l cross join json_each(:pins) p`,
  dueTaskLanes: `select l.value as lane from json_each(:lanes) l where exists (
    select 1 from pawl_task where lane = l.value and at <= :now and session = 0)`,
  nextTask: `select min((select at from pawl_task where lane = l.value and at > :now and session = 0
    order by at limit 1)) as at from json_each(:lanes) l`,
} as const

export type Statements = { readonly [Name in keyof typeof texts]: StatementSync }

/** Statements whose rows come as arrays: with many columns, objects take longer to make than the read itself. */
const AS_ARRAYS: ReadonlySet<string> = new Set<keyof typeof texts>([
  ...(['digest', 'live', 'forTurn', 'head', 'heldRuns', 'dueRuns', 'parkedRuns'] as const),
  'graveSuspect',
  ...(['session', 'otherSessions', 'task', 'heldTasks', 'dueTasks'] as const),
])

export function statements(database: DatabaseSync): Statements {
  const prepared = Object.entries(texts).map(([name, text]) => {
    const statement = database.prepare(text)
    if (AS_ARRAYS.has(name)) statement.setReturnArrays(true)
    return [name, statement]
  })
  return Object.fromEntries(prepared) as Statements
}

/** Statements that set columns of a run in progress, prepared when they are first needed. They are few. */
export type Updates = (columns: number) => StatementSync

export function updatesOf(database: DatabaseSync): Updates {
  const known = new Map<number, StatementSync>()
  return (columns) => {
    const there = known.get(columns)
    if (there) return there
    const statement = database.prepare(updateText(columns))
    known.set(columns, statement)
    return statement
  }
}
