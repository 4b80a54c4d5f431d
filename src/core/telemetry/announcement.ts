// Announcements: what an engine reports about runs, steps, workers and store calls, once it is durable. Logs, metrics
// and tests listen to this one stream.

import type { Failure } from '../base/failure.ts'
import type { RunTrace } from '../kernel/run-trace.ts'

/** The worker in which it happened; absent in a process that does not work. */
interface Where {
  readonly worker?: string
  readonly build?: string
}
interface OfRun extends Where {
  readonly at: Date
  readonly runId: string
  readonly workflowId: string
  readonly workflow: string
  readonly queue: string
  /** What the ids of its spans are derived from. */
  readonly trace: RunTrace
}
interface OfStep extends OfRun {
  readonly step: string
  readonly activity: string
  readonly attempt: number
}
/** The end of a generation: `ms` is the time since the run was created, `beganAt` when this generation began. */
interface OfEnd extends OfRun {
  readonly ms: number
  readonly beganAt: Date
}
/** An attempt, in the worker whose process runs the body. */
interface OfAttempt extends Where {
  readonly at: Date
  readonly runId: string
  readonly workflowId: string
  readonly step: string
  readonly activity: string
  readonly attempt: number
  /** `activity`, or `step` for one that is written in the code of the workflow. */
  readonly kind: 'activity' | 'step'
  readonly queue: string
  readonly priority: number
  readonly trace: RunTrace
}

/**
 * A report about something that happened, told apart by `type`. `engine.on` and `open({ listeners })` get them. Those
 * about runs and activities come when it is durable; those about attempts, claims and requests when it happens.
 */
export type Announcement =
  | ({ readonly type: 'run.started' | 'run.suspended' | 'run.compensating' } & OfRun)
  | ({ readonly type: 'run.continued' | 'run.cancelled' } & OfEnd)
  | ({ readonly type: 'run.completed'; readonly output: unknown } & OfEnd)
  | ({ readonly type: 'run.failed'; readonly failure: Failure } & OfEnd)
  | ({ readonly type: 'run.paused'; readonly failure: Failure } & OfRun)
  /** A worker has the right to write the run. */
  | ({ readonly type: 'run.claimed' } & OfRun)
  /** Its code was run again over this many events, because it was not in memory. */
  | ({ readonly type: 'run.replayed'; readonly events: number; readonly ms: number } & OfRun)
  /** A turn was written in `ms`. `callers` are the spans that its messages came from. */
  | ({
      readonly type: 'turn.committed'
      readonly events: number
      readonly callers: readonly string[]
      readonly ms: number
    } & OfRun)
  | ({
      readonly type:
        | 'activity.scheduled'
        | 'activity.started'
        /** The body called `completeLater`: the step is completed from outside. */
        | 'activity.left'
        | 'activity.completed'
      /** The step was announced before, and moves to the task queue. */
      readonly moved?: true
    } & OfStep)
  | ({
      readonly type: 'activity.failed'
      readonly failure: Failure
      readonly willRetry: boolean
    } & OfStep)
  /** `waitedMs` is how long it could have begun before; unknown of a queued activity that was tried before. */
  | ({ readonly type: 'attempt.started'; readonly waitedMs?: number } & OfAttempt)
  | ({
      readonly type: 'attempt.ended'
      readonly outcome: 'completed' | 'failed' | 'left'
      readonly ms: number
      readonly waitedMs?: number
    } & OfAttempt)
  /** A worker took a queued activity; the claim took `ms`. */
  | ({ readonly type: 'task.claimed'; readonly ms: number } & OfAttempt)
  /** The outcome of a queued activity was written in `ms`. */
  | ({ readonly type: 'task.settled'; readonly ms: number } & OfAttempt)
  | {
      readonly type: 'lease.lost'
      readonly at: Date
      readonly runId: string
      readonly worker: string
    }
  | {
      readonly type: 'worker.changed'
      readonly at: Date
      readonly worker: string
      readonly status: 'active' | 'draining' | 'stopped'
    }
  | {
      readonly type: 'store.call'
      readonly at: Date
      readonly method: string
      readonly ms: number
      readonly ok: boolean
    }
  /** The HTTP server answered. `operation` is absent if the request named none. */
  | {
      readonly type: 'http.answered'
      readonly at: Date
      readonly method: string
      readonly operation?: string
      readonly status: number
      readonly ms: number
      readonly requestId: string
    }

/** Receives announcements. Errors it throws are ignored. */
export type Listener = (announcement: Announcement) => void

// Passes announcements to listeners. Without listeners, no announcement is built.

export class Bus {
  readonly #listeners: Set<Listener>

  constructor(listeners: readonly Listener[] = []) {
    this.#listeners = new Set(listeners)
  }

  get heard(): boolean {
    return this.#listeners.size > 0
  }

  /** Calls `make` only if there is a listener. */
  announce(make: () => Announcement): void {
    if (!this.heard) return
    const announcement = make()
    for (const listener of this.#listeners) {
      try {
        listener(announcement)
      } catch {
        // An error of a listener must not affect the engine.
      }
    }
  }

  add(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
