// How runs come into a store: new ones, and those that start again as their next generation.
import { limits } from '../../base/limits.ts'
import type { Created, InitialTurn, NewRun } from '../store.ts'
import { post } from './post.ts'
import { hasEnded } from './row.ts'
import type { RowsTx, Run } from './rows-tx.ts'
import { isLeasedBy, released } from './session.ts'

export function create(tx: RowsTx, run: NewRun): Created {
  if ((run.generation ?? 1) > 1) return startAgain(tx, run)
  const digest = tx.digest(run.runId)
  if (digest !== undefined) return withMessage(tx, run, existing(tx, run, digest))
  const isUnnamed = run.workflowId === run.runId && run.reuse === 'allow'
  const latest = isUnnamed ? undefined : tx.newest(run.workflowId)
  const instead = latest && namesake(tx, run, latest)
  if (instead) return withMessage(tx, run, instead)
  return insert(tx, run, latest?.endedAs === undefined ? latest?.runId : undefined)
}

function insert(tx: RowsTx, run: NewRun, inProgress: string | undefined): Created {
  const { now } = tx
  const startAt = run.startAt ?? now + (run.delayMs ?? 0)
  const eager = run.eager && startAt <= now && mayHold(tx, run.eager.session) ? run.eager : undefined
  const created = tx.insertRun(run, {
    startAt,
    session: eager?.session ?? 0,
    nonce: eager?.nonce ?? 0,
    epoch: eager ? 1 : 0,
    deliveries: eager ? 1 : 0,
    status: eager ? 'running' : 'pending',
  })
  if (run.past) tx.append(created, { generation: 1, seq: 0, epoch: 0, ...run.past })
  if (run.message) tx.post(created, run.message)
  return {
    outcome: 'created',
    now,
    ...(eager && { run: tx.claimedRun(created) }),
    ...(run.reuse === 'allow' && inProgress !== undefined && { alongside: inProgress }),
  }
}

/** True if the session lives, and its time is not over. */
function mayHold(tx: RowsTx, session: number): boolean {
  const row = tx.session(session)
  return row !== undefined && (row.latest ?? row.expiresAt) >= tx.now
}

function existing(tx: RowsTx, { runId, digest, eager }: NewRun, known: string): Created {
  if (known !== digest) return { outcome: 'conflict', runId }
  const held = eager && tx.runInProgress(runId)
  const isMine = held && isLeasedBy(held, eager)
  return { outcome: 'existing', runId, ...(isMine && { run: tx.claimedRun(held) }) }
}

function withMessage(tx: RowsTx, { message }: NewRun, created: Created): Created {
  if (!message || created.outcome !== 'existing') return created
  const { outcome } = post(tx, { runId: created.runId, message })
  return { ...created, posted: outcome }
}

/** What becomes of a start if its workflow id has a run; `undefined` if it may proceed. */
function namesake(
  tx: RowsTx,
  { reuse, displaced }: NewRun,
  { runId, endedAs }: { readonly runId: string; readonly endedAs?: string },
): Created | undefined {
  // It may be in progress where it went, so only a start that tolerates that may proceed.
  if (endedAs === 'moved' && reuse !== 'allow') return { outcome: 'refused', runId }
  switch (reuse) {
    case 'allow':
      return undefined
    case 'terminateRunning':
      if (displaced) post(tx, { runId, message: displaced, urgent: true })
      return undefined
    case 'returnExisting':
      return endedAs === undefined ? { outcome: 'existing', runId } : undefined
    case 'allowIfEnded':
      return endedAs === undefined ? { outcome: 'refused', runId } : undefined
    case 'allowIfFailed': {
      const hasFailed = endedAs !== undefined && endedAs !== 'completed'
      return hasFailed ? undefined : { outcome: 'refused', runId }
    }
    case 'reject':
      return { outcome: 'refused', runId }
  }
}

// A run that has ended, or is paused, continues as its next generation, from the history it is given.
function startAgain(tx: RowsTx, run: NewRun): Created {
  const { runId, generation = 1, past } = run
  const there = tx.run(runId)
  if (there && there.generation >= generation) {
    const isSame = tx.turnAt(runId, generation, 0) === past?.turnId
    return { outcome: isSame ? 'existing' : 'conflict', runId }
  }
  const isIdle = there && there.status !== 'moved' && (hasEnded(there) || (there.paused && there.session === 0))
  if (!there || !past || !isIdle || there.generation !== generation - 1) return { outcome: 'refused', runId }
  if (tx.isArchived(runId)) return { outcome: 'refused', runId, archived: true }
  tx.dropTasksOf(runId)
  const reopened = tx.reopen(there, {
    ...released,
    ...nextGeneration(generation, past),
    updatedAt: Math.max(tx.now, there.updatedAt),
    endedAt: undefined,
    at: tx.now,
    deliveries: 0,
    status: 'pending',
    paused: undefined,
  })
  beginGeneration(tx, reopened, generation, past)
  if (run.attributes) tx.setAttributes(reopened, run.attributes)
  return { outcome: 'created', now: tx.now }
}

/** What changes in a run's row when its next generation begins. */
export function nextGeneration(
  generation: number,
  { count, turnId }: InitialTurn,
): { generation: number; seq: number; turnId: number; compensating: undefined; reason: undefined } {
  return { generation, seq: count, turnId, compensating: undefined, reason: undefined }
}

/** Stores the first turn of a generation, and forgets what the run no longer needs. */
export function beginGeneration(tx: RowsTx, run: Run, generation: number, { count, turnId, body }: InitialTurn): void {
  tx.append(run, { generation, seq: 0, count, turnId, epoch: run.epoch, body })
  if (generation > limits.generationsKept) tx.forgetBefore(run, generation - limits.generationsKept + 1)
  tx.dropNotes(run)
}
