// The writing half of the SQLite store: what each method does inside a transaction somebody else has begun.
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { limits } from '../../core/base/limits.ts'
import {
  BY_HAND,
  type Claimed,
  type ClaimedRun,
  type ClaimedTask,
  type ClaimRequest,
  type Committed,
  type Created,
  type Hint,
  type Lease,
  NEVER,
  type NewRun,
  type Note,
  type Noted,
  type Outbound,
  type Post,
  type Posted,
  type RecordOperation,
  type RecordOutcome,
  type Renewed,
  type SessionBeat,
  type StoredMessage,
  type TaskOutcome,
  type TaskSettled,
  type TurnCommit,
} from '../../core/stores/driver.ts'
import {
  type ClaimedColumns,
  claimedRunOf,
  claimedTaskOf,
  type LeaseColumns,
  type TaskColumns,
} from '../sql/rows.ts'
import { SqliteCreator } from './create.ts'
import { DueRuns } from './due.ts'
import { Lanes } from './lanes.ts'
import { operate } from './records.ts'
import { type Statements, statements } from './statements.ts'

type Row = Record<string, unknown>
type LiveRow = LeaseColumns & {
  readonly lane: number
  readonly parked_build: string | null
  readonly compensating: number
  readonly pin: string | null
  readonly updated_at: number
}

type HeldRow = LiveRow & {
  readonly generation: number
  /** The number of its next turn, unless it has none yet. */
  readonly next: number | null
  readonly unread: number
  readonly noted: number
}

export class SqliteWriter {
  readonly #sql: Statements
  readonly #creator: SqliteCreator
  readonly lanes: Lanes
  /** What others should hear once the transaction is durable. */
  hints: Hint[] = []

  constructor(database: DatabaseSync) {
    this.#sql = statements(database)
    this.lanes = new Lanes(this.#sql)
    this.#creator = new SqliteCreator({
      sql: this.#sql,
      lane: (kind, of) => this.lanes.of(kind, of),
      claimed: (runId) => this.#claimed(runId),
      post: (post, now) => this.post(post, now),
      tell: (hint) => this.hints.push(hint),
    })
  }

  create(run: NewRun, now: number): Created {
    return this.#creator.create(run, now)
  }

  note({ runId, generation, key, name, body, once }: Note): Noted {
    const live = one<{ generation: number }>(this.#sql.live, runId)
    if (live?.generation !== generation) return {}
    const put = once ? this.#sql.putNoteOnce : this.#sql.putNote
    put.run(runId, generation, key, name, body)
    return one<{ body: string }>(this.#sql.note, runId, generation, key, name) ?? {}
  }

  operate(operation: RecordOperation): RecordOutcome {
    // A record may say what there is to be done.
    if (operation.type === 'put') this.hints.push({ type: 'ready' })
    return operate(this.#sql, operation)
  }

  post({ runId, message, urgent, resumes }: Post, now: number): Posted {
    const live = one<LiveRow>(this.#sql.live, runId)
    if (!live) return { outcome: this.#sql.closedTurn.get(runId) ? 'closed' : 'missing' }
    const inserted = this.#sql.insertMessage.run(runId, message.id, message.body)
    if (Number(inserted.changes) === 0) return { outcome: 'duplicate' }
    if (live.session !== 0) this.hints.push({ type: 'news', session: live.session })
    else if (live.parked_build === null || urgent || resumes) {
      this.#sql.wakeRun.run(now, urgent ? 1 : 0, runId)
      this.hints.push({ type: 'ready' })
    }
    return { outcome: 'accepted' }
  }

  claim(request: ClaimRequest, now: number): Pick<Claimed, 'runs' | 'tasks' | 'dead'> {
    for (const { session, beat } of request.silent) {
      const row = one<{ beat: number }>(this.#sql.session, session)
      if (row?.beat === beat && session !== request.session) this.#free(session, now)
    }
    if (!this.#sql.session.get(request.session)) return { runs: [], tasks: [], dead: true }
    return { runs: this.#claimRuns(request, now), tasks: this.#claimTasks(request, now) }
  }

  commit(turn: TurnCommit, now: number): Committed {
    const { runId, lease, generation, next } = turn
    const live = one<HeldRow>(this.#sql.held, runId)
    if (!live || !isHolder(live, lease) || live.generation !== generation)
      return this.#staleTurn(turn)
    if (this.#isAhead(turn, live, now)) return { outcome: 'ahead', now }
    if ((live.next ?? 0) !== turn.seq) return this.#staleTurn(turn)
    if (live.unread && (next.type === 'end' || next.type === 'pause')) {
      const { left = [] } = next.type === 'pause' ? next : {}
      const known = new Set([...turn.consumed, ...left])
      const unread = this.#unread(runId).filter(({ id }) => !known.has(id))
      if (unread.length > 0) return { outcome: 'more', messages: unread }
    }
    this.#apply(turn, live, now)
    if (next.type === 'pause' && next.uncounted)
      this.#sql.keepDeliveries.run(live.deliveries - 1, now, runId)
    return { outcome: 'applied' }
  }

  settle({ taskId, lease, result }: TaskOutcome, now: number): TaskSettled {
    const task = one<TaskColumns>(this.#sql.task, taskId)
    if (!task || !isHolder(task, lease)) return { outcome: 'fenced' }
    if (result.type === 'done') {
      this.#sql.deleteTask.run(taskId)
      this.post({ runId: task.run_id, message: result.message }, now)
      return { outcome: 'applied' }
    }
    if (result.type === 'return') this.#sql.returnTask.run(taskId)
    else this.#sql.retryTask.run(now + result.delayMs, result.failed, result.failure, taskId)
    this.hints.push({ type: 'ready' })
    return { outcome: 'applied' }
  }

  renew(beat: SessionBeat, now: number): Renewed {
    const { session, worker, about } = beat
    const known = this.#sql.session.get(session)
    // An expired session that no claim has freed holds all its leases still: the clock may have jumped.
    const alive = !beat.close && (beat.beat === 1 || known !== undefined)
    const expiresAt = now + beat.ttlMs
    const until = [expiresAt, about, beat.ttlMs, expiresAt]
    if (alive) this.#sql.putSession.run(session, worker, beat.beat, ...until)
    else if (known) this.#free(session, now)
    const lostTasks = beat.tasks.filter(
      (id) => one<TaskColumns>(this.#sql.task, id)?.session !== session,
    )
    return { now, alive, lostTasks }
  }

  #claimRuns(request: ClaimRequest, now: number): ClaimedRun[] {
    const { session, nonce } = request
    const strays = request.reconcile ? this.#strayRuns(request) : []
    if (strays.length > 0) return strays.map((runId) => this.#claimed(runId))
    const lanes = this.lanes.served('run', request)
    const runIds = this.#suspects(lanes, request, now)
    if (runIds.length === 0) runIds.push(...this.#ready(lanes, request, now))
    for (const runId of runIds) this.#sql.grantRun.run(session, nonce, now, runId)
    return runIds.map((runId) => this.#claimed(runId))
  }

  #ready(lanes: readonly number[], request: ClaimRequest, now: number): string[] {
    const runs = new DueRuns(this.#sql, request)
    const [due, parked] = [new Set(runs.lanes(lanes, now)), new Set(runs.parkedLanes(lanes))]
    const runIds: string[] = []
    for (const lane of lanes) {
      const room = request.runs - runIds.length
      if (room <= 0) break
      const found = due.has(lane) ? runs.runs(lane, now, room) : []
      const left = room - found.length
      runIds.push(...found, ...(left > 0 && parked.has(lane) ? runs.parked(lane, left) : []))
    }
    return runIds
  }

  // Runs whose holder died wait in a lane of their own, so that the ordinary claim never meets them.
  #suspects(lanes: readonly number[], request: ClaimRequest, now: number): string[] {
    const count = Math.min(request.suspects, request.runs)
    if (count === 0) return []
    const runs = new DueRuns(this.#sql, request)
    const found: string[] = []
    const own = lanes.map((lane) => -lane)
    for (const lane of runs.lanes(own, now)) {
      const grave = runs.grave(lane, now)
      if (grave.length > 0) return grave
      found.push(...runs.runs(lane, now, count - found.length))
    }
    return found
  }

  #claimTasks(request: ClaimRequest, now: number): ClaimedTask[] {
    const { session, nonce } = request
    const again = request.reconcile ? this.#strayTasks(request) : []
    const chosen = [...again]
    for (const lane of this.#dueTaskLanes(request, now)) {
      const room = again.length > 0 ? 0 : request.tasks - chosen.length
      if (room <= 0) break
      chosen.push(...all<{ task_id: string }>(this.#sql.dueTasks, lane, now, room))
    }
    if (again.length === 0) {
      for (const { task_id } of chosen) this.#sql.grantTask.run(session, nonce, task_id)
    }
    return chosen.map(({ task_id }) =>
      claimedTaskOf(one<TaskColumns>(this.#sql.task, task_id) as TaskColumns),
    )
  }

  #dueTaskLanes(request: ClaimRequest, now: number): number[] {
    const lanes = JSON.stringify(this.lanes.served('task', request))
    const due = this.#sql.dueTaskLanes.all({ lanes, now }) as unknown as { lane: number }[]
    return due.map(({ lane }) => lane)
  }

  #strayRuns({ session, held }: ClaimRequest): string[] {
    const mine = all<{ run_id: string }>(this.#sql.runsOfSession, session)
    const known = new Set(held)
    return mine.flatMap(({ run_id }) => (known.has(run_id) ? [] : [run_id]))
  }

  #strayTasks({ session, heldTasks }: ClaimRequest): { task_id: string }[] {
    const mine = all<{ task_id: string }>(this.#sql.tasksOfSession, session)
    return mine.filter(({ task_id }) => !heldTasks.includes(task_id))
  }

  #claimed(runId: string): ClaimedRun {
    type Found = ClaimedColumns & { readonly unread: number }
    const row = one<Found>(this.#sql.claimed, runId) as Found
    return claimedRunOf(row, row.unread ? this.#unread(runId) : [])
  }

  #unread(runId: string): StoredMessage[] {
    return all<StoredMessage>(this.#sql.inbox, runId)
  }

  // The lease does not fit. Either this very turn was written before, or somebody else has the run.
  #staleTurn({ runId, generation, seq, turnId }: TurnCommit): Committed {
    const turn = one<{ turn_id: number }>(this.#sql.turn, runId, generation, seq)
    const last = one<{ turn_id: number; seq: number }>(this.#sql.closedTurn, runId)
    const same = turn?.turn_id === turnId || (last?.turn_id === turnId && last.seq === seq)
    return { outcome: same ? 'duplicate' : 'fenced' }
  }

  // The row is written for it only if it says anything new. Answers with the pin.
  #marked({ runId, compensating, pin }: TurnCommit, live: LiveRow): string | null {
    const undoes = Number(compensating ?? live.compensating)
    const pinned = live.pin ?? pin ?? null
    if (undoes !== live.compensating || pinned !== live.pin)
      this.#sql.mark.run(undoes, pinned, runId)
    return pinned
  }

  #apply(turn: TurnCommit, live: HeldRow, now: number): void {
    const pin = this.#marked(turn, live)
    const { runId, generation, seq, count, turnId, body, next, lease } = turn
    for (const id of turn.consumed) this.#sql.deleteMessage.run(runId, id)
    for (const task of turn.tasks) {
      const lane = this.lanes.of('task', task)
      this.#sql.insertTask.run(task.taskId, runId, lane, now, task.body)
      this.hints.push({ type: 'ready' })
    }
    for (const id of turn.dropped) this.#sql.deleteTask.run(id)
    if (turn.attributes) this.#creator.setAttributes(runId, turn.attributes)
    if (next.type === 'end') {
      const which = [generation, seq, count, turnId, lease.epoch]
      this.#sql.close.run(runId, next.status, Math.max(now, turn.at), ...which, body, pin)
      this.#sql.deleteLive.run(runId)
      if (live.noted) this.#sql.deleteNotes.run(runId)
      this.hints.push({ type: 'ended', runId })
    } else {
      if (count > 0)
        this.#sql.insertTurn.run(runId, generation, seq, count, turnId, lease.epoch, body)
      if (next.type !== 'hold') this.#release(turn, next, now)
    }
    for (const item of turn.outbox) this.#deliver(runId, item, now)
  }

  #release(
    turn: TurnCommit,
    next: Exclude<TurnCommit['next'], { type: 'hold' | 'end' }>,
    now: number,
  ): void {
    const { runId } = turn
    const seq = turn.seq + turn.count
    if (next.type === 'continue') {
      const generation = turn.generation + 1
      this.#creator.begin(runId, generation, turn.lease.epoch, next.past)
      const { count, turnId } = next.past
      this.#sql.release.run(now, 'running', count, turnId, now, turn.at, null, null, runId)
      this.#sql.setGeneration.run(generation, runId)
      this.hints.push({ type: 'ready' })
      return
    }
    const last = [this.#lastTurnId(turn), now, turn.at]
    if (next.type === 'pause') {
      const { build = BY_HAND, failure } = next
      this.#sql.release.run(NEVER, 'paused', seq, ...last, build, failure, runId)
      return
    }
    const at = this.#unread(runId).length > 0 ? now : (next.wakeAt ?? NEVER)
    this.#sql.release.run(at, next.status, seq, ...last, null, null, runId)
    if (at <= now) this.hints.push({ type: 'ready' })
  }

  // A turn without events is not written. Others may have been since the last release.
  #lastTurnId({ runId, generation, count, turnId }: TurnCommit): number {
    if (count > 0) return turnId
    return one<{ turn_id: number }>(this.#sql.lastTurn, runId, generation)?.turn_id ?? 0
  }

  #deliver(sender: string, item: Outbound, now: number): void {
    if (item.type === 'post') this.post(item, now)
    else if (this.create(item.run, now).outcome === 'refused') {
      this.post({ runId: sender, message: item.otherwise }, now)
    }
  }

  // Stamped with a time that has not come: the writer's idea of time is wrong, or the store's clock was set back. What
  // is not later than the run's own past, or than its holder's session was good for, was right when it was decided.
  #isAhead({ at, lease }: TurnCommit, { updated_at }: LiveRow, now: number): boolean {
    if (at <= now + limits.clockAheadMsMax || at <= updated_at) return false
    return at > (one<{ latest: number }>(this.#sql.session, lease.session)?.latest ?? 0)
  }

  #free(session: number, now: number): void {
    // No turn of it was stamped later, unless the clock was set forward since its last renewal.
    const { latest = 0 } = one<{ latest: number }>(this.#sql.session, session) ?? {}
    this.#sql.deleteSession.run(session)
    this.#sql.freeRuns.run(now, session, latest)
    this.#sql.freeTasks.run(now, session)
    this.hints.push({ type: 'ready' })
  }
}

function isHolder(row: LeaseColumns, lease: Lease): boolean {
  return row.session === lease.session && row.epoch === lease.epoch && row.nonce === lease.nonce
}

function one<T>(statement: StatementSync, ...args: (string | number | null)[]): T | undefined {
  return statement.get(...args) as T | undefined
}

function all<T>(statement: StatementSync, ...args: (string | number | null)[]): T[] {
  return statement.all(...args) as Row[] as T[]
}
