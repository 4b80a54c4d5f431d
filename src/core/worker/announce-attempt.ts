// What listeners are told about attempts at step bodies, and about tasks.
import type { Announcement } from '../telemetry/announcement.ts'
import type { AttemptOf } from './activity-context.ts'
import type { WorkerContext } from './context.ts'

type Ended = Extract<Announcement, { type: 'attempt.ended' }>
type OfAttempt = Omit<Extract<Announcement, { type: 'task.claimed' }>, 'type' | 'ms'>

/** The body is about to be called. Returns what is called when it has ended; undefined if there is no listener. */
export function announceAttempt(
  context: WorkerContext,
  of: AttemptOf,
  kind: Ended['kind'],
): ((outcome: Ended['outcome']) => void) | undefined {
  const { bus, clock, storeClock } = context
  if (!bus.heard) return undefined
  const { readyAt } = of
  const waited = readyAt === undefined ? {} : { waitedMs: Math.max(0, storeClock.now() - readyAt) }
  const began = clock.monotonic()
  bus.announce(() => ({ type: 'attempt.started', ...attemptOf(context, of, kind), ...waited }))
  return (outcome) => {
    const ms = clock.monotonic() - began
    bus.announce(() => ({ type: 'attempt.ended', ...attemptOf(context, of, kind), outcome, ms, ...waited }))
  }
}

/** A task was claimed, or its outcome was written, by a call that took `ms`. */
export function announceTask(
  context: WorkerContext,
  of: AttemptOf,
  { type, ms }: { readonly type: 'task.claimed' | 'task.settled'; readonly ms: number },
): void {
  context.bus.announce(() => ({ type, ...attemptOf(context, of, 'activity'), ms }))
}

function attemptOf({ clock, settings }: WorkerContext, of: AttemptOf, kind: Ended['kind']): OfAttempt {
  const { runId, workflowId, key: step, name: activity, attempt, queue, priority, trace } = of
  const where = { worker: settings.id, build: settings.code }
  const place = { at: new Date(clock.now()), runId, workflowId, step, activity, attempt }
  return { ...place, kind, queue, priority, trace, ...where }
}
