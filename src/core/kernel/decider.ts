// The seam between the kernel and the styles of workflow. A decider is pure: it reads history and answers with
// commands. It touches no store, no clock, and no promise that it did not make.

import type { Instant } from '../base/time.ts'
import type { Payload } from '../base/value.ts'
import type { Command } from './command.ts'
import type { HistoryEvent } from './event.ts'
import type { Head } from './run.ts'

export interface Decider {
  /** A fresh execution at the beginning of the run. */
  open(head: Head, world: World): Execution
}

/** All that an execution may use of the world. */
export interface World {
  /** Lets other work run; a long replay awaits this now and then. */
  breathe(): Promise<void>
  /** A value that cannot be guessed. The execution records it at once. */
  secret(): string
}

export interface Execution {
  /**
   * Takes further events, runs the code until it waits, and returns its commands. The execution stays warm. Events up
   * to `replayedThrough` were seen by another execution before, so log entries up to there are not repeated.
   */
  advance(events: readonly HistoryEvent[], now: Instant, replayedThrough?: number): Promise<readonly Command[]>
  /** Log entries since the last call. They are shown once their turn is durable. */
  takeLogs(): readonly LogEntry[]
  /** Answers a query from the current state, and changes nothing. */
  query(name: string, payload: Payload): Payload
  /** The plan of the step that was requested under `key`. */
  step(key: string): StepPlan | undefined
  /** Keys of recorded requests that the code has not made again. */
  readonly unrequested: readonly string[]
  /** Why this execution cannot continue. It may become known between turns. */
  readonly broken: Error | undefined
  /** The code has read the time before its first event. The turn must be recorded, so that a replay reads the same. */
  readonly readClock: boolean
  /** Called when `broken` becomes known between turns. */
  onBreak: () => void
  /** Drops the run. Calls of `ctx` by code that wakes up later are never answered. */
  dispose(): void
}

export interface LogEntry {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly message: string
  readonly fields?: object
}

/** What the current code decides about a step, as opposed to what history recorded. */
export interface StepPlan {
  /** Absent for an activity: its body is in the registry of the worker that runs it. */
  readonly body?: (context: never) => unknown
  /** A body that runs in a transaction of the store. */
  readonly transaction?: (sql: never) => Promise<unknown>
  readonly retry: RetryRule
  readonly startToCloseMs?: number
  readonly scheduleToStartMs?: number
  readonly scheduleToCloseMs?: number
  readonly heartbeatMs?: number
  readonly queue?: string
  readonly priority?: number
  /** Of an activity: the options of the call. The worker that runs it adds those of the registered activity. */
  readonly given?: GivenOptions
}

/** Options as the user wrote them; they travel with a task. */
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
  /** Failure types that are retried although they look like mistakes in the code. */
  readonly retryable?: readonly string[]
}
