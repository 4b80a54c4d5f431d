// Announcements: what an engine reports about runs, steps, workers and store calls, once it is durable. Logs, metrics
// and tests listen to this one stream.

import type { Failure } from '../base/failure.ts'

interface OfRun {
  readonly at: Date
  readonly runId: string
  readonly workflow: string
}
interface OfStep extends OfRun {
  readonly step: string
  readonly activity: string
  readonly attempt: number
}

/** A report about something that is durable, told apart by `type`. `engine.on` and `open({ listeners })` get them. */
export type Announcement =
  | ({
      readonly type: 'run.started' | 'run.suspended' | 'run.continued' | 'run.compensating' | 'run.cancelled'
    } & OfRun)
  /** `ms` is the time since the run was created. */
  | ({ readonly type: 'run.completed'; readonly output: unknown; readonly ms: number } & OfRun)
  | ({ readonly type: 'run.failed'; readonly failure: Failure; readonly ms: number } & OfRun)
  | ({ readonly type: 'run.paused'; readonly failure: Failure } & OfRun)
  | ({
      readonly type:
        | 'activity.scheduled'
        | 'activity.started'
        /** The body called `completeLater`: the step is completed from outside. */
        | 'activity.left'
        | 'activity.completed'
    } & OfStep)
  | ({
      readonly type: 'activity.failed'
      readonly failure: Failure
      readonly willRetry: boolean
    } & OfStep)
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

/** Receives announcements, after the commit. Errors it throws are ignored. */
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
