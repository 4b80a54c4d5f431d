// Whole runs on their way to another store, over rows in memory.
import { ENDED } from '../../kernel/run.ts'
import {
  leftReason,
  leftTo,
  MOVER,
  type TransferOperation,
  type TransferOutcome,
  type WholeRun,
  type WholeTask,
} from '../moving.ts'
import { digestOfRun } from '../run-digest.ts'
import { compareKeys, NEVER } from '../values.ts'
import { noteKey } from './read.ts'
import { hasEnded, headOf, type RunRow, type TaskRow } from './row.ts'
import type { Transaction } from './transaction.ts'

type Operation<Type> = Extract<TransferOperation, { type: Type }>

export function transfer(tx: Transaction, operation: TransferOperation): TransferOutcome {
  if (operation.type === 'put') return put(tx, operation)
  const row = tx.run(operation.runId)
  if (!row) return { outcome: 'missing' }
  if (operation.type === 'read') return { outcome: 'read', run: wholeOf(tx, row) }
  if (operation.type === 'leave') return leave(tx, row, operation)
  if (hasLeft(row)) return { outcome: 'left', to: leftTo(row.reason) }
  if (hasEnded(row)) return { outcome: 'ended' }
  if (operation.type === 'hold') return hold(tx, row, operation)
  if (!isHeldFor(row, operation.move)) return { outcome: row.session === MOVER ? 'other' : 'changed' }
  if (operation.type === 'append') append(tx, row, operation)
  else free(tx, row)
  return { outcome: 'done' }
}

function hasLeft(row: RunRow): boolean {
  return hasEnded(row) && row.status === 'moved'
}

function isHeldFor({ session, nonce }: RunRow, move: number): boolean {
  return session === MOVER && nonce === move
}

function hold(tx: Transaction, row: RunRow, { move }: Operation<'hold'>): TransferOutcome {
  if (row.session === MOVER && row.nonce !== move) return { outcome: 'other' }
  // What the run sends to others is on its way. A claim delivers it.
  if ((row.session !== 0 && row.session !== MOVER) || row.outbox.length > 0) return { outcome: 'busy' }
  const lease = { session: MOVER, nonce: move }
  if (row.session === 0) tx.change(row, { ...lease, epoch: row.epoch + 1 })
  const tasks = tx.tasksOf(row.head.runId).filter(({ session }) => session !== MOVER)
  for (const task of tasks) if (task.session === 0) tx.changeTask(task, { ...lease, epoch: task.epoch + 1 })
  return { outcome: tasks.some(({ session }) => session !== 0) ? 'busy' : 'done' }
}

export function wholeOf(tx: Transaction, row: RunRow): WholeRun {
  const { digest, status, updatedAt, at, epoch, deliveries, seq, turnId, attributes = {} } = row
  const { paused, compensating, pin, reason } = row
  const endedAt = row.session === MOVER && isEnd(status) ? updatedAt : row.endedAt
  return {
    ...{ head: headOf(row), digest, startAt: status === 'pending' ? row.startAt : 0, status, updatedAt },
    ...(endedAt !== undefined && { endedAt }),
    ...{ at, epoch, deliveries, seq, turnId, attributes },
    ...(paused && { paused }),
    ...(compensating && { compensating }),
    ...(pin !== undefined && { pin }),
    ...(reason !== undefined && { reason }),
    notes: notesOf(row),
    inbox: row.inbox,
    tasks: tx
      .tasksOf(row.head.runId)
      .map(wholeTask)
      .sort((a, b) => compareKeys(a.taskId, b.taskId)),
  }
}

function notesOf({ notes = {} }: RunRow): WholeRun['notes'] {
  return Object.entries(notes)
    .map(([id, body]) => {
      const [generation, key, name] = JSON.parse(id) as [number, string, string]
      return { generation, key, name, body }
    })
    .sort((a, b) => a.generation - b.generation || compareKeys(a.key, b.key) || compareKeys(a.name, b.name))
}

function wholeTask({ runId: _, session: __, nonce: ___, failure, ...task }: TaskRow): WholeTask {
  return { ...task, ...(failure !== undefined && { failure }) }
}

function put(tx: Transaction, { move, run, beside }: Operation<'put'>): TransferOutcome {
  const { runId, workflowId } = run.head
  const there = tx.run(runId)
  if (there && isHeldFor(there, move)) return complete(tx, there, run)
  if (there && (!hasLeft(there) || tx.isArchived(runId))) {
    const isSame = there.endedAt === run.endedAt && there.digest === run.digest && hasEnded(there)
    if (isSame && there.generation === run.head.generation) return { outcome: 'there' }
    return there.session === MOVER ? { outcome: 'other' } : { outcome: 'taken', runId }
  }
  const newest = workflowId === runId ? undefined : tx.newest(workflowId)
  const isTaken = newest && newest.runId !== runId && newest.endedAs === undefined && run.endedAt === undefined
  if (isTaken && !beside) return { outcome: 'taken', runId: newest.runId }
  const row = arriving(run, move)
  // A run that comes back has its history here.
  if (there) tx.dropTasksOf(runId)
  const reached = there?.generation === row.generation ? there.reached : 0
  if (there) tx.change(there, { ...row, reached })
  else tx.insertRow(row, newest !== undefined && (tx.run(newest.runId)?.head.createdAt ?? 0) > run.head.createdAt)
  const held = { runId, session: MOVER, nonce: move }
  for (const task of run.tasks) tx.putTask({ ...task, ...held })
  return complete(tx, tx.run(runId) ?? row, run)
}

/** A run that has ended is in progress until it has arrived, and keeps the status that it ended with. */
function arriving(run: WholeRun, move: number): RunRow {
  const { head, notes: _, inbox: __, tasks: ___, endedAt: ____, compensating, ...state } = run
  return {
    ...{ head: { ...head, generation: 1 }, generation: head.generation, session: MOVER, nonce: move },
    ...state,
    ...{ compensating, endedAt: undefined, paused: run.paused, pin: run.pin, reason: run.reason },
    ...{ reached: 0, notes: undefined, inbox: [], outbox: [] },
  }
}

function complete(tx: Transaction, row: RunRow, { head: { runId }, notes, inbox }: WholeRun): TransferOutcome {
  for (const message of inbox) tx.post(row, message)
  for (const note of notes)
    if (row.notes?.[noteKey(note.generation, note.key, note.name)] !== note.body) tx.putNote(row, { runId, ...note })
  return { outcome: 'done' }
}

function append(tx: Transaction, row: RunRow, { runId, generation, turns }: Operation<'append'>): void {
  for (const turn of turns) {
    if (tx.turnAt(runId, generation, turn.seq) !== undefined) continue
    const { reached } = tx.run(runId) ?? row
    tx.append(row, { ...turn, generation })
    if (generation !== row.generation) tx.change(row, { reached })
  }
}

function leave(tx: Transaction, row: RunRow, { move, seen, to }: Operation<'leave'>): TransferOutcome {
  if (hasLeft(row)) return { outcome: 'left', to: leftTo(row.reason) }
  const { runId } = row.head
  if ((!hasEnded(row) && !isHeldFor(row, move)) || digestOfRun(wholeOf(tx, row)) !== seen) return { outcome: 'changed' }
  const left = { status: 'moved', reason: leftReason(to) } as const
  if (tx.isArchived(runId)) return { outcome: 'done' }
  if (hasEnded(row)) {
    tx.dropTasksOf(runId)
    tx.change(row, left)
  } else end(tx, row, { ...left, endedAt: Math.max(tx.now, row.updatedAt) })
  return { outcome: 'done' }
}

function free(tx: Transaction, row: RunRow): void {
  const { status, updatedAt, inbox, startAt } = row
  if (isEnd(status)) return end(tx, row, { status, endedAt: updatedAt, reason: row.reason })
  const held = tx.tasksOf(row.head.runId).filter(({ session }) => session === MOVER)
  for (const task of held) tx.changeTask(task, { session: 0, nonce: 0, at: Math.max(task.at, tx.now) })
  const earliest = Math.max(tx.now, status === 'pending' ? startAt : 0)
  const woken = inbox.length > 0 ? { paused: undefined, at: earliest } : {}
  const at = row.at === NEVER ? NEVER : Math.max(row.at, tx.now)
  tx.change(row, { session: 0, nonce: 0, at, ...woken })
}

function isEnd(status: RunRow['status']): boolean {
  return ENDED.some((each) => each === status)
}

/** Ends a run with a turn that it has already. */
function end(tx: Transaction, row: RunRow, set: Pick<RunRow, 'status' | 'endedAt' | 'reason'>): void {
  const { runId } = row.head
  tx.take(
    row,
    row.inbox.map(({ id }) => id),
  )
  tx.dropTasksOf(runId)
  tx.dropNotes(row)
  tx.change(row, {
    ...{ session: 0, nonce: 0, deliveries: 0, at: NEVER, updatedAt: set.endedAt ?? row.updatedAt },
    ...{ seq: row.reached, turnId: tx.lastTurn(row), paused: undefined, compensating: undefined },
    ...set,
  })
}
