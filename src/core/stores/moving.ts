// The part of the store seam that moves whole runs to another store. A run that is being moved is held by a session
// that does not exist, so that no worker is granted it, no older lease fits it, and only its move lets go of it. The
// nonce of the hold is the number of the move. Messages are accepted meanwhile, and wait.
//
// The order of a move: `hold` and `read` at the source, `put` and `append` at the target, then `leave` at the source
// and `free` at the target. Every operation may be repeated. A run is never free in both stores: the target frees it
// only after the source has given it up. It is never lost: the source gives it up only after the target has all of it.
import type { Instant } from '../base/time.ts'
import type { Status } from '../kernel/run.ts'
import type { StoredTurn } from './reading.ts'
import type { Attributes, StoredHead, StoredMessage } from './values.ts'

/** The session of runs and tasks that are being moved. No worker has it. */
export const MOVER = -1

export interface WholeNote {
  readonly generation: number
  readonly key: string
  readonly name: string
  readonly body: string
}

export interface WholeTask {
  readonly taskId: string
  readonly name: string
  readonly queue: string
  readonly priority: number
  readonly body: string
  readonly at: Instant
  readonly epoch: number
  readonly deliveries: number
  readonly failed: number
  readonly failure?: string
}

/** All that a store has of a run, except its turns and its lease. */
export interface WholeRun {
  readonly head: StoredHead
  readonly digest: string
  /** 0 if the run has started. */
  readonly startAt: Instant
  /** Never `compensating`: that is a field of its own. */
  readonly status: Exclude<Status, 'compensating'>
  readonly updatedAt: Instant
  readonly endedAt?: Instant
  readonly at: Instant
  readonly epoch: number
  readonly deliveries: number
  /** Events of its generation at the last release, and the turn that wrote the last of them. */
  readonly seq: number
  readonly turnId: number
  readonly paused?: { readonly build: string; readonly failure: string }
  readonly compensating?: true
  readonly pin?: string
  readonly reason?: string
  readonly attributes: Attributes
  /** By their generations, keys and names. */
  readonly notes: readonly WholeNote[]
  readonly inbox: readonly StoredMessage[]
  /** By their ids. */
  readonly tasks: readonly WholeTask[]
}

/** `move` is the number of the move. */
export type TransferOperation =
  /** Takes a run in progress and its tasks from all workers, as soon as no worker holds one of them. */
  | { readonly type: 'hold'; readonly runId: string; readonly move: number }
  | { readonly type: 'read'; readonly runId: string }
  /**
   * Inserts a run that is held for this move, or adds the messages and notes that it lacks. A run that was moved from
   * here may come back. With `beside`, another run of its workflow id may be in progress here.
   */
  | { readonly type: 'put'; readonly move: number; readonly run: WholeRun; readonly beside?: true }
  /** Adds turns to a run that `put` has inserted. Those that exist stay as they are. */
  | {
      readonly type: 'append'
      readonly move: number
      readonly runId: string
      readonly generation: number
      readonly turns: readonly StoredTurn[]
    }
  /**
   * Ends the run here with the status `moved`, and `to` in its reason, if it is still what `read` returned: `seen` is
   * the digest of that. Its messages, notes and tasks are dropped; its history stays.
   */
  | {
      readonly type: 'leave'
      readonly runId: string
      readonly move: number
      readonly seen: string
      readonly to: string
    }
  /** Ends the hold. The run goes on here, or has ended here. */
  | { readonly type: 'free'; readonly runId: string; readonly move: number }

export type TransferOutcome =
  | { readonly outcome: 'done' }
  | { readonly outcome: 'read'; readonly run: WholeRun }
  | { readonly outcome: 'missing' }
  /** A worker holds the run, or one of its tasks. A run without such a task is held for the move all the same. */
  | { readonly outcome: 'busy' }
  /** The run is held for another move. */
  | { readonly outcome: 'other' }
  /** The run has ended: `hold` and `free` have nothing to do. */
  | { readonly outcome: 'ended' }
  /** The run has left this store. */
  | { readonly outcome: 'left'; readonly to: string }
  /** Nothing was inserted: this run, or another one of its workflow id, exists here. */
  | { readonly outcome: 'taken'; readonly runId: string }
  /** The very run is here already, and has ended. */
  | { readonly outcome: 'there' }
  /** The run is not what was read any more, or not held for this move. */
  | { readonly outcome: 'changed' }

/** Begins the reason of runs that have left a store. */
const LEFT = 'moved:'

export function leftReason(to: string): string {
  return `${LEFT}${to}`
}

/** Where a run with the status `moved` is, from its reason. */
export function leftTo(reason: string | undefined): string {
  return reason?.startsWith(LEFT) ? reason.slice(LEFT.length) : ''
}
