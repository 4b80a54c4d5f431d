/**
 * `pawl`: define workflows, activities, graphs and machines, open a store, and run and control runs.
 *
 * Stable: an exported name changes incompatibly only in a minor version before 1.0, and only in a major version after.
 *
 * @packageDocumentation
 */

export type { Batch, BatchOptions, BatchOutcome } from './addons/batches/batch.ts'
export type { Batches, BatchPreview, BatchRecord, PreviewOptions } from './addons/batches/batches.ts'
export type { BuildRecord, Builds } from './addons/builds/builds.ts'
export type { CheckedRun, CheckGroup, CheckReport } from './addons/builds/check-report.ts'
export type { Codec } from './addons/codecs/codec.ts'
export { diagram, diagramOf } from './addons/diagrams/diagram.ts'
export { graph } from './addons/documents/graph.ts'
export type { MoveReport, RefusedRun } from './addons/moving/mover.ts'
export type { RetentionCalls, RetentionRecord } from './addons/retention/calls.ts'
export type { Keep, PurgeOptions, RetentionPolicy } from './addons/retention/options.ts'
export type { Retention } from './addons/retention/retention.ts'
export type { PurgeReport } from './addons/retention/sweep.ts'
export type {
  Schedule,
  ScheduleChange,
  ScheduleDescription,
  ScheduleOptions,
  SchedulePlan,
  ScheduleRecord,
  Schedules,
} from './addons/schedules/schedules.ts'
export type { Timing } from './addons/schedules/timing.ts'
export {
  ActivityError,
  CancelledError,
  PawlError,
  type PawlErrorCode,
  PermanentError,
  RetryableError,
  RunError,
} from './core/base/errors.ts'
export type { Failure } from './core/base/failure.ts'
export type { Duration } from './core/base/time.ts'
export type { Json } from './core/base/value.ts'
export type { StoredDefinition } from './core/catalogue/catalogue.ts'
export type { Client } from './core/client/client.ts'
export type { CountOptions, GroupOptions, Page, RunFilter, RunGroup } from './core/client/filter.ts'
export type { ClientCall, Interceptor, RequestAnswer, RequestCall, StartCall } from './core/client/interceptors.ts'
export type { HistoryEvent } from './core/client/public-history.ts'
export type { ForkOptions } from './core/client/rewinding.ts'
export type { Migration, RunHandle, StartedRun, WaitOptions } from './core/client/run-handle.ts'
export type { RunRecord } from './core/client/run-record.ts'
export type { StartOptions } from './core/client/start-options.ts'
export type { StepRecord, StepState } from './core/client/steps.ts'
export type { StreamItem, StreamOptions, StreamPart, StreamRecord } from './core/client/streams.ts'
export type { Submitted } from './core/client/submitting.ts'
export type { Timeline, TimelineRow } from './core/client/timeline.ts'
export type { Why } from './core/client/why.ts'
export { type Activity, type AnyActivity, activity, type DeclaredActivity } from './core/definitions/activity.ts'
export type { Attributes, AttributesChange } from './core/definitions/attributes.ts'
export {
  CANCELLED,
  type Cancelled,
  type Child,
  type Context,
  type DurablePromise,
  type Query,
  type RunInfo,
  type RunRef,
  type RunStreamWriter,
  type Saga,
  type Scope,
  type Settled,
  type Signal,
  TIMEOUT,
  type Timeout,
  type Transaction,
  type Update,
  type Webhook,
} from './core/definitions/context.ts'
export type {
  ActivityContext,
  ActivityContract,
  ActivityHandler,
  InputOf,
  Log,
  OutputOf,
  StreamWriter,
  WorkflowContract,
} from './core/definitions/contract.ts'
export { type Graph, type GraphContext, type GraphStep, type Skipped } from './core/definitions/graph.ts'
export type { ActivityCall } from './core/definitions/interceptor.ts'
export { type Act, type Action, type Machine, type Move, machine } from './core/definitions/machine.ts'
export { query, signal, update } from './core/definitions/messages.ts'
export type {
  ActivityOptions,
  ChildOptions,
  Retry,
  RetryPolicy,
  RunOptions,
  StepOptions,
  WorkflowOptions,
} from './core/definitions/options.ts'
export { type Schema, typed } from './core/definitions/schema.ts'
export { type Stream, stream } from './core/definitions/stream.ts'
export {
  type AnyWorkflow,
  type DeclaredWorkflow,
  type Workflow,
  type WorkflowHandler,
  workflow,
} from './core/definitions/workflow.ts'
export type { Status } from './core/kernel/run.ts'
export type { RunTrace } from './core/kernel/run-trace.ts'
export { type JsonLoggerOptions, jsonLogger } from './core/runtime/json-logger.ts'
export type { Logger } from './core/runtime/logger.ts'
export type { SqlClient } from './core/stores/store.ts'
export type { Announcement, Listener } from './core/telemetry/announcement.ts'
export type { Worker } from './core/worker/worker.ts'
export {
  type Engine,
  type ExportedRun,
  type OpenOptions,
  open,
  type StoreUrl,
  type UntilIdleOptions,
  type Worked,
  type WorkerOptions,
} from './engine.ts'
export type { MetricsSnapshot } from './metrics/meter.ts'
export { type Metrics, metrics } from './metrics/metrics.ts'
export { type MoveOptions, moveRuns } from './moving.ts'
export type { CredentialProvider, Credentials } from './stores/objects/credentials.ts'
