// The rows of a store in memory, and what a change to them looks like. Rows are never changed in place: a transaction
// makes new ones, so that a change can be thrown away, stored in a log, and applied elsewhere.
import type { Instant } from '../../base/time.ts'
import { RELEASED, type Status } from '../../kernel/run.ts'
import type { Attributes, NewTask, Outbound, StoredHead, StoredMessage, StoredRecord, StoredTurn } from '../store.ts'
import type { StreamChange } from './stream-rows.ts'

/** What never changes in a run's row. */
export interface RunOrigin {
  readonly head: StoredHead
  readonly digest: string
  /** A run that has not started does not start before this, unless a message is urgent. */
  readonly startAt: Instant
}

/** The lease on a run or a task. Session 0: it is free. */
export interface LeaseState {
  readonly session: number
  readonly epoch: number
  readonly nonce: number
  readonly deliveries: number
}

/** What changes in a run's row, and the rules of every store read. */
export interface RunState extends LeaseState {
  /** Never `compensating`: that is a field of its own, because it outlives every grant and release. */
  readonly status: Exclude<Status, 'compensating'>
  /** When the run is due. */
  readonly at: Instant
  readonly updatedAt: Instant
  readonly endedAt?: Instant | undefined
  readonly generation: number
  /** Events of this generation at the last release, and the turn that wrote the last of them. */
  readonly seq: number
  readonly turnId: number
  /** Events of this generation that are durable. */
  readonly reached: number
  readonly paused?: { readonly build: string; readonly failure: string } | undefined
  /** The run undoes what it did. */
  readonly compensating?: boolean | undefined
  /** The build the run is pinned to. */
  readonly pin?: string | undefined
  /** Why the run was last released or paused, or failed. Kept while it is held, and not shown then. */
  readonly reason?: string | undefined
}

/** What changes in a run's row in memory: also its attributes and notes. */
export interface RowState extends RunState {
  readonly attributes?: Attributes | undefined
  /** By `noteKey`. */
  readonly notes?: Readonly<Record<string, string>> | undefined
}

/** A turn, and its generation; the first when absent. */
export type RowTurn = StoredTurn & { readonly generation?: number }

export interface RunRow extends RunOrigin, RowState {
  readonly inbox: readonly StoredMessage[]
  /** Messages and new runs for others that are not delivered yet. */
  readonly outbox: readonly Outbound[]
}

export interface TaskRow extends NewTask, LeaseState {
  readonly runId: string
  readonly at: Instant
  readonly failed: number
  readonly failure?: string | undefined
}

export interface SessionRow {
  readonly session: number
  readonly worker: string
  readonly beat: number
  readonly expiresAt: Instant
  /** How long the last renewal was good for, and the latest instant that any was. Rows of older releases lack both. */
  readonly ttlMs?: number
  readonly latest?: Instant
  readonly about: string
}

/** When a session was renewed, and until when. */
export type SessionTimes = Omit<SessionRow, 'worker' | 'about'>

/** A shared value. */
export interface RecordRow extends StoredRecord {
  readonly space: string
  /** The write that stored it. */
  readonly writeId: number
}

/** What happened to one run. */
export interface RunChange {
  readonly runId: string
  /** Present if the run is new. */
  readonly born?: RunOrigin
  /** Present if the run is new, and not the newest of its workflow id. */
  readonly older?: true
  /** Only what differs; `null` where a value was removed. */
  readonly set?: { readonly [Key in keyof RowState]?: RowState[Key] | null }
  /** Notes that are new or differ, beside those that `set` keeps. */
  readonly noted?: Readonly<Record<string, string>>
  readonly turns?: readonly RowTurn[]
  /** Turns of generations before this one are deleted. */
  readonly forgotten?: number
  readonly posted?: readonly StoredMessage[]
  /** Ids of messages that were consumed, before those in `posted` arrived. */
  readonly taken?: readonly string[]
  readonly outbox?: readonly Outbound[]
  readonly streams?: readonly StreamChange[]
  /** The run and everything that belongs to it is gone. */
  readonly isDeleted?: true
}

export interface Changes {
  readonly runs: readonly RunChange[]
  readonly tasks: readonly TaskRow[]
  readonly tasksGone: readonly string[]
  readonly sessions: readonly SessionRow[]
  readonly sessionsGone: readonly number[]
  readonly records: readonly RecordRow[]
}

export function isEmpty(changes: Changes): boolean {
  return Object.values(changes).every((part: readonly unknown[]) => part.length === 0)
}

export function hasEnded(row: Pick<RunState, 'endedAt'>): boolean {
  return row.endedAt !== undefined
}

/** A total order by age: the instant padded so that text sorts as numbers do, then the id. */
export function position(row: { readonly head: Pick<StoredHead, 'runId' | 'createdAt'> }): string {
  const { createdAt, runId } = row.head
  return `${String(createdAt).padStart(16, '0')}:${runId}`
}

/** The head of a run in its current generation. */
export function headOf({ head, generation }: Pick<RunRow, 'head' | 'generation'>): StoredHead {
  return generation === head.generation ? head : { ...head, generation }
}

/** The status as the seam has it. */
export function statusOf({ status, compensating }: Pick<RunState, 'status' | 'compensating'>): Status {
  return compensating && RELEASED.some((each) => each === status) ? 'compensating' : status
}

/** The reason as the seam has it. */
export function reasonOf({ status, reason }: Pick<RunState, 'status' | 'reason'>): string | undefined {
  return status === 'pending' || status === 'running' ? undefined : reason
}

/** Turns of one generation of a run, as the seam has them. */
export function turnsOf(turns: readonly RowTurn[], generation: number): readonly StoredTurn[] {
  return turns.filter((turn) => (turn.generation ?? 1) === generation).map(({ generation: _, ...turn }) => turn)
}
