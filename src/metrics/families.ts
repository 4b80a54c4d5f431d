// Every metric: its type, its labels and what it says. The docs, the dashboard and the alerts name only these.

const FAST = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
const LONG = [0.01, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 21_600, 86_400, 604_800]

export interface Family {
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary'
  readonly labels: readonly string[]
  readonly help: string
  /** Upper bounds in seconds. */
  readonly buckets?: readonly number[]
}

const counter = (help: string, ...labels: string[]): Family => ({ type: 'counter', labels, help })
const gauge = (help: string, ...labels: string[]): Family => ({ type: 'gauge', labels, help })
const seconds = (help: string, buckets: readonly number[], ...labels: string[]): Family => {
  return { type: 'histogram', labels, help, buckets }
}

export const families = {
  pawl_runs_started_total: counter('Runs that began.', 'workflow'),
  pawl_runs_ended_total: counter('Runs that ended.', 'workflow', 'status'),
  pawl_run_duration_seconds: seconds('From the start of a run to its end.', LONG, 'workflow', 'status'),
  pawl_runs_paused_total: counter('Times that a run was paused.', 'workflow'),
  pawl_activities_scheduled_total: counter('Activities and steps that runs requested.', 'activity'),
  pawl_activities_ended_total: counter('Activities and steps that ended for good.', 'activity', 'outcome'),
  pawl_activity_retries_total: counter('Attempts after the first.', 'activity'),
  pawl_activity_duration_seconds: seconds('How long an attempt took.', FAST, 'activity', 'outcome'),
  pawl_schedule_to_start_seconds: seconds('From when an attempt could begin to when it began.', FAST, 'queue'),
  pawl_queue_depth: gauge('Runs and tasks that are due and wait for a worker.', 'queue', 'kind'),
  pawl_queue_oldest_seconds: gauge('How long the first of them has been due.', 'queue', 'kind'),
  pawl_tasks_claimed_total: counter('Runs and tasks that workers took.', 'queue', 'kind'),
  pawl_claim_duration_seconds: seconds('How long a claim took in the store.', FAST),
  pawl_store_call_seconds: seconds('How long a call to the store took.', FAST, 'method', 'ok'),
  pawl_workers: gauge('Workers that the store knows: alive, or silent for longer than their lease.', 'status'),
  pawl_worker_load_ratio: gauge('Share of its limit that a worker holds (run) or runs (step).', 'worker', 'kind'),
  pawl_worker_backpressure: gauge('1 if a worker takes no more runs or steps, because it is full.', 'worker'),
  pawl_leases_lost_total: counter('Runs that a worker lost to another, or to the end of its lease.'),
  pawl_replays_total: counter('Replays of runs that were not in memory.', 'workflow'),
  pawl_build_info: gauge(
    'Always 1; the labels tell the release of pawl and the build of the code.',
    'version',
    'build',
  ),
  pawl_event_loop_delay_seconds: {
    type: 'summary',
    labels: ['quantile'],
    help: 'How late the event loop was: quantiles of the last 10 s.',
  },
  pawl_http_requests_total: counter('Requests that the HTTP API answered.', 'operation', 'status'),
  pawl_http_request_seconds: seconds('How long an answer took.', FAST, 'operation', 'status'),
  pawl_live_streams: gauge('Open streams of live events.'),
  pawl_webhooks_total: counter('Calls of webhooks.', 'status'),
} as const satisfies Readonly<Record<string, Family>>

export type MetricName = keyof typeof families
