// The life of a session: renewed by its worker, closed by it, or freed by a claim that found it silent.

import { limits } from '../../base/limits.ts'
import type { Instant } from '../../base/time.ts'
import type { ClaimRequest, LateSession, Lease, Renewed, SessionBeat } from '../store.ts'
import { NEVER } from '../values.ts'
import type { LeaseState, SessionTimes } from './row.ts'
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

// Who may write a run or a task.

/** No session holds it. */
export const released = { session: 0, nonce: 0 }

/** A row after a grant to this session. */
export function granted(
  { epoch, deliveries }: LeaseState,
  { session, nonce }: Pick<Lease, 'session' | 'nonce'>,
): LeaseState {
  return { session, nonce, epoch: epoch + 1, deliveries: deliveries + 1 }
}

export function isLeasedBy(row: LeaseState, lease: Pick<Lease, 'session' | 'nonce'>): boolean {
  return row.session === lease.session && row.nonce === lease.nonce
}

export function isHolder(row: LeaseState, lease: Lease): boolean {
  return isLeasedBy(row, lease) && row.epoch === lease.epoch
}

// When a session has missed a renewal: the rule of `LateSession`.

interface RenewalTimes {
  readonly expiresAt: Instant
  /** Rows of older releases lack it. */
  readonly ttlMs?: number
}

export function isLate(session: RenewalTimes, now: Instant): boolean {
  return lateAt(session, now) <= now
}

/** When the session will have missed a renewal, unless it is renewed before. */
export function lateAt({ expiresAt, ttlMs = limits.leaseMs }: RenewalTimes, now: Instant): Instant {
  // No renewal by today's clock lasts so long: the clock was set back since.
  if (expiresAt > now + ttlMs + limits.clockStepMs) return now
  const renewedAt = expiresAt - ttlMs
  const latenessMs = Math.min(ttlMs / 12, limits.renewalLateMsMax)
  return Math.min(NEVER, Math.ceil(renewedAt + ttlMs / limits.leaseRenewalsPerLife + latenessMs))
}
