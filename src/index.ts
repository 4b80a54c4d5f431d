// What users import from 'pawl'.

export { diagram, diagramOf } from './addons/diagrams/diagram.ts'
export { graph } from './addons/documents/graph.ts'
export type {
  RecentRun,
  Schedule,
  ScheduleChange,
  ScheduleDescription,
  ScheduleOptions,
  SchedulePlan,
  ScheduleRecord,
  Schedules,
} from './addons/schedules/schedules.ts'
export type { CatchUp, Overlap } from './addons/schedules/state.ts'
export type { Duration } from './core/base/duration.ts'
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
export type { Json } from './core/base/value.ts'
export type { StoredDefinition } from './core/catalogue/catalogue.ts'
export type { Batch, BatchOptions, BatchOutcome } from './core/client/batch.ts'
export type { BuildRecord, Builds } from './core/client/builds.ts'
export type { Client } from './core/client/client.ts'
export type { Compare, Page, RunFilter } from './core/client/filter.ts'
export type { HistoryEvent } from './core/client/history-event.ts'
export type { ClientCall, Interceptor, StartCall } from './core/client/interceptors.ts'
export type { ForkOptions } from './core/client/rewinding.ts'
export type { Migration, RunHandle, StartedRun, WaitOptions } from './core/client/run-handle.ts'
export type { RunRecord } from './core/client/run-record.ts'
export type { StartOptions } from './core/client/start-options.ts'
export type { StepRecord, StepState } from './core/client/steps.ts'
export type { Submitted } from './core/client/submitting.ts'
export type { Timeline, TimelineRow } from './core/client/timeline.ts'
export type { Why } from './core/client/why.ts'
export {
  type Activity,
  type AnyActivity,
  activity,
  type DeclaredActivity,
} from './core/definitions/activity.ts'
export type {
  AttributeScalar,
  Attributes,
  AttributesChange,
  AttributeValue,
} from './core/definitions/attributes.ts'
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
} from './core/definitions/context.ts'
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
} from './core/definitions/contract.ts'
export {
  type Graph,
  type GraphContext,
  type GraphStep,
  type GraphStepOptions,
  type Skipped,
} from './core/definitions/graph.ts'
export type { Rule } from './core/definitions/graph-plan.ts'
export type { ActivityCall } from './core/definitions/interceptor.ts'
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
} from './core/definitions/machine.ts'
export { query, signal, update } from './core/definitions/messages.ts'
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
} from './core/definitions/options.ts'
export {
  type Schema,
  type SchemaIssue,
  type SchemaResult,
  typed,
} from './core/definitions/schema.ts'
export {
  type AnyWorkflow,
  type DeclaredWorkflow,
  type Style,
  type Workflow,
  type WorkflowHandler,
  workflow,
} from './core/definitions/workflow.ts'
export type { Status } from './core/kernel/run.ts'
export type { OneTiming, Timing } from './core/policies/timing.ts'
export type { Logger } from './core/runtime/logger.ts'
export type { Codec } from './core/stores/codec.ts'
export type { Reuse, SqlClient } from './core/stores/store.ts'
export type { Announcement, Listener } from './core/telemetry/announcement.ts'
export type { Worker } from './core/worker/worker.ts'
export {
  type CheckedRun,
  type Engine,
  type ExportedRun,
  type OpenOptions,
  open,
  type StoreUrl,
  type WorkerOptions,
} from './engine.ts'
export type { CredentialProvider, Credentials } from './stores/objects/credentials.ts'
