// The engine as the floor above it sees it.
export type { Catalogue, StoredDefinition } from './catalogue/catalogue.ts'
export { CATALOGUE_SPACES, DEFINITIONS_SPACE } from './catalogue/catalogue.ts'
export type { Records } from './catalogue/records.ts'
export type { Client } from './client/client.ts'
export {
  type CountOptions,
  countOptions,
  type GroupOptions,
  groupOptions,
  type Page,
  type PageOptions,
  pageOptions,
  queryOf,
  type RunFilter,
  type RunGroup,
  runFilter,
} from './client/filter.ts'
export { eventsOf, pageIn, turnStart } from './client/history.ts'
export { updateId } from './client/ids.ts'
export type { ClientCall, Interceptor, RequestAnswer, RequestCall, StartCall } from './client/interceptors.ts'
export { keyedRunId } from './client/new-run.ts'
export type { HistoryEvent } from './client/public-history.ts'
export { publicEvents, publicStart } from './client/public-history.ts'
export type { QueueRecord } from './client/queues.ts'
export {
  editOptions,
  forkOptions,
  historyOptions,
  type Migration,
  messageOptions,
  migrationOptions,
  type RunHandle,
  resetOptions,
  type StartedRun,
  stepsOptions,
  viewOptions,
} from './client/run-handle.ts'
export { type RunRecord, recordOf } from './client/run-record.ts'
export { type StartOptions, startOptions } from './client/start-options.ts'
export type { StepRecord } from './client/steps.ts'
export {
  newsIn,
  newsOf,
  type StreamItem,
  type StreamNews,
  type StreamOptions,
  type StreamPart,
  type StreamRecord,
  streamOptions,
} from './client/streams.ts'
export type { Submitted } from './client/submitting.ts'
export type { Timeline } from './client/timeline.ts'
export { type Why, whyText } from './client/why.ts'
export type { WorkerRecord } from './client/workers.ts'
export { idOf, parseRequestKey } from './deciders/machine/requests.ts'
export { type Activity, type AnyActivity, activity } from './definitions/activity.ts'
export { type AttributeScalar, type Attributes, storedAttributes } from './definitions/attributes.ts'
export {
  type Child,
  type Context,
  type RunRef,
  type Signal,
  type TerminableChild,
  TIMEOUT,
} from './definitions/context.ts'
export type {
  ActivityClient,
  ActivityContext,
  ActivityContract,
  ActivityHandler,
  AnyWorkflowContract,
  Args,
  Given,
  Startable,
  WorkflowContract,
} from './definitions/contract.ts'
export { type DefineGraph, defineGraph } from './definitions/graph.ts'
export {
  type GraphDocument,
  graphOfDocument,
  type KnownActivities,
  type ParseGraph,
} from './definitions/graph-document.ts'
export {
  type GraphNode,
  type GraphPlan,
  type GraphScope,
  RULES,
  shapeHash,
  shapeOf,
  type Undo,
  type Work,
} from './definitions/graph-plan.ts'
export type { MachinePlan } from './definitions/machine-plan.ts'
export { checkPayload, query, signal, update } from './definitions/messages.ts'
export {
  type ActivityOptions,
  activityOptions,
  type ChildOptions,
  type Placement,
  type Retry,
  type RetryPolicy,
} from './definitions/options.ts'
export { BATCH, isStandalone, OWN_WORKFLOWS, RETENTION, SCHEDULE, startedAs } from './definitions/own-workflows.ts'
export { checkPriority } from './definitions/plan.ts'
export { hasCode, type RegisteredGraph, type RegisteredWorkflow } from './definitions/registry.ts'
export { parseInput } from './definitions/schema.ts'
export { type Stream, stream, streamName } from './definitions/stream.ts'
export { type AnyWorkflow, type Workflow, workflow } from './definitions/workflow.ts'
export { decodeFailure, decodePayload, decodeTurn } from './kernel/codec.ts'
export type { Event } from './kernel/event.ts'
export type { Message } from './kernel/message.ts'
export type { Status } from './kernel/run.ts'
export { ENDED, LIVE } from './kernel/run.ts'
export type { RunTrace } from './kernel/run-trace.ts'
export {
  attemptSpanOf,
  parentSpanOf,
  parseTraceparent,
  runSpanOf,
  type SpanPlace,
  traceparentText,
} from './kernel/trace.ts'
export { retryRule } from './policies/retry.ts'
export type { RollOut } from './policies/roll-out.ts'
export type { HistoryPage, LoadAsk, Loaded, RunSnapshot } from './stores/store.ts'
export type { Announcement, Listener } from './telemetry/announcement.ts'
export { CompletedLater } from './worker/activity-context.ts'
export { LateSessions } from './worker/late-sessions.ts'
export type { Verdict } from './worker/replay.ts'
export type { Outlook, Worker, WorkerLoad } from './worker/worker.ts'
