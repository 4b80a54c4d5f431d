// Durable events, told to whoever listens.

import { decode } from '../base/value.ts'
import type { HistoryEvent } from '../kernel/event.ts'
import type { Head } from '../kernel/run.ts'
import type { Announcement } from '../telemetry/announcement.ts'
import type { Bus } from '../telemetry/bus.ts'

export function announceEvents(bus: Bus, head: Head, events: readonly HistoryEvent[]): void {
  for (const event of events) {
    if (event.seq === 1) bus.announce(() => ({ type: 'run.started', ...of(head, event) }))
    const announcement = announcementOf(head, event)
    if (announcement) bus.announce(() => announcement)
  }
}

function of(head: Head, event: HistoryEvent): { at: Date; runId: string; workflow: string } {
  return { at: new Date(event.at), runId: head.runId, workflow: head.name }
}

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
    case 'StepFailed':
      return {
        type: 'activity.failed',
        ...run,
        ...step(event),
        failure: event.failure,
        willRetry: false,
      }
    case 'StepRetried':
      if (event.left) return { type: 'activity.left', ...run, ...step(event) }
      return {
        type: 'activity.failed',
        ...run,
        ...step(event),
        failure: event.failure,
        willRetry: true,
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
