// Rows in memory as they begin, and as a claim returns them.
import type { Instant } from '../../base/time.ts'
import { changedAttributes } from '../../kernel/attributes.ts'
import type { ClaimedRun, ClaimedTask, NewRun, NewTask, StoredHead } from '../store.ts'
import { headOf, type RunRow, type TaskRow } from './row.ts'
import type { RunStart } from './rows-tx.ts'

/** The head of a run that is created now. */
export function newHead(run: NewRun, now: Instant): StoredHead {
  const { runId, name, workflowId, queue, priority, input, extras, parent } = run
  return {
    ...{ runId, name, workflowId, queue, priority, generation: 1, createdAt: now, input },
    ...(extras !== undefined && { extras }),
    ...(parent && { parent }),
  }
}

export function newRunRow(run: NewRun, { startAt, ...lease }: RunStart, now: Instant): RunRow {
  const { past } = run
  return {
    head: newHead(run, now),
    digest: run.digest,
    startAt,
    ...lease,
    at: Math.max(startAt, now),
    updatedAt: now,
    generation: 1,
    seq: past?.count ?? 0,
    reached: past?.count ?? 0,
    turnId: past?.turnId ?? 0,
    ...(run.attributes && { attributes: changedAttributes({}, run.attributes) }),
    inbox: [],
    outbox: [],
  }
}

export function newTaskRow(task: NewTask, runId: string, now: Instant): TaskRow {
  const { taskId, name, queue, priority, body } = task
  const free = { session: 0, epoch: 0, nonce: 0, deliveries: 0 }
  return { taskId, name, queue, priority, body, runId, at: now, ...free, failed: 0 }
}

export function claimedRunOf(row: RunRow): ClaimedRun {
  const { session, epoch, nonce, deliveries, seq, turnId, inbox: messages } = row
  const lease = { session, epoch, nonce }
  return { head: headOf(row), lease, deliveries, seq, turnId, messages }
}

export function claimedTaskOf(row: TaskRow): ClaimedTask {
  const { taskId, runId, name, body, session, epoch, nonce, failed, deliveries } = row
  return { taskId, runId, name, body, lease: { session, epoch, nonce }, failed, deliveries }
}
