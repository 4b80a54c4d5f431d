// From announcements to metrics.
import type { Announcement, Listener } from '../core/index.ts'
import type { Meter } from './meter.ts'

export function counting(meter: Meter): Listener {
  return (heard) => {
    countRuns(meter, heard)
    countAttempts(meter, heard)
    countOthers(meter, heard)
  }
}

function countRuns(meter: Meter, heard: Announcement): void {
  switch (heard.type) {
    case 'run.started':
      return meter.add('pawl_runs_started_total', [heard.workflow])
    case 'run.completed':
    case 'run.failed':
    case 'run.cancelled': {
      const labels = [heard.workflow, heard.type.slice('run.'.length)]
      meter.add('pawl_runs_ended_total', labels)
      return meter.observe('pawl_run_duration_seconds', labels, heard.ms)
    }
    case 'run.paused':
      return meter.add('pawl_runs_paused_total', [heard.workflow])
    case 'run.replayed':
      return meter.add('pawl_replays_total', [heard.workflow])
    case 'run.claimed':
      return meter.add('pawl_tasks_claimed_total', [heard.queue, 'run'])
    default:
  }
}

function countAttempts(meter: Meter, heard: Announcement): void {
  switch (heard.type) {
    case 'activity.scheduled':
    case 'activity.started':
      if (!heard.moved) meter.add('pawl_activities_scheduled_total', [heard.activity])
      return
    case 'activity.completed':
      return meter.add('pawl_activities_ended_total', [heard.activity, 'completed'])
    case 'activity.failed':
      if (!heard.willRetry) meter.add('pawl_activities_ended_total', [heard.activity, 'failed'])
      return
    case 'attempt.started':
      if (heard.attempt > 1) meter.add('pawl_activity_retries_total', [heard.activity])
      if (heard.waitedMs !== undefined) meter.observe('pawl_schedule_to_start_seconds', [heard.queue], heard.waitedMs)
      return
    case 'attempt.ended':
      return meter.observe('pawl_activity_duration_seconds', [heard.activity, heard.outcome], heard.ms)
    case 'task.claimed':
      return meter.add('pawl_tasks_claimed_total', [heard.queue, 'task'])
    default:
  }
}

function countOthers(meter: Meter, heard: Announcement): void {
  switch (heard.type) {
    case 'lease.lost':
      return meter.add('pawl_leases_lost_total', [])
    case 'store.call':
      if (heard.method === 'claim' && heard.ok) meter.observe('pawl_claim_duration_seconds', [], heard.ms)
      return meter.observe('pawl_store_call_seconds', [heard.method, String(heard.ok)], heard.ms)
    case 'http.answered': {
      const labels = [heard.operation ?? 'none', String(heard.status)]
      meter.add('pawl_http_requests_total', labels)
      meter.observe('pawl_http_request_seconds', labels, heard.ms)
      if (heard.operation === 'webhook') meter.add('pawl_webhooks_total', [String(heard.status)])
      return
    }
    default:
  }
}
