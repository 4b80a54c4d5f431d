// The reading half of the store seam: what can be asked, and what the answers look like.
import type { Instant } from '../base/time.ts'
import type { EndedStatus, Status } from '../kernel/run.ts'
import type { StreamPage, StreamSnapshot } from './stream.ts'
import type { AttributeScalar, Attributes, StoredHead } from './values.ts'

export type LoadAsk =
  | { readonly type: 'run'; readonly runId: string }
  /** The newest run of a workflow id. */
  | { readonly type: 'named'; readonly workflowId: string }
  | {
      readonly type: 'history'
      readonly runId: string
      /** The newest when absent. */
      readonly generation?: number
      readonly after: number
      /** The newest turns that begin before this number, instead of the oldest. */
      readonly before?: number
      readonly turns: number
    }
  | { readonly type: 'tasks'; readonly runId: string }
  | {
      readonly type: 'notes'
      readonly runId: string
      readonly generation: number
      readonly key: string
    }
  | StreamAsk
  | { readonly type: 'sessions' }
  /** What waits for a worker, by queue. May take long if it is much: for a look now and then. */
  | { readonly type: 'queues' }

export type StreamAsk =
  /** All streams of a run, by their names. */
  | { readonly type: 'streams'; readonly runId: string }
  | {
      readonly type: 'stream'
      readonly runId: string
      readonly stream: string
      /** The offset of the first item. */
      readonly from: number
      /** The number of batches, and the number of the first part. */
      readonly batches: number
      readonly parts: number
    }

export type Loaded =
  | { readonly type: 'run'; readonly run?: RunSnapshot }
  | { readonly type: 'named'; readonly runId?: string }
  | ({ readonly type: 'history' } & HistoryPage)
  | { readonly type: 'tasks'; readonly tasks: readonly TaskSnapshot[] }
  | { readonly type: 'notes'; readonly notes: Readonly<Record<string, string>> }
  /** Absent if there is no such run. A stream that was never written to is empty. */
  | { readonly type: 'streams'; readonly streams?: readonly StreamSnapshot[] }
  | { readonly type: 'stream'; readonly page?: StreamPage }
  | {
      readonly type: 'sessions'
      readonly now: Instant
      readonly sessions: readonly SessionSnapshot[]
    }
  | {
      readonly type: 'queues'
      readonly now: Instant
      readonly queues: readonly QueueSnapshot[]
    }

/** Runs or tasks of a queue that are due, and neither held nor paused: runs first, then by name. */
export interface QueueSnapshot {
  readonly kind: 'run' | 'task'
  readonly queue: string
  readonly due: number
  /** When the first of them was due. */
  readonly oldest: Instant
}

export interface HistoryPage {
  readonly turns: readonly StoredTurn[]
  /** The page ends early because its turns are large: there may be more, although it has fewer than were asked for. */
  readonly more?: true
}

export interface StoredTurn {
  readonly seq: number
  readonly count: number
  readonly turnId: number
  readonly epoch: number
  readonly body: string
}

export interface RunSnapshot {
  readonly head: StoredHead
  readonly attributes: Attributes
  readonly status: Status
  /** When the run was created, last released or freed. Turns that keep the lease do not change it. */
  readonly updatedAt: Instant
  readonly endedAt?: Instant
  /** The turn that ended the run, when it has ended. */
  readonly last?: string
  /** When the run is due; absent if only a message or another build wakes it. */
  readonly wakeAt?: Instant
  readonly session?: number
  /** Grants so far: a turn that is written without a session names this. 0 when the run has ended. */
  readonly epoch: number
  readonly deliveries: number
  /** The failure that paused the run, and the build that met it. */
  readonly paused?: { readonly build: string; readonly failure: string }
  readonly unread: number
  /** The build the run is pinned to. */
  readonly pin?: string
  /** The reason of its last release, pause or end; absent while the run is pending or running. */
  readonly reason?: string
  readonly now: Instant
}

export interface TaskSnapshot {
  readonly taskId: string
  readonly name: string
  readonly queue: string
  readonly availableAt: Instant
  readonly session?: number
  readonly failed: number
  readonly deliveries: number
  readonly failure?: string
}

export interface SessionSnapshot {
  readonly session: number
  readonly worker: string
  readonly beat: number
  readonly expiresAt: Instant
  readonly about: string
}

export interface ListQuery {
  readonly names?: readonly string[]
  readonly statuses?: readonly Status[]
  readonly workflowId?: string
  /** Workflow ids that begin with this. A run that is called by its run id never matches. */
  readonly workflowIdPrefix?: string
  /** Children of this run. */
  readonly parentId?: string
  /** Runs that show this reason. One that ends with a colon stands for all that begin with it. */
  readonly reason?: string
  /** Pinned to this build. */
  readonly pin?: string
  readonly createdAfter?: Instant
  readonly createdBefore?: Instant
  /** All of them must hold. */
  readonly attributes?: readonly AttributeTest[]
  readonly limit: number
  readonly cursor?: string
  /** Return only the number of matching runs. */
  readonly count?: true
  /** Stop counting there. */
  readonly countMost?: number
  /** Return only how many of the runs have each key: at most `limit` groups, the largest first, then by their keys. */
  readonly groupBy?: GroupBy
}
/** A run that has no reason, or no pin, is in no group. */
export type GroupBy = 'name' | 'queue' | 'status' | 'reason' | 'pin'
export interface RunGroup {
  readonly key: string
  readonly count: number
  /** When the oldest run of the group was created. */
  readonly oldest: Instant
}
/**
 * An attribute of another type than the value it is compared with never matches. A list is equal to each text in it,
 * and has no order.
 */
export interface AttributeTest {
  readonly name: string
  readonly is: 'eq' | 'gt' | 'gte' | 'lt' | 'lte'
  readonly value: AttributeScalar
}
export interface Listed {
  readonly runs: readonly RunSnapshot[]
  readonly cursor?: string
  readonly count?: number
  readonly groups?: readonly RunGroup[]
}

export interface EndedQuery {
  /** Only runs that were created at least so long ago. */
  readonly minAgeMs: number
  readonly limit: number
  readonly cursor?: string
}
/** A run that has ended. */
export interface EndedRun {
  readonly runId: string
  readonly name: string
  readonly status: EndedStatus
  readonly endedAt: Instant
}
export interface EndedPage {
  readonly now: Instant
  readonly runs: readonly EndedRun[]
  /** Where the next page begins: behind a run that was created then. Absent at the end. */
  readonly next?: { readonly cursor: string; readonly createdAt: Instant }
}

export type Hint =
  /** There may be work in some queue. */
  | { readonly type: 'ready' }
  /** There may be messages for runs this session holds. */
  | { readonly type: 'news'; readonly session: number }
  /** A run has ended. */
  | { readonly type: 'ended'; readonly runId: string }
  /** This process wrote to a stream of the run. */
  | { readonly type: 'streamed'; readonly runId: string }
  /** Another process wrote something. */
  | { readonly type: 'changed' }
