// Options are data: no closure decides a queue, a limit or a delay, because a client or a worker in
// another language must reach the same decision.
import type { Duration } from '../kernel/duration.ts'
import type { Attributes } from './attributes.ts'

export interface RetryPolicy {
  /** 5, the first one included. */
  readonly maxAttempts?: number
  /** 1s */
  readonly initial?: Duration
  /** 60s */
  readonly max?: Duration
  /** 2 */
  readonly factor?: number
  /** 0.1: each delay is up to a tenth longer or shorter. */
  readonly jitter?: number
  /** Failure types that are not tried again; '*' is all of them. */
  readonly nonRetryable?: readonly string[]
}

export type Retry = RetryPolicy | 'none' | 'exponential' | 'quadraticMinutes'

/** A step met for the first time although recorded steps lie ahead: an insertion, or a rename? */
export type IfPast = 'park' | 'run'

/** A step is known by its kind, name and occurrence. `key` replaces name and occurrence; `was` is its name in older code. */
export interface StepIdentity {
  readonly key?: string
  readonly was?: string
  readonly ifPast?: IfPast
}

export interface Placement {
  /** 'default' */
  readonly queue?: string
  /** 0; higher runs first. */
  readonly priority?: number
}

export interface ActivityOptions extends Placement {
  readonly retry?: Retry
  /** How long one attempt may take. */
  readonly startToClose?: Duration
  /** How long it may stand in a queue before anybody begins with it. It is not tried again then. */
  readonly scheduleToStart?: Duration
  /** How long it may take in all, with every attempt and every pause between them. */
  readonly scheduleToClose?: Duration
  /** How long an attempt may go without `ctx.heartbeat()`. */
  readonly heartbeat?: Duration
}

export interface WorkflowOptions extends Placement {
  /** 'park' */
  readonly ifPast?: IfPast
  /** How long a run may take; it begins anew with each continue-as-new. */
  readonly runTimeout?: Duration
  /** How long a run may take with all that it continues as. */
  readonly executionTimeout?: Duration
}

export interface StepOptions extends StepIdentity {
  readonly retry?: Retry
  readonly startToClose?: Duration
}

export interface RunOptions extends ActivityOptions, StepIdentity {}

export interface ChildOptions extends Placement, StepIdentity {
  readonly workflowId?: string
  /** What becomes of the child when its parent ends first. 'cancel' */
  readonly parentClose?: 'cancel' | 'terminate' | 'abandon'
  readonly runTimeout?: Duration
  readonly executionTimeout?: Duration
  readonly attributes?: Attributes
  /** Kept with the child, readable and never searched. */
  readonly memo?: Readonly<Record<string, unknown>>
}
