// The part of the store seam that grants leases: what a claim asks for, and what it returns.
import type { Instant } from '../base/time.ts'
import type { StoredHead, StoredMessage } from './values.ts'

/** The right to write a run or a task. A write whose lease is not the current one is refused by the store. */
export interface Lease {
  readonly session: number
  readonly epoch: number
  readonly nonce: number
}

/**
 * A session that has missed a renewal, as far as the store's clock tells: it was renewed longer than a third of `ttlMs`
 * ago, or later than it can have been.
 *
 * Clocks are set, forwards and backwards, so a clock alone never proves that a worker is dead. A claimer that has found
 * a session late at the same beat for two thirds of its `ttlMs`, by a clock of its own that never jumps, knows that its
 * worker has not renewed, and so has stopped itself. The claimer names the session in its next claim, which frees it.
 */
export interface LateSession {
  readonly session: number
  readonly beat: number
  readonly ttlMs: number
}

export interface ClaimRequest {
  readonly session: number
  /** Sessions to free, if they are still at these beats. Never the claimer's own. */
  readonly silent: readonly Pick<LateSession, 'session' | 'beat'>[]
  readonly nonce: number
  readonly build: string
  /**
   * Of runs that are pinned to a build, those of these builds; of unpinned runs, started or not, those whose share lies
   * in [from, to). The share of a run is the last four hexadecimal digits of its id as a number, so 0 to 65,535.
   * When absent: runs that are pinned to `build`, and all that are not pinned.
   */
  readonly pins?: {
    readonly builds: readonly string[]
    readonly from: number
    readonly to: number
  }
  readonly queues: readonly string[]
  /** Names this worker has code for; `null` means any. */
  readonly workflows: readonly string[] | null
  readonly activities: readonly string[] | null
  readonly runs: number
  /**
   * Suspects are runs whose last holder died. Above 0, and if there are any, only suspects are granted: at most this
   * many of those that lost one holder, or a single one that lost more. At 0 no suspect is granted.
   */
  readonly suspects: number
  readonly tasks: number
  readonly held: readonly string[]
  readonly heldTasks: readonly string[]
  /** An answer may have been lost: return leases of this session that are not in `held` and `heldTasks`. */
  readonly reconcile?: true
}

export interface Claimed {
  readonly now: Instant
  readonly runs: readonly ClaimedRun[]
  readonly tasks: readonly ClaimedTask[]
  readonly news: readonly { readonly runId: string; readonly messages: readonly StoredMessage[] }[]
  /** Sessions of others that have missed a renewal. */
  readonly late?: readonly LateSession[]
  /** When the next run or task that this claimer may be granted is due; after now. */
  readonly nextDue?: Instant
  /** When the next session of others will have missed a renewal, unless it is renewed before; after now. */
  readonly nextLate?: Instant
  /** There are suspects that this claimer may be granted, if it asks for them. */
  readonly suspects?: true
  /** The session does not live: nothing was granted, and it holds nothing. All else is absent or empty. */
  readonly dead?: true
}

export interface ClaimedRun {
  readonly head: StoredHead
  readonly lease: Lease
  /** Grants since the run was last released; above 1 the previous holder died. */
  readonly deliveries: number
  /**
   * Events at the last release, and the turn that wrote the last of them (0 for none). History may reach further if a
   * holder died since.
   */
  readonly seq: number
  readonly turnId: number
  readonly messages: readonly StoredMessage[]
}

export interface ClaimedTask {
  readonly taskId: string
  readonly runId: string
  readonly name: string
  readonly body: string
  readonly lease: Lease
  /** Attempts whose end was recorded. */
  readonly failed: number
  readonly deliveries: number
}
