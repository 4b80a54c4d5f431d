// What users import from 'pawl'.
export type { StoredDefinition } from './catalogue/catalogue.ts'
export type { Batch, BatchOptions, BatchOutcome } from './client/batch.ts'
export type { BuildRecord, Builds } from './client/builds.ts'
export type { Client } from './client/client.ts'
export { diagram, diagramOf } from './client/diagram.ts'
export type { Compare, Page, RunFilter } from './client/filter.ts'
export type { HistoryEvent } from './client/history-event.ts'
export type { ClientCall, Interceptor, StartCall } from './client/interceptors.ts'
export type { RunRecord } from './client/record.ts'
export type { ForkOptions } from './client/rewinding.ts'
export type { Migration, RunHandle, StartedRun, WaitOptions } from './client/run-handle.ts'
export type {
  RecentRun,
  Schedule,
  ScheduleChange,
  ScheduleDescription,
  ScheduleOptions,
  SchedulePlan,
  ScheduleRecord,
  Schedules,
} from './client/schedules.ts'
export type { StartOptions } from './client/start-options.ts'
export type { Submitted } from './client/submitting.ts'
export type { Why } from './client/why.ts'
export {
  type Activity,
  type AnyActivity,
  activity,
  type DeclaredActivity,
} from './definitions/activity.ts'
export type {
  AttributeScalar,
  Attributes,
  AttributesChange,
  AttributeValue,
} from './definitions/attributes.ts'
export {
  type Branch,
  type Branches,
  type BranchValue,
  CANCELLED,
  type Cancelled,
  type Child,
  type Context,
  type DurablePromise,
  type MapOptions,
  type MapStep,
  type Query,
  type RunInfo,
  type RunRef,
  type Saga,
  type Scope,
  type Settled,
  type Signal,
  type SqlValue,
  TIMEOUT,
  type Timeout,
  type Transaction,
  type Update,
  type Webhook,
  type Winner,
} from './definitions/context.ts'
export type {
  ActivityContext,
  ActivityContract,
  ActivityHandler,
  AnyActivityContract,
  AnyWorkflowContract,
  Args,
  InputOf,
  Log,
  OutputOf,
  Startable,
  WorkflowContract,
} from './definitions/contract.ts'
export {
  type Graph,
  type GraphContext,
  type GraphStep,
  type GraphStepOptions,
  graph,
  type Skipped,
} from './definitions/graph.ts'
export type { Rule } from './definitions/graph-plan.ts'
export type { ActivityCall } from './definitions/interceptor.ts'
export {
  type Act,
  type Action,
  type ActionId,
  type Activities,
  type Machine,
  type MachineHandlers,
  type MachineShape,
  type Move,
  machine,
  type NeedsOnly,
  type Signals,
} from './definitions/machine.ts'
export { query, signal, update } from './definitions/messages.ts'
export type {
  ActivityOptions,
  ChildOptions,
  IfPast,
  Retry,
  RetryPolicy,
  RunOptions,
  StepIdentity,
  StepOptions,
  WorkflowOptions,
} from './definitions/options.ts'
export { type Schema, type SchemaIssue, type SchemaResult, type } from './definitions/schema.ts'
export {
  type AnyWorkflow,
  type DeclaredWorkflow,
  type Style,
  type Workflow,
  type WorkflowHandler,
  workflow,
} from './definitions/workflow.ts'
export {
  type CheckedRun,
  type Engine,
  type ExportedRun,
  type OpenOptions,
  open,
  type StoreUrl,
  type WorkerOptions,
} from './engine.ts'
export type { Duration } from './kernel/duration.ts'
export {
  ActivityError,
  CancelledError,
  PawlError,
  type PawlErrorCode,
  PermanentError,
  RetryableError,
  RunError,
} from './kernel/errors.ts'
export type { Failure } from './kernel/failure.ts'
export type { Status } from './kernel/run.ts'
export type { Json } from './kernel/value.ts'
export type { OneTiming, Timing } from './policies/timing.ts'
export type { Logger } from './runtime/logger.ts'
export type { CatchUp, Overlap } from './schedules/state.ts'
export type { Codec } from './stores/codec.ts'
export type { CredentialProvider, Credentials } from './stores/objects/credentials.ts'
export type { Reuse, SqlClient } from './stores/store.ts'
export type { Announcement, Listener } from './telemetry/announcement.ts'
export type { Worker } from './worker/worker.ts'
