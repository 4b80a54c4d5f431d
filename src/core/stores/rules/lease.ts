// Who may write a run or a task.
import type { Lease } from '../store.ts'
import type { LeaseState } from './row.ts'

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
