// What listeners and the log are told about runs. A listener or logger that throws does not harm the run.
import type { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { decode } from '../base/value.ts'
import type { Execution } from '../kernel/decider.ts'
import { leftUndone } from '../kernel/endings.ts'
import type { HistoryEvent } from '../kernel/event.ts'
import { TERMINATED } from '../kernel/message.ts'
import type { Head, RunState } from '../kernel/run.ts'
import { traceIdOf, traceOf } from '../kernel/trace.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Announcement } from '../telemetry/announcement.ts'
import type { WorkerContext } from './context.ts'

export type Listeners = Pick<WorkerContext, 'bus' | 'clock' | 'logger'> & {
  readonly settings?: Pick<WorkerContext['settings'], 'id' | 'code'>
}

/** Events that were committed. */
export function announceEvents(
  listeners: Listeners,
  { head, state }: { readonly head: Head; readonly state: Pick<RunState, 'beganAt'> },
  events: readonly HistoryEvent[],
): void {
  const { bus, logger } = listeners
  try {
    const run = bus.heard ? runOf(listeners, head) : undefined
    for (const event of events) {
      const trouble = troubleIn(event)
      if (trouble !== undefined) warn(logger, head, trouble)
      if (!run) continue
      const of = { ...run, at: new Date(event.at) }
      if (event.seq === 1) bus.announce(() => ({ type: 'run.started', ...of }))
      const began = state.beganAt ?? head.createdAt
      const announcement = announcementOf(of, event, () => ({
        ms: Math.max(0, event.at - head.createdAt),
        beganAt: new Date(head.generation === 1 ? head.createdAt : began),
      }))
      if (announcement) bus.announce(() => announcement)
    }
  } catch {}
}

/** A turn that was written in `ms`. */
export function announceTurn(listeners: Listeners, head: Head, events: readonly HistoryEvent[], ms: number): void {
  if (events.length === 0) return
  listeners.bus.announce(() => {
    const callers = events.flatMap((event) => ('traceparent' in event ? (event.traceparent ?? []) : []))
    return { type: 'turn.committed', ...runNow(listeners, head), events: events.length, callers, ms }
  })
}

export function announceReplay(
  listeners: Listeners,
  head: Head,
  { events, ms }: { readonly events: number; readonly ms: number },
): void {
  listeners.bus.announce(() => ({ type: 'run.replayed', ...runNow(listeners, head), events, ms }))
}

export function announcePaused(listeners: Listeners, head: Head, failure: Failure): void {
  warn(listeners.logger, head, `it is paused: ${failure.message}`)
  listeners.bus.announce(() => ({ type: 'run.paused', ...runNow(listeners, head), failure }))
}

/** A worker claimed the run; or the run waits for something, and no worker holds it. */
export function announceHeld(listeners: Listeners, head: Head, type: 'run.claimed' | 'run.suspended'): void {
  listeners.bus.announce(() => ({ type, ...runNow(listeners, head) }))
}

/** What the code logged in a turn that was committed. */
export function showLogs({ logger, settings }: Listeners, head: Head, execution: Execution): void {
  for (const { level, message, fields } of execution.takeLogs()) {
    const worker = settings && { worker: settings.id }
    log(logger, level, message, { ...aboutRun(head), ...worker, ...fields })
  }
}

/** One line about a run, for the operator. */
export function warn(logger: Logger, head: Head, text: string): void {
  const { runId, workflowId, name } = head
  const known = workflowId === runId ? runId : `${workflowId} (${runId})`
  log(logger, 'warn', `run ${known} of '${name}': ${text}`, aboutRun(head))
}

function aboutRun(head: Head): object {
  const { runId, workflowId, name: workflow } = head
  return { runId, workflow, workflowId, traceId: traceIdOf(traceOf(head)) }
}

function log(logger: Logger, ...entry: Parameters<Logger['log']>): void {
  try {
    logger.log(...entry)
  } catch {}
}

/** What the operator should see in the log although there is no listener. */
function troubleIn(event: HistoryEvent): string | undefined {
  if (event.type === 'StepFailed') {
    const { key, attempt, reason, failure } = event
    const tries = attempt === 1 ? '1 attempt' : `${attempt} attempts`
    return `step ${key} failed after ${tries} (${reason}): ${inOneLine(failure)}`
  }
  if (event.type === 'RunCompleted') return leftUndone(event)
  if (event.type === 'MessageSent' && event.ended)
    return `signal '${event.name}' was not sent: run ${event.to} has ended`
  if (event.type !== 'RunFailed' || event.failure.type === TERMINATED) return undefined
  return `it failed: ${inOneLine(event.failure)}`
}

function inOneLine({ type, message }: Failure): string {
  const [line = ''] = message.split('\n')
  const isLong = line.length > limits.loggedLengthMax
  return `${type}: ${isLong ? `${line.slice(0, limits.loggedLengthMax)}…` : line}`
}

type OfRun = Omit<Extract<Announcement, { type: 'run.claimed' }>, 'type'>

function runOf({ settings }: Listeners, head: Head): Omit<OfRun, 'at'> {
  const { runId, workflowId, name: workflow, queue } = head
  const where = settings && { worker: settings.id, build: settings.code }
  return { runId, workflowId, workflow, queue, trace: traceOf(head), ...where }
}

function runNow(listeners: Listeners, head: Head): OfRun {
  return { at: new Date(listeners.clock.now()), ...runOf(listeners, head) }
}

// Most events are not announced, so this switch has a default.
function announcementOf(
  run: OfRun,
  event: HistoryEvent,
  end: () => { readonly ms: number; readonly beganAt: Date },
): Announcement | undefined {
  switch (event.type) {
    case 'RunCompleted':
      return { type: 'run.completed', ...run, ...end(), output: decode(event.value) }
    case 'RunCancelled':
      return { type: 'run.cancelled', ...run, ...end() }
    case 'RunContinued':
      return { type: 'run.continued', ...run, ...end() }
    case 'CompensationBegan':
      return { type: 'run.compensating', ...run }
    case 'RunFailed':
      return { type: 'run.failed', ...run, ...end(), failure: event.failure }
    case 'StepStarted': {
      const type = event.queued ? 'activity.scheduled' : 'activity.started'
      return { type, ...run, step: event.key, activity: event.name, attempt: 1 }
    }
    case 'StepQueued':
      return { type: 'activity.scheduled', ...run, ...step(event), moved: true }
    case 'StepCompleted':
      return { type: 'activity.completed', ...run, ...step(event) }
    case 'StepFailed': {
      const { failure } = event
      return { type: 'activity.failed', ...run, ...step(event), failure, willRetry: false }
    }
    case 'StepRetried': {
      if (event.left) return { type: 'activity.left', ...run, ...step(event) }
      const { failure } = event
      return { type: 'activity.failed', ...run, ...step(event), failure, willRetry: true }
    }
    default:
      return undefined
  }
}

function step(event: { key: string; name?: string; attempt: number }): {
  step: string
  activity: string
  attempt: number
} {
  return { step: event.key, activity: event.name ?? event.key, attempt: event.attempt }
}
