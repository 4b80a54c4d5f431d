// What is wanted of a replica.
import type { Transaction } from '../../core/stores/driver.ts'
import type { ArchiveProposal } from './segment.ts'

/** Something somebody wants done. It is judged against the newest state, perhaps several times. */
export interface Wish<Out> {
  readonly judge: (tx: Transaction) => Out
  /** Runs and workflow ids it has to know of, even if they have ended long ago. */
  readonly runIds?: readonly string[]
  readonly workflowIds?: readonly string[]
  /** Whether this answer would be wrong if others had written meanwhile. */
  readonly mayBeStale?: (out: Out) => boolean
  readonly bytes?: number
  /** Goes before all others, and never pauses for other processes. */
  readonly urgent?: true
  /** Written along with it, if it still fits. */
  readonly archive?: ArchiveProposal
}

/** What a wish came to. */
export type Judged = { readonly value: unknown } | { readonly error: unknown }

export function judge(wish: Wish<unknown>, tx: Transaction): Judged {
  try {
    return { value: wish.judge(tx) }
  } catch (error) {
    return { error }
  }
}

export function isStale(wish: Wish<unknown>, out: Judged | undefined): boolean {
  return out !== undefined && 'value' in out && wish.mayBeStale?.(out.value) === true
}
