// Every rule of the seam in its plainest form, over rows in memory. The memory store applies what comes out; the
// object store writes it down first.

import type { Instant } from '../../base/instant.ts'
import { limits } from '../../base/limits.ts'
import { changedAttributes } from '../../kernel/attributes.ts'
import { BY_HAND, NEVER } from '../never.ts'
import type {
  Beginning,
  Claimed,
  ClaimedRun,
  ClaimedTask,
  ClaimRequest,
  Committed,
  Created,
  Lease,
  NewRun,
  NewTask,
  Note,
  Noted,
  Post,
  Posted,
  Renewed,
  SessionBeat,
  Settled,
  TaskOutcome,
  TurnCommit,
} from '../store.ts'
import { chooseRuns, chooseTasks, hasSuspects, lateSessions, newsFor, nextDue } from './claim.ts'
import { noteKey } from './read.ts'
import {
  type Grip,
  hasEnded,
  headOf,
  type RunRow,
  type RunState,
  type SessionRow,
  type TaskRow,
} from './row.ts'
import type { Transaction } from './transaction.ts'

/** Whether what a turn sends to others arrives with it, or is carried over by a later claim. */
export type Delivery = 'atomic' | 'deferred'

export function create(tx: Transaction, run: NewRun): Created {
  const there = tx.run(run.runId)
  if ((run.generation ?? 1) > 1) return beginAgain(tx, run, there)
  if (there) return tell(tx, run, existing(there, run))
  const namesake = namesakeOf(tx, run)
  if (namesake) return tell(tx, run, namesake)
  const { now } = tx
  const alongside = inProgress(tx, run)
  const { head, digest, startAt, ...state } = newborn(run, now)
  const eager = run.eager && startAt <= now && tx.session(run.eager.session) ? run.eager : undefined
  const row = tx.bear(
    { head, digest, startAt },
    eager ? { ...state, ...granted(state, eager), status: 'running' } : state,
  )
  if (run.past) tx.append(row, { seq: 0, epoch: 0, ...run.past })
  const told = run.message ? tx.post(row, run.message) : row
  const beside = alongside === undefined ? {} : { alongside }
  return { outcome: 'created', now, ...(eager && { run: claimedRun(told) }), ...beside }
}

function tell(tx: Transaction, { message }: NewRun, created: Created): Created {
  if (!message || created.outcome !== 'existing') return created
  const { outcome } = post(tx, { runId: created.runId, message })
  return { ...created, posted: outcome }
}

// A run that has ended, or is paused, goes on as another generation of itself, from the history it is given.
function beginAgain(tx: Transaction, run: NewRun, there: RunRow | undefined): Created {
  const { runId, generation = 1, past } = run
  if (there && there.generation >= generation) {
    const same = tx.turnAt(runId, generation, 0)?.turnId === past?.turnId
    return same ? { outcome: 'existing', runId } : { outcome: 'conflict', runId }
  }
  const atRest = there && (hasEnded(there) || (there.paused && there.session === 0))
  if (!there || !past || !atRest || there.generation !== generation - 1)
    return { outcome: 'refused', runId }
  if (!tx.isAtHand(runId)) return { outcome: 'refused', runId, archived: true }
  for (const { taskId } of tx.tasksOf(runId)) tx.dropTask(taskId)
  const updatedAt = Math.max(tx.now, there.updatedAt)
  const at = { updatedAt, endedAt: undefined, at: tx.now, ...foundBy(there, run) }
  tx.change(there, { ...at, ...released, deliveries: 0, status: 'pending', paused: undefined })
  beginGeneration(tx, there, generation, past)
  return { outcome: 'created', now: tx.now }
}

function beginGeneration(
  tx: Transaction,
  row: RunRow,
  generation: number,
  { count, turnId, body }: Beginning,
): void {
  tx.append(row, { seq: 0, count, turnId, epoch: row.epoch, body, generation })
  tx.forgetBefore(row, generation - limits.generationsKept + 1)
  const without = { notes: undefined, compensating: undefined }
  tx.change(row, { generation, seq: count, reached: count, turnId, ...without })
}

export function post(tx: Transaction, { runId, message, urgent, resumes }: Post): Posted {
  const row = tx.run(runId)
  if (!row) return { outcome: 'missing' }
  if (hasEnded(row)) return { outcome: 'closed' }
  if (row.inbox.some((each) => each.id === message.id)) return { outcome: 'duplicate' }
  tx.post(row, message)
  if (row.session === 0 && (!row.paused || urgent || resumes)) {
    // A start that lies ahead holds back only a run that has not begun.
    const earliest = urgent || row.status !== 'pending' ? 0 : row.startAt
    tx.change(row, { paused: undefined, at: Math.min(row.at, Math.max(tx.now, earliest)) })
  }
  return { outcome: 'accepted' }
}

export function claim(tx: Transaction, request: ClaimRequest, delivery: Delivery): Claimed {
  const { now } = tx
  reap(tx, request)
  if (delivery === 'deferred') for (const row of [...tx.undelivered()]) deliver(tx, row)
  if (!tx.session(request.session)) return { now, runs: [], tasks: [], news: [], dead: true }
  const runs = chooseRuns(tx, request).map(
    (row) => holds(row, request) ?? grantRun(tx, row, request),
  )
  const tasks = chooseTasks(tx, request).map(
    (row) => holds(row, request) ?? grantTask(tx, row, request),
  )
  const due = nextDue(tx, request)
  const late = lateSessions(tx, request)
  return {
    now,
    runs: runs.map(claimedRun),
    tasks: tasks.map(claimedTask),
    news: newsFor(tx, request),
    ...(hasSuspects(tx, request) && { suspects: true as const }),
    ...(late.length > 0 && { late }),
    ...(due !== undefined && { nextDue: due }),
  }
}

export function commit(tx: Transaction, turn: TurnCommit, delivery: Delivery): Committed {
  const row = tx.run(turn.runId)
  if (!row) return { outcome: 'fenced' }
  if (isRecorded(tx, row, turn)) return { outcome: 'duplicate' }
  // Of a run that has ended nobody holds a lease, not even nobody.
  if (hasEnded(row)) return { outcome: 'fenced' }
  if (!isHolder(row, turn.lease)) return { outcome: 'fenced' }
  if (isAhead(tx, row, turn)) return { outcome: 'ahead', now: tx.now }
  if (turn.generation !== row.generation || turn.seq !== row.reached) return { outcome: 'fenced' }
  const { left = [] } = turn.next.type === 'pause' ? turn.next : {}
  const unread = row.inbox.filter(({ id }) => !turn.consumed.includes(id) && !left.includes(id))
  const closes = turn.next.type === 'end' || turn.next.type === 'pause'
  if (closes && unread.length > 0) return { outcome: 'more', messages: unread }
  applyTurn(tx, row, turn)
  if (turn.outbox.length > 0) tx.send(row, [...row.outbox, ...turn.outbox])
  if (delivery === 'atomic') deliver(tx, tx.run(turn.runId) ?? row)
  return { outcome: 'applied' }
}

export function settle(tx: Transaction, { taskId, lease, result }: TaskOutcome): Settled {
  const task = tx.task(taskId)
  if (!task || !isHolder(task, lease)) return { outcome: 'fenced' }
  if (result.type === 'done') {
    tx.dropTask(taskId)
    post(tx, { runId: task.runId, message: result.message })
  } else if (result.type === 'return') {
    tx.putTask({ ...task, ...released, deliveries: task.deliveries - 1 })
  } else {
    const { failed, failure } = result
    const at = tx.now + result.delayMs
    tx.putTask({ ...task, ...released, at, failed, failure, deliveries: 0 })
  }
  return { outcome: 'applied' }
}

export function note(tx: Transaction, note: Note): Noted {
  const row = tx.run(note.runId)
  if (!row || hasEnded(row) || row.generation !== note.generation) return {}
  const id = noteKey(note.generation, note.key, note.name)
  const there = row.notes?.[id]
  if (note.once && there !== undefined) return { body: there }
  tx.change(row, { notes: { ...row.notes, [id]: note.body } })
  return { body: note.body }
}

export function renew(tx: Transaction, beat: SessionBeat): Renewed {
  const { now } = tx
  const { session, worker, about } = beat
  const known = tx.session(session)
  // An expired session that no claim has freed holds all its leases still: the clock may have jumped.
  const alive = !beat.close && (beat.beat === 1 || known !== undefined)
  if (alive) {
    const { ttlMs } = beat
    const expiresAt = now + ttlMs
    const latest = Math.max(expiresAt, known?.latest ?? known?.expiresAt ?? 0)
    tx.putSession({ session, worker, about, beat: beat.beat, expiresAt, ttlMs, latest })
  } else if (known) free(tx, known)
  const lostTasks = beat.tasks.filter((id) => tx.task(id)?.session !== session)
  return { now, alive, lostTasks }
}

function existing(row: RunRow, run: NewRun): Created {
  const { runId } = run
  if (row.digest !== run.digest) return { outcome: 'conflict', runId }
  const mine = run.eager && !hasEnded(row) && isLeasedBy(row, run.eager)
  return { outcome: 'existing', runId, ...(mine && { run: claimedRun(row) }) }
}

function namesakeOf(tx: Transaction, run: NewRun): Created | undefined {
  if (run.reuse === 'allow') return undefined
  const runId = tx.newest(run.workflowId)
  const latest = runId === undefined ? undefined : tx.run(runId)
  if (!latest || runId === undefined) return undefined
  if (run.reuse === 'terminateRunning') {
    if (run.displaced) post(tx, { runId, message: run.displaced, urgent: true })
    return undefined
  }
  if (run.reuse === 'returnExisting') {
    return hasEnded(latest) ? undefined : { outcome: 'existing', runId }
  }
  const mayFollow =
    hasEnded(latest) &&
    (run.reuse === 'allowIfEnded' ||
      (run.reuse === 'allowIfFailed' && latest.status !== 'completed'))
  return mayFollow ? undefined : { outcome: 'refused', runId }
}

/** The newest run of the same workflow id, if it is in progress. */
function inProgress(tx: Transaction, { reuse, workflowId }: NewRun): string | undefined {
  const runId = reuse === 'allow' ? tx.newest(workflowId) : undefined
  const latest = runId === undefined ? undefined : tx.run(runId)
  return latest && !hasEnded(latest) ? runId : undefined
}

function isRecorded(tx: Transaction, row: RunRow, turn: TurnCommit): boolean {
  const { generation, seq, count, turnId } = turn
  if (count === 0) return false
  if (row.generation === generation) {
    if (row.turnId === turnId && row.reached === seq + count) return true
    if (seq >= row.reached) return false
  }
  return tx.turnAt(row.head.runId, generation, seq)?.turnId === turnId
}

function applyTurn(tx: Transaction, row: RunRow, turn: TurnCommit): void {
  const { generation, seq, count, turnId, body, next } = turn
  const { epoch } = turn.lease
  const which = generation === 1 ? {} : { generation }
  if (count > 0) tx.append(row, { seq, count, turnId, epoch, body, ...which })
  tx.take(row, turn.consumed)
  for (const task of turn.tasks) tx.putTask(newTask(task, row, tx.now))
  for (const id of turn.dropped) tx.dropTask(id)
  const { inbox } = tx.run(turn.runId) ?? row
  tx.change(row, {
    updatedAt: Math.max(tx.now, turn.at),
    ...(count > 0 && { reached: seq + count, turnId }),
    ...marks(row, turn),
    ...foundBy(row, turn),
    ...moved(turn, inbox.length > 0, tx.now),
    ...(next.type === 'pause' && next.uncounted && { deliveries: row.deliveries - 1 }),
  })
  if (next.type === 'continue') beginGeneration(tx, row, generation + 1, next.past)
}

function foundBy(
  row: Pick<RunRow, 'attributes'>,
  { attributes }: Pick<TurnCommit, 'attributes'>,
): Pick<RunRow, 'attributes'> {
  return attributes ? { attributes: changedAttributes(row.attributes ?? {}, attributes) } : {}
}

// A run is pinned once, and undoes what it did until it says otherwise.
function marks({ pin }: RunRow, turn: TurnCommit): Partial<RunState> {
  return {
    ...(turn.compensating !== undefined && { compensating: turn.compensating || undefined }),
    ...(turn.pin !== undefined && pin === undefined && { pin: turn.pin }),
  }
}

function moved(
  { next, seq, count }: TurnCommit,
  hasUnread: boolean,
  now: Instant,
): Partial<RunState> {
  if (next.type === 'hold') return {}
  const letGo = { ...released, deliveries: 0, seq: seq + count, paused: undefined }
  switch (next.type) {
    case 'end': {
      const without = { notes: undefined, compensating: undefined }
      return { ...letGo, ...without, status: next.status, endedAt: now, at: NEVER }
    }
    case 'continue':
      return { ...letGo, status: 'running', at: now }
    case 'pause': {
      const { build = BY_HAND, failure } = next
      return { ...letGo, status: 'paused', at: NEVER, paused: { build, failure } }
    }
    case 'release':
      return { ...letGo, status: next.status, at: hasUnread ? now : (next.wakeAt ?? NEVER) }
  }
}

// Stamped with a time that has not come: the writer's idea of time is wrong, or the store's clock was set back. What
// is not later than the run's own past, or than its holder's session was good for, was right when it was decided.
function isAhead(tx: Transaction, row: RunRow, { at }: TurnCommit): boolean {
  if (at <= tx.now + limits.clockAheadMsMax || at <= row.updatedAt) return false
  return at > (tx.session(row.session)?.latest ?? 0)
}

// The leases of a session that a claimer found silent are freed; its writes are refused from then on.
function reap(tx: Transaction, { session, silent }: ClaimRequest): void {
  for (const each of silent) {
    const row = tx.session(each.session)
    if (row && row.session !== session && row.beat === each.beat) free(tx, row)
  }
}

function free(tx: Transaction, { session }: SessionRow): void {
  tx.dropSession(session)
  for (const row of tx.runsDue.heldBy(session)) {
    tx.change(row, { ...released, at: Math.min(row.at, tx.now) })
  }
  for (const row of tx.tasksDue.heldBy(session)) {
    tx.putTask({ ...row, ...released, at: Math.min(row.at, tx.now) })
  }
}

function deliver(tx: Transaction, row: RunRow): void {
  if (row.outbox.length === 0) return
  tx.send(row, [])
  for (const item of row.outbox) {
    if (item.type === 'post') post(tx, item)
    else if (create(tx, item.run).outcome === 'refused') {
      post(tx, { runId: row.head.runId, message: item.otherwise })
    }
  }
}

const released = { session: 0, nonce: 0 }

function granted(grip: Grip, lease: Pick<Lease, 'session' | 'nonce'>): Grip {
  const { session, nonce } = lease
  return { session, nonce, epoch: grip.epoch + 1, deliveries: grip.deliveries + 1 }
}

/** The row itself, if it is given again rather than anew. */
function holds<Row extends Grip>(row: Row, { session }: ClaimRequest): Row | undefined {
  return row.session === session ? row : undefined
}

function grantRun(tx: Transaction, row: RunRow, request: ClaimRequest): RunRow {
  return tx.change(row, { ...granted(row, request), status: 'running' })
}

function grantTask(tx: Transaction, row: TaskRow, request: ClaimRequest): TaskRow {
  const task = { ...row, ...granted(row, request) }
  tx.putTask(task)
  return task
}

function isLeasedBy(row: Grip, lease: Pick<Lease, 'session' | 'nonce'>): boolean {
  return row.session === lease.session && row.nonce === lease.nonce
}

function isHolder(row: Grip, lease: Lease): boolean {
  return isLeasedBy(row, lease) && row.epoch === lease.epoch
}

function newborn(run: NewRun, now: Instant): Omit<RunRow, 'inbox' | 'outbox'> {
  const { runId, name, workflowId, queue, priority, input, extras, parent, past } = run
  const startAt = run.startAt ?? now + (run.delayMs ?? 0)
  const extra = { ...(extras !== undefined && { extras }), ...(parent && { parent }) }
  const head = { runId, name, workflowId, queue, priority, generation: 1, createdAt: now, input }
  return {
    head: { ...head, ...extra },
    digest: run.digest,
    startAt,
    status: 'pending',
    at: startAt,
    updatedAt: now,
    session: 0,
    epoch: 0,
    nonce: 0,
    deliveries: 0,
    generation: 1,
    seq: past?.count ?? 0,
    reached: past?.count ?? 0,
    turnId: past?.turnId ?? 0,
    ...foundBy({}, run),
  }
}

function newTask(task: NewTask, row: RunRow, now: Instant): TaskRow {
  const { runId } = row.head
  const { taskId, name, queue, priority, body } = task
  const nobody = { session: 0, epoch: 0, nonce: 0, deliveries: 0 }
  return { taskId, name, queue, priority, body, runId, at: now, ...nobody, failed: 0 }
}

function claimedRun(row: RunRow): ClaimedRun {
  const { session, epoch, nonce, deliveries, seq, turnId, inbox: messages } = row
  const lease = { session, epoch, nonce }
  return { head: headOf(row), lease, deliveries, seq, turnId, messages }
}

function claimedTask(row: TaskRow): ClaimedTask {
  const { taskId, runId, name, body, session, epoch, nonce, failed, deliveries } = row
  return { taskId, runId, name, body, lease: { session, epoch, nonce }, failed, deliveries }
}
