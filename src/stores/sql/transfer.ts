// Whole runs on their way to another store, in SQL that SQLite and Postgres share. Each operation is a generator of
// statements, within one transaction: one database runs them at once, the other waits for each. The rules are those of
// `rules/transfer.ts`.
import {
  type Attributes,
  compareKeys,
  digestOfRun,
  ENDED,
  isList,
  leftReason,
  leftTo,
  MOVER,
  NEVER,
  type StoredTurn,
  type TransferOperation,
  type TransferOutcome,
  type WholeRun,
  type WholeTask,
} from '../../core/stores/driver.ts'
import { type AttributeColumns, attributeColumns, attributesOfRows, itemsOf } from './attributes.ts'
import { type HeadColumns, headOf } from './rows.ts'
import { HEAD } from './texts.ts'

/** A statement with `?` for its values. */
export interface Statement {
  readonly text: string
  readonly values: readonly Value[]
}
type Value = string | number | boolean | null

export interface TransferDialect {
  /** A table of pawl under its full name. */
  readonly table: (name: string) => string
  readonly boolean: (value: boolean) => Value
  /** Statements that make all others wait that concern the run, or the start of its workflow id. */
  readonly locks: (runId: string, workflowId: string | undefined) => readonly Statement[]
  /** True if rows of `closed` also have the time of their creation. */
  readonly createdInClosed: boolean
}

/** What others should hear of an operation. */
export interface Heard {
  ready(): void
  ended(runId: string): void
}

type Steps<Out> = Generator<Statement, Out, readonly unknown[]>
type Operation<Type> = Extract<TransferOperation, { type: Type }>

/** All that a run's row says, with its live or closed part. */
interface Row extends HeadColumns {
  readonly digest: string
  readonly lane: number
  readonly live_status: WholeRun['status'] | null
  readonly start_at: number
  readonly at: number
  readonly session: number
  readonly nonce: number
  readonly live_epoch: number
  readonly deliveries: number
  readonly live_generation: number
  readonly live_seq: number
  readonly live_turn: number
  readonly updated_at: number
  readonly parked_build: string | null
  readonly parked_failure: string | null
  readonly compensating: boolean | number
  readonly live_pin: string | null
  readonly live_reason: string | null
  readonly closed_status: WholeRun['status'] | null
  readonly closed_at: number
  readonly closed_epoch: number
  readonly closed_generation: number
  readonly closed_seq: number
  readonly closed_count: number
  readonly closed_turn: number
  readonly closed_pin: string | null
  readonly closed_reason: string | null
}

const PARTS = `run.digest, run.lane, live.status as live_status, live.start_at, live.at, live.session, live.nonce,
  live.epoch as live_epoch, live.deliveries, live.generation as live_generation, live.seq as live_seq,
  live.turn_id as live_turn, live.updated_at, live.parked_build, live.parked_failure, live.compensating,
  live.pin as live_pin, live.reason as live_reason, closed.status as closed_status, closed.closed_at,
  closed.epoch as closed_epoch, closed.generation as closed_generation, closed.seq as closed_seq,
  closed.count as closed_count, closed.turn_id as closed_turn, closed.pin as closed_pin, closed.reason as closed_reason`

const TURN = 'run_id, generation, seq, count, turn_id, epoch, body'
const ROWS_AT_ONCE = 200
/** Tables whose row says that the run is here. One that another call has inserted meanwhile is not this run's. */
const OWN: ReadonlySet<string> = new Set(['run', 'live', 'closed'])

export class SqlTransfer {
  readonly #dialect: TransferDialect
  readonly #now: number
  readonly #heard: Heard

  constructor(dialect: TransferDialect, now: number, heard: Heard) {
    this.#dialect = dialect
    this.#now = now
    this.#heard = heard
  }

  *run(operation: TransferOperation): Steps<TransferOutcome> {
    if (operation.type === 'put') return yield* this.#put(operation)
    const { runId } = operation
    yield* this.#lock(runId)
    const row = yield* this.#row(runId)
    if (!row) return { outcome: 'missing' }
    if (operation.type === 'read') return { outcome: 'read', run: yield* this.#whole(row) }
    if (operation.type === 'leave') return yield* this.#leave(row, operation)
    if (row.closed_status === 'moved') return { outcome: 'left', to: leftTo(row.closed_reason ?? undefined) }
    if (row.closed_status !== null) return { outcome: 'ended' }
    if (operation.type === 'hold') return yield* this.#hold(row, operation)
    if (!isHeldFor(row, operation.move)) return { outcome: row.session === MOVER ? 'other' : 'changed' }
    if (operation.type === 'append') yield* this.#append(runId, operation.generation, operation.turns)
    else yield* this.#free(row)
    return { outcome: 'done' }
  }

  *#hold({ run_id: runId, session, nonce }: Row, { move }: Operation<'hold'>): Steps<TransferOutcome> {
    if (session === MOVER && nonce !== move) return { outcome: 'other' }
    if (session !== 0 && session !== MOVER) return { outcome: 'busy' }
    const lease = `session = ${MOVER}, nonce = ?, epoch = epoch + 1 where run_id = ? and session = 0`
    yield* this.#sql(`update ${this.#table('live')} set ${lease}`, move, runId)
    yield* this.#sql(`update ${this.#table('task')} set ${lease}`, move, runId)
    const others = yield* this.#sql(
      `select 1 as found from ${this.#table('task')} where run_id = ? and session <> ${MOVER} limit 1`,
      runId,
    )
    return { outcome: others.length > 0 ? 'busy' : 'done' }
  }

  *#whole(row: Row): Steps<WholeRun> {
    const { run_id: runId } = row
    const isLive = row.live_status !== null
    const status = row.live_status ?? row.closed_status ?? 'pending'
    const state = isLive ? liveState(row, status) : closedState(row)
    const pin = row.live_pin ?? row.closed_pin
    const reason = row.live_reason ?? row.closed_reason
    return {
      ...{ head: headOf(row, row.live_generation ?? row.closed_generation), digest: row.digest, status, ...state },
      ...(row.parked_build !== null && { paused: { build: row.parked_build, failure: row.parked_failure ?? '' } }),
      ...(row.compensating && { compensating: true as const }),
      ...(pin !== null && { pin }),
      ...(reason !== null && { reason }),
      attributes: yield* this.#attributes(runId),
      notes: yield* this.#notes(runId),
      inbox: yield* this.#inbox(runId),
      tasks: yield* this.#tasks(runId),
    }
  }

  *#attributes(runId: string): Steps<Attributes> {
    const rows = yield* this.#sql(
      `select name, kind, text, number from ${this.#table('attribute')} where run_id = ?`,
      runId,
    )
    const items = yield* this.#sql(
      `select name, text from ${this.#table('attribute_item')} where run_id = ? order by name, place`,
      runId,
    )
    return attributesOfRows(
      rows as readonly (AttributeColumns & { readonly name: string })[],
      items as readonly { readonly name: string; readonly text: string | null }[],
    )
  }

  *#notes(runId: string): Steps<WholeRun['notes']> {
    const rows = yield* this.#sql(
      `select generation, key, name, body from ${this.#table('note')} where run_id = ?`,
      runId,
    )
    const notes = (rows as WholeRun['notes']).map(({ generation, key, name, body }) => ({
      generation,
      key,
      name,
      body,
    }))
    return notes.sort((a, b) => a.generation - b.generation || compareKeys(a.key, b.key) || compareKeys(a.name, b.name))
  }

  *#inbox(runId: string): Steps<WholeRun['inbox']> {
    const text = `select message_id as id, body from ${this.#table('inbox')} inbox where run_id = ? order by inbox.id`
    const rows = yield* this.#sql(text, runId)
    return (rows as WholeRun['inbox']).map(({ id, body }) => ({ id, body }))
  }

  *#tasks(runId: string): Steps<readonly WholeTask[]> {
    const rows = yield* this.#sql(
      `select t.task_id as "taskId", l.name, l.queue, l.priority, t.body, t.at, t.epoch, t.deliveries, t.failed, t.failure
        from ${this.#table('task')} t join ${this.#table('lane')} l on l.lane = t.lane where t.run_id = ?`,
      runId,
    )
    const tasks = (rows as (Omit<WholeTask, 'failure'> & { readonly failure: string | null })[]).map(
      ({ failure, ...task }) => ({ ...task, ...(failure !== null && { failure }) }),
    )
    return tasks.sort((a, b) => compareKeys(a.taskId, b.taskId))
  }

  *#put({ move, run, beside }: Operation<'put'>): Steps<TransferOutcome> {
    const { runId, workflowId } = run.head
    const name = workflowId === runId ? undefined : workflowId
    yield* this.#lock(runId, name)
    const there = yield* this.#row(runId)
    if (there && isHeldFor(there, move)) return yield* this.#complete(run)
    if (there && there.closed_status !== 'moved') {
      const { closed_at, digest, closed_generation } = there
      const isSame = there.closed_status !== null && closed_at === run.endedAt && digest === run.digest
      if (isSame && closed_generation === run.head.generation) return { outcome: 'there' }
      return there.session === MOVER ? { outcome: 'other' } : { outcome: 'taken', runId }
    }
    const newest = name === undefined ? undefined : yield* this.#newest(name)
    const isTaken = newest && newest.run_id !== runId && newest.status === null && run.endedAt === undefined
    if (isTaken && !beside) return { outcome: 'taken', runId: newest.run_id }
    if (there) yield* this.#reopen(runId)
    else yield* this.#insertRun(run, name)
    if (name !== undefined && (!newest || newest.created_at <= run.head.createdAt))
      yield* this.#sql(
        `insert into ${this.#table('name')} (workflow_id, run_id) values (?, ?)
          on conflict (workflow_id) do update set run_id = excluded.run_id`,
        name,
        runId,
      )
    yield* this.#insertLive(run, move)
    yield* this.#insertAttributes(run)
    for (const task of run.tasks) yield* this.#insertTask(runId, task, move)
    return yield* this.#complete(run)
  }

  *#newest(name: string): Steps<{ run_id: string; status: string | null; created_at: number } | undefined> {
    const [row] = yield* this.#sql(
      `select name.run_id, closed.status, run.created_at from ${this.#table('name')} name
        join ${this.#table('run')} run on run.run_id = name.run_id
        left join ${this.#table('closed')} closed on closed.run_id = name.run_id where name.workflow_id = ?`,
      name,
    )
    return row as { run_id: string; status: string | null; created_at: number } | undefined
  }

  *#insertRun({ head, digest }: WholeRun, name: string | undefined): Steps<void> {
    const { runId, parent, createdAt, input, extras = null } = head
    const lane = yield* this.#lane('run', head)
    const columns = `run_id, lane, workflow_id, parent_id, parent_generation, parent_key, created_at, digest, input, extras`
    const by = [parent?.runId ?? null, parent?.generation ?? null, parent?.key ?? null]
    yield* this.#insert('run', columns, [[runId, lane, name ?? null, ...by, createdAt, digest, input, extras]])
  }

  /** A run that comes back has its history here. */
  *#reopen(runId: string): Steps<void> {
    yield* this.#sql(
      `insert into ${this.#table('turn')} (${TURN}) select ${TURN} from ${this.#table('closed')}
        where run_id = ? and count > 0`,
      runId,
    )
    for (const table of ['closed', 'attribute', 'attribute_item', 'task']) yield* this.#delete(table, runId)
  }

  /** A run that has ended is in progress until it has arrived, and keeps the status that it ended with. */
  *#insertLive(run: WholeRun, move: number): Steps<void> {
    const { head, at, startAt, epoch, deliveries, status, seq, turnId, updatedAt, paused, compensating } = run
    const lane = yield* this.#lane('run', head)
    const columns = `run_id, lane, at, start_at, session, epoch, nonce, deliveries, status, generation, seq, turn_id,
      updated_at, parked_build, parked_failure, compensating, pin, reason`
    const state = [deliveries, status, head.generation, seq, turnId, updatedAt]
    const marks = [paused?.build ?? null, paused?.failure ?? null, this.#dialect.boolean(compensating === true)]
    const lease = [MOVER, epoch, move]
    const rest = [run.pin ?? null, run.reason ?? null]
    yield* this.#insert('live', columns, [[head.runId, lane, at, startAt, ...lease, ...state, ...marks, ...rest]])
  }

  *#insertAttributes({ head: { runId }, attributes }: WholeRun): Steps<void> {
    const values: Value[][] = []
    const items: Value[][] = []
    for (const [name, value] of Object.entries(attributes)) {
      if (isList(value)) for (const [place, text] of itemsOf(value).entries()) items.push([runId, name, place, text])
      else {
        const { kind, text, number } = attributeColumns(value)
        values.push([runId, name, kind, text, number])
      }
    }
    yield* this.#insert('attribute', 'run_id, name, kind, text, number', values)
    yield* this.#insert('attribute_item', 'run_id, name, place, text', items)
  }

  *#insertTask(runId: string, task: WholeTask, move: number): Steps<void> {
    const { taskId, at, epoch, deliveries, failed, failure = null, body } = task
    const lane = yield* this.#lane('task', task)
    const columns = 'task_id, run_id, lane, at, session, epoch, nonce, deliveries, failed, failure, body'
    yield* this.#insert('task', columns, [
      [taskId, runId, lane, at, MOVER, epoch, move, deliveries, failed, failure, body],
    ])
  }

  *#complete({ head: { runId }, notes, inbox }: WholeRun): Steps<TransferOutcome> {
    const messages = inbox.map(({ id, body }) => [runId, id, body])
    yield* this.#insert('inbox', 'run_id, message_id, body', messages)
    for (const { generation, key, name, body } of notes)
      yield* this.#sql(
        `insert into ${this.#table('note')} (run_id, generation, key, name, body) values (?, ?, ?, ?, ?)
          on conflict (run_id, generation, key, name) do update set body = excluded.body`,
        ...[runId, generation, key, name, body],
      )
    return { outcome: 'done' }
  }

  *#append(runId: string, generation: number, turns: readonly StoredTurn[]): Steps<void> {
    const rows = turns.map(({ seq, count, turnId, epoch, body }) => [
      runId,
      generation,
      seq,
      count,
      turnId,
      epoch,
      body,
    ])
    yield* this.#insert('turn', TURN, rows)
  }

  *#leave(row: Row, { move, seen, to }: Operation<'leave'>): Steps<TransferOutcome> {
    const { run_id: runId, closed_status: status } = row
    if (status === 'moved') return { outcome: 'left', to: leftTo(row.closed_reason ?? undefined) }
    const isMine = status !== null || isHeldFor(row, move)
    if (!isMine || digestOfRun(yield* this.#whole(row)) !== seen) return { outcome: 'changed' }
    const reason = leftReason(to)
    if (status === null) {
      yield* this.#end(row, 'moved', Math.max(this.#now, row.updated_at), reason)
    } else {
      const text = `update ${this.#table('closed')} set status = 'moved', reason = ? where run_id = ?`
      yield* this.#sql(text, reason, runId)
      yield* this.#delete('task', runId)
    }
    return { outcome: 'done' }
  }

  *#free(row: Row): Steps<void> {
    const { run_id: runId, live_status: status, updated_at, live_reason } = row
    if (isEnd(status)) return yield* this.#end(row, status ?? '', updated_at, live_reason)
    const now = this.#now
    yield* this.#sql(
      `update ${this.#table('task')} set session = 0, nonce = 0, at = case when at < ? then ? else at end
        where run_id = ? and session = ${MOVER}`,
      ...[now, now, runId],
    )
    const [unread] = yield* this.#sql(`select 1 as found from ${this.#table('inbox')} where run_id = ? limit 1`, runId)
    const earliest = Math.max(now, status === 'pending' ? row.start_at : 0)
    const at = unread ? earliest : row.at === NEVER ? NEVER : Math.max(row.at, now)
    const woken = unread ? ', parked_build = null, parked_failure = null' : ''
    const lane = row.deliveries > 0 ? '-abs(lane)' : 'abs(lane)'
    yield* this.#sql(
      `update ${this.#table('live')} set session = 0, nonce = 0, at = ?, lane = ${lane}${woken} where run_id = ?`,
      ...[at, runId],
    )
    this.#heard.ready()
  }

  /** Ends a run with a turn that it has already. */
  *#end(row: Row, status: string, endedAt: number, reason: string | null): Steps<void> {
    const { run_id: runId, live_generation: generation, live_epoch, live_pin: pin } = row
    const [last] = (yield* this.#sql(
      `select seq, count, turn_id, epoch, body from ${this.#table('turn')} where run_id = ? and generation = ?
        order by seq desc limit 1`,
      ...[runId, generation],
    )) as { seq: number; count: number; turn_id: number; epoch: number; body: string }[]
    const { seq, count, turn_id, epoch, body } = last ?? { seq: 0, count: 0, turn_id: 0, epoch: live_epoch, body: '' }
    const columns = `run_id, status, closed_at, generation, seq, count, turn_id, epoch, body, pin, reason`
    const values = [runId, status, endedAt, generation, seq, count, turn_id, epoch, body, pin, reason]
    const { createdInClosed } = this.#dialect
    const created = createdInClosed ? [row.created_at] : []
    yield* this.#insert('closed', `${columns}${createdInClosed ? ', created_at' : ''}`, [[...values, ...created]])
    const text = `delete from ${this.#table('turn')} where run_id = ? and generation = ? and seq = ?`
    if (last) yield* this.#sql(text, runId, generation, seq)
    for (const table of ['live', 'inbox', 'note', 'task']) yield* this.#delete(table, runId)
    this.#heard.ended(runId)
  }

  *#row(runId: string): Steps<Row | undefined> {
    const { table } = this.#dialect
    const [row] = yield* this.#sql(
      `select ${HEAD}, ${PARTS} from ${table('run')} run join ${table('lane')} l on l.lane = run.lane
        left join ${table('live')} live on live.run_id = run.run_id
        left join ${table('closed')} closed on closed.run_id = run.run_id where run.run_id = ?`,
      runId,
    )
    return row as Row | undefined
  }

  *#lock(runId: string, workflowId?: string): Steps<void> {
    for (const lock of this.#dialect.locks(runId, workflowId)) yield lock
  }

  *#lane(kind: string, { queue, name, priority }: Pick<WholeTask, 'queue' | 'name' | 'priority'>): Steps<number> {
    const find = `select lane from ${this.#table('lane')} where kind = ? and queue = ? and name = ? and priority = ?`
    const place = [kind, queue, name, priority]
    const [known] = yield* this.#sql(find, ...place)
    if (known) return (known as { lane: number }).lane
    yield* this.#insert('lane', 'kind, queue, name, priority', [place])
    const [made] = yield* this.#sql(find, ...place)
    return (made as { lane: number }).lane
  }

  /** Rows that exist stay as they are, except where they would be those of another run. */
  *#insert(table: string, columns: string, rows: readonly (readonly Value[])[]): Steps<void> {
    const orNot = OWN.has(table) ? '' : ' on conflict do nothing'
    for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
      const some = rows.slice(from, from + ROWS_AT_ONCE)
      const places = some.map((row) => `(${row.map(() => '?').join(', ')})`).join(', ')
      const text = `insert into ${this.#table(table)} (${columns}) values ${places}${orNot}`
      yield* this.#sql(text, ...some.flat())
    }
  }

  *#delete(table: string, runId: string): Steps<void> {
    yield* this.#sql(`delete from ${this.#table(table)} where run_id = ?`, runId)
  }

  *#sql(text: string, ...values: readonly Value[]): Steps<readonly unknown[]> {
    return yield { text, values }
  }

  #table(name: string): string {
    return this.#dialect.table(name)
  }
}

function isHeldFor({ session, nonce }: Row, move: number): boolean {
  return session === MOVER && nonce === move
}

function isEnd(status: string | null): boolean {
  return ENDED.some((each) => each === status)
}

type State = Pick<WholeRun, 'startAt' | 'updatedAt' | 'endedAt' | 'at' | 'epoch' | 'deliveries' | 'seq' | 'turnId'>

function liveState(row: Row, status: string): State {
  const { at, updated_at: updatedAt, live_epoch: epoch, deliveries, live_seq: seq, live_turn: turnId } = row
  const startAt = status === 'pending' ? row.start_at : 0
  const ended = row.session === MOVER && isEnd(status) ? { endedAt: updatedAt } : {}
  return { startAt, updatedAt, at, epoch, deliveries, seq, turnId, ...ended }
}

function closedState(row: Row): State {
  const { closed_at: endedAt, closed_epoch: epoch, closed_turn: turnId } = row
  const seq = row.closed_seq + row.closed_count
  return { startAt: 0, updatedAt: endedAt, endedAt, at: NEVER, epoch, deliveries: 0, seq, turnId }
}
