// The life of a session: renewed by its worker, closed by it, or freed by a claim that found it silent.
import { limits } from '../../base/limits.ts'
import { isLate, lateAt } from '../lateness.ts'
import { NEVER } from '../never.ts'
import type { ClaimRequest, LateSession, Renewed, SessionBeat } from '../store.ts'
import { released } from './lease.ts'
import type { SessionTimes } from './row.ts'
import type { RowsTx } from './rows-tx.ts'

export function renew(tx: RowsTx, beat: SessionBeat): Renewed {
  const { now } = tx
  const { session, worker, about, ttlMs } = beat
  const known = tx.session(session)
  // A session that no claim has freed still holds all its leases, even if its time is over: the clock may have jumped.
  const alive = !beat.close && (beat.beat === 1 || known !== undefined)
  if (alive) {
    const expiresAt = now + ttlMs
    const latest = Math.max(expiresAt, known?.latest ?? 0, known?.expiresAt ?? 0)
    tx.putSession({ session, worker, about, beat: beat.beat, expiresAt, ttlMs, latest })
  } else if (known) free(tx, known)
  const lostTasks = beat.tasks.filter((id) => tx.task(id)?.session !== session)
  return { now, alive, lostTasks }
}

/** Frees the leases of sessions that the claimer found silent; their writes are refused from then on. */
export function freeSilent(tx: RowsTx, { session, silent }: ClaimRequest): void {
  for (const each of silent) {
    const row = tx.session(each.session)
    if (row && row.session !== session && row.beat === each.beat) free(tx, row)
  }
}

function free(tx: RowsTx, { session, latest = 0 }: SessionTimes): void {
  tx.dropSession(session)
  // No turn of the session was stamped later than its latest renewal was good for.
  for (const run of tx.runsHeldBy(session)) {
    const updatedAt = Math.max(run.updatedAt, latest)
    tx.change(run, { ...released, at: Math.min(run.at, tx.now), updatedAt })
  }
  for (const task of tx.tasksHeldBy(session)) tx.changeTask(task, { ...released, at: tx.now })
}

/** Which other sessions have missed a renewal, and when the next one will have. */
export function lateness(
  tx: RowsTx,
  { session }: ClaimRequest,
): { readonly late: LateSession[]; readonly next: number } {
  const late: LateSession[] = []
  let next: number = NEVER
  for (const each of tx.otherSessions(session)) {
    const { beat, ttlMs = limits.leaseMs } = each
    if (!isLate(each, tx.now)) next = Math.min(next, lateAt(each, tx.now))
    else if (late.length < limits.lateSessionsMax) late.push({ session: each.session, beat, ttlMs })
  }
  return { late, next }
}
