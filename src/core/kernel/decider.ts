// The seam between the kernel and the styles of workflow. A decider is pure: it reads history and answers
// with commands. It may not touch a store, a clock, or a promise it did not make.

import type { Instant } from '../base/instant.ts'
import type { Payload } from '../base/value.ts'
import type { Command } from './command.ts'
import type { HistoryEvent } from './event.ts'
import type { Head } from './run.ts'

export interface Decider {
  /** A fresh execution at the beginning of the run. */
  open(head: Head, world: World): Execution
}

/** What an execution needs of the world, and all it may have of it. */
export interface World {
  /** A long replay calls this now and then. */
  breathe(): Promise<void>
  /** Something nobody can guess. It is written down at once, and never asked for again. */
  secret(): string
}

export interface Execution {
  /**
   * Takes further events, runs to the next frontier and says what is asked for there. Stays warm. Events up to
   * `replayedThrough` were seen before by another execution; what the code logs meanwhile is not new.
   */
  advance(
    events: readonly HistoryEvent[],
    now: Instant,
    replayedThrough?: number,
  ): Promise<readonly Command[]>
  /** What the code logged since this was last asked. It may be shown once its turn is durable. */
  takeLogs(): readonly LogEntry[]
  /** Answers a question from where the code stands, and changes nothing. */
  query(name: string, payload: Payload): Payload
  /** What a step that was asked for under `key` does. The body is absent for an activity. */
  step(key: string): StepPlan | undefined
  /** Keys that history has and the code has not asked for. */
  readonly unasked: readonly string[]
  /** Why this execution cannot go on, once it is known. It may come to light between turns. */
  readonly broken: Error | undefined
  /** The code has asked what time it is before anything happened that says so: its answer must be written down. */
  readonly readClock: boolean
  /** Called when `broken` comes to light between turns. */
  onBreak: () => void
  /** Forgets the run. Code that wakes up later finds nothing to talk to. */
  dispose(): void
}

export interface LogEntry {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly fields?: object
}

/** Everything about a step that today's code decides, as opposed to what history recorded. */
export interface StepPlan {
  /** Absent for an activity, whose body is in the registry of whoever runs it. */
  readonly body?: (context: never) => unknown
  /** A body that runs in a transaction of the store's. */
  readonly transaction?: (sql: never) => Promise<unknown>
  readonly retry: RetryRule
  readonly startToCloseMs?: number
  readonly scheduleToStartMs?: number
  readonly scheduleToCloseMs?: number
  readonly heartbeatMs?: number
  readonly queue?: string
  readonly priority?: number
  /** Of an activity: what was said where it was asked for. Whoever runs it knows what its code says of itself. */
  readonly given?: GivenOptions
}

/** Options as they were written, and as they travel with a task. */
export type GivenOptions = Readonly<Record<string, unknown>>

/** A retry policy with every default filled in. */
export interface RetryRule {
  readonly maxAttempts: number
  readonly initialMs: number
  readonly maxMs: number
  readonly factor: number
  readonly jitter: number
  /** `quadratic` waits attempt² × initial instead of growing by factor. */
  readonly curve: 'exponential' | 'quadratic'
  readonly nonRetryable: readonly string[]
  /** Tried again although they look like mistakes in the code. */
  readonly retryable?: readonly string[]
}
