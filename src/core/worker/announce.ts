// What listeners and the log are told about runs. A listener or logger that throws does not harm the run.
import type { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { decode } from '../base/value.ts'
import type { Execution } from '../kernel/decider.ts'
import { leftUndone } from '../kernel/endings.ts'
import type { HistoryEvent } from '../kernel/event.ts'
import { TERMINATED } from '../kernel/message.ts'
import type { Head } from '../kernel/run.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Announcement } from '../telemetry/announcement.ts'
import type { WorkerContext } from './context.ts'

export type Listeners = Pick<WorkerContext, 'bus' | 'clock' | 'logger'>

/** Events that were committed. */
export function announceEvents({ bus, logger }: Listeners, head: Head, events: readonly HistoryEvent[]): void {
  try {
    for (const event of events) {
      const trouble = troubleIn(event)
      if (trouble !== undefined) warn(logger, head, trouble)
      if (!bus.heard) continue
      if (event.seq === 1) bus.announce(() => ({ type: 'run.started', ...of(head, event) }))
      const announcement = announcementOf(head, event)
      if (announcement) bus.announce(() => announcement)
    }
  } catch {}
}

export function announcePaused({ bus, clock, logger }: Listeners, head: Head, failure: Failure): void {
  warn(logger, head, `it is paused: ${failure.message}`)
  const { runId, name: workflow } = head
  const at = new Date(clock.now())
  bus.announce(() => ({ type: 'run.paused', at, runId, workflow, failure }))
}

/** The run waits for something, and no worker holds it. */
export function announceSuspended({ bus, clock }: Listeners, head: Head): void {
  if (!bus.heard) return
  const { runId, name: workflow } = head
  const at = new Date(clock.now())
  bus.announce(() => ({ type: 'run.suspended', at, runId, workflow }))
}

/** What the code logged in a turn that was committed. */
export function showLogs({ logger }: Listeners, head: Head, execution: Execution): void {
  for (const { level, message, fields } of execution.takeLogs()) {
    log(logger, level, message, { runId: head.runId, workflow: head.name, ...fields })
  }
}

/** One line about a run, for the operator. */
export function warn(logger: Logger, head: Head, text: string): void {
  const { runId, workflowId, name } = head
  const known = workflowId === runId ? runId : `${workflowId} (${runId})`
  log(logger, 'warn', `run ${known} of '${name}': ${text}`)
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

function of(head: Head, event: HistoryEvent): { at: Date; runId: string; workflow: string } {
  return { at: new Date(event.at), runId: head.runId, workflow: head.name }
}

// Most events are not announced, so this switch has a default.
function announcementOf(head: Head, event: HistoryEvent): Announcement | undefined {
  const run = of(head, event)
  switch (event.type) {
    case 'RunCompleted':
      return { type: 'run.completed', ...run, output: decode(event.value), ms: took(head, event) }
    case 'RunCancelled':
      return { type: 'run.cancelled', ...run }
    case 'RunContinued':
      return { type: 'run.continued', ...run }
    case 'CompensationBegan':
      return { type: 'run.compensating', ...run }
    case 'RunFailed':
      return { type: 'run.failed', ...run, failure: event.failure, ms: took(head, event) }
    case 'StepStarted': {
      const type = event.queued ? 'activity.scheduled' : 'activity.started'
      return { type, ...run, step: event.key, activity: event.name, attempt: 1 }
    }
    case 'StepQueued':
      return { type: 'activity.scheduled', ...run, ...step(event) }
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

function took({ createdAt }: Head, { at }: HistoryEvent): number {
  return Math.max(0, at - createdAt)
}

function step(event: { key: string; name?: string; attempt: number }): {
  step: string
  activity: string
  attempt: number
} {
  return { step: event.key, activity: event.name ?? event.key, attempt: event.attempt }
}
