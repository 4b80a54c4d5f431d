// Every rule of the seam in its plainest form, over rows in memory. The memory store applies what comes out; the
// object store writes it down first.
import type { Instant } from '../../kernel/event.ts'
import { limits } from '../../kernel/limits.ts'
import { NEVER } from '../never.ts'
import type {
  Claimed,
  ClaimedRun,
  ClaimedTask,
  ClaimRequest,
  Committed,
  Created,
  Lease,
  NewRun,
  NewTask,
  Post,
  Posted,
  Renewed,
  SessionBeat,
  Settled,
  TaskOutcome,
  TurnCommit,
} from '../store.ts'
import { chooseRuns, chooseTasks, hasSuspects, newsFor, nextDue } from './claim.ts'
import { type Grip, hasEnded, type RunRow, type RunState, type TaskRow } from './row.ts'
import type { Transaction } from './transaction.ts'

/** Whether what a turn sends to others arrives with it, or is carried over by a later claim. */
export type Delivery = 'atomic' | 'deferred'

export function create(tx: Transaction, run: NewRun): Created {
  const there = tx.run(run.runId)
  if (there) return existing(there, run)
  const namesake = namesakeOf(tx, run)
  if (namesake) return namesake
  const { now } = tx
  const { head, digest, startAt, ...state } = newborn(run, now)
  const eager = run.eager && startAt <= now && tx.session(run.eager.session) ? run.eager : undefined
  const row = tx.bear(
    { head, digest, startAt },
    eager ? { ...state, ...granted(state, eager), status: 'running' } : state,
  )
  return { outcome: 'created', now, ...(eager && { run: claimedRun(row) }) }
}

export function post(tx: Transaction, { runId, message, urgent }: Post): Posted {
  const row = tx.run(runId)
  if (!row) return { outcome: 'missing' }
  if (hasEnded(row)) return { outcome: 'closed' }
  if (row.inbox.some((each) => each.id === message.id)) return { outcome: 'duplicate' }
  tx.post(row, message)
  if (row.session === 0 && (!row.paused || urgent)) {
    // A start that lies ahead holds back only a run that has not begun.
    const earliest = urgent || row.status !== 'pending' ? 0 : row.startAt
    tx.change(row, { paused: undefined, at: Math.min(row.at, Math.max(tx.now, earliest)) })
  }
  return { outcome: 'accepted' }
}

export function claim(tx: Transaction, request: ClaimRequest, delivery: Delivery): Claimed {
  const { now } = tx
  reap(tx)
  if (delivery === 'deferred') for (const row of [...tx.undelivered()]) deliver(tx, row)
  if (!tx.session(request.session)) return { now, runs: [], tasks: [], news: [], dead: true }
  const runs = chooseRuns(tx, request).map(
    (row) => holds(row, request) ?? grantRun(tx, row, request),
  )
  const tasks = chooseTasks(tx, request).map(
    (row) => holds(row, request) ?? grantTask(tx, row, request),
  )
  const due = nextDue(tx, request)
  return {
    now,
    runs: runs.map(claimedRun),
    tasks: tasks.map(claimedTask),
    news: newsFor(tx, request),
    ...(hasSuspects(tx, request) && { suspects: true as const }),
    ...(due !== undefined && { nextDue: due }),
  }
}

export function commit(tx: Transaction, turn: TurnCommit, delivery: Delivery): Committed {
  const row = tx.run(turn.runId)
  if (!row) return { outcome: 'fenced' }
  if (isRecorded(tx, row, turn)) return { outcome: 'duplicate' }
  if (!isHolder(row, turn.lease)) return { outcome: 'fenced' }
  // Stamped with a time that has not come: its writer's idea of time is wrong, and so is what it decided by it.
  if (turn.at > tx.now + limits.clockAheadMsMax) return { outcome: 'fenced' }
  if (turn.seq !== row.reached) return { outcome: 'fenced' }
  const unread = row.inbox.filter((each) => !turn.consumed.includes(each.id))
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

export function renew(tx: Transaction, beat: SessionBeat): Renewed {
  const { now } = tx
  const { session, worker, about } = beat
  const known = tx.session(session)
  const alive = !beat.close && (beat.beat === 1 || (known !== undefined && known.expiresAt > now))
  if (alive) {
    tx.putSession({ session, worker, about, beat: beat.beat, expiresAt: now + beat.ttlMs })
  } else if (known) free(tx, session)
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
  if (run.reuse === 'returnExisting') {
    return hasEnded(latest) ? undefined : { outcome: 'existing', runId }
  }
  const mayFollow =
    run.reuse === 'allowIfFailed' && hasEnded(latest) && latest.status !== 'completed'
  return mayFollow ? undefined : { outcome: 'refused', runId }
}

function isRecorded(tx: Transaction, row: RunRow, { seq, count, turnId }: TurnCommit): boolean {
  if (count === 0) return false
  if (row.turnId === turnId && row.reached === seq + count) return true
  return seq < row.reached && tx.turnAt(row.head.runId, seq)?.turnId === turnId
}

function applyTurn(tx: Transaction, row: RunRow, turn: TurnCommit): void {
  const { seq, count, turnId, body } = turn
  if (count > 0) tx.append(row, { seq, count, turnId, epoch: turn.lease.epoch, body })
  tx.take(row, turn.consumed)
  for (const task of turn.tasks) tx.putTask(newTask(task, row, tx.now))
  for (const id of turn.dropped) tx.dropTask(id)
  const { inbox } = tx.run(turn.runId) ?? row
  tx.change(row, {
    updatedAt: tx.now,
    ...(count > 0 && { reached: seq + count, turnId }),
    ...moved(turn, inbox.length > 0, tx.now),
  })
}

function moved(
  { next, seq, count }: TurnCommit,
  hasUnread: boolean,
  now: Instant,
): Partial<RunState> {
  if (next.type === 'hold') return {}
  const letGo = { ...released, deliveries: 0, seq: seq + count, paused: undefined }
  switch (next.type) {
    case 'end':
      return { ...letGo, status: next.status, endedAt: now, at: NEVER }
    case 'pause': {
      const { build, failure } = next
      return { ...letGo, status: 'paused', at: NEVER, paused: { build, failure } }
    }
    case 'release':
      return { ...letGo, status: next.status, at: hasUnread ? now : (next.wakeAt ?? NEVER) }
  }
}

// A dead session's leases are freed by whoever claims next; its writes are refused from then on.
function reap(tx: Transaction): void {
  for (const { session, expiresAt } of [...tx.sessions()]) {
    if (expiresAt <= tx.now) free(tx, session)
  }
}

function free(tx: Transaction, session: number): void {
  tx.dropSession(session)
  for (const row of [...tx.liveRuns()]) {
    if (row.session === session) tx.change(row, { ...released, at: Math.min(row.at, tx.now) })
  }
  for (const row of [...tx.tasks()]) {
    if (row.session === session) tx.putTask({ ...row, ...released, at: Math.min(row.at, tx.now) })
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
  const { runId, name, workflowId, queue, priority, input, memo, parent } = run
  const startAt = run.startAt ?? now + (run.delayMs ?? 0)
  const extra = { ...(memo !== undefined && { memo }), ...(parent && { parent }) }
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
    seq: 0,
    reached: 0,
    turnId: 0,
  }
}

function newTask(task: NewTask, row: RunRow, now: Instant): TaskRow {
  const { runId } = row.head
  const { taskId, name, queue, priority, body } = task
  const nobody = { session: 0, epoch: 0, nonce: 0, deliveries: 0 }
  return { taskId, name, queue, priority, body, runId, at: now, ...nobody, failed: 0 }
}

function claimedRun(row: RunRow): ClaimedRun {
  const { head, session, epoch, nonce, deliveries, seq, inbox } = row
  return { head, lease: { session, epoch, nonce }, deliveries, seq, messages: inbox }
}

function claimedTask(row: TaskRow): ClaimedTask {
  const { taskId, runId, name, body, session, epoch, nonce, failed, deliveries } = row
  return { taskId, runId, name, body, lease: { session, epoch, nonce }, failed, deliveries }
}
