// What the system announces, after the fact is durable. Logs, metrics, tests and people listen to this one stream.
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

/** What happened, told apart by `type`, after it is durable. */
export type Announcement =
  | ({
      readonly type:
        | 'run.started'
        | 'run.suspended'
        | 'run.continued'
        | 'run.compensating'
        | 'run.cancelled'
    } & OfRun)
  /** `ms` is how long it took, from its creation. */
  | ({ readonly type: 'run.completed'; readonly output: unknown; readonly ms: number } & OfRun)
  | ({ readonly type: 'run.failed'; readonly failure: Failure; readonly ms: number } & OfRun)
  | ({ readonly type: 'run.paused'; readonly failure: Failure } & OfRun)
  | ({
      readonly type:
        | 'activity.scheduled'
        | 'activity.started'
        /** Its body left it to be completed from outside. */
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

/** Called after the commit. One that throws harms nothing. */
export type Listener = (announcement: Announcement) => void
