/**
 * `pawl/client`: the runs, schedules and definitions of a server, over HTTP. It works in Node and in browsers.
 *
 * Unstable: before 1.0 a minor version may change it.
 *
 * @packageDocumentation
 */

export type { BatchPreview, BatchRecord } from '../addons/batches/batches.ts'
export { type MachineMove, movesOf } from '../addons/diagrams/moves.ts'
export { CancelledError, PawlError, type PawlErrorCode, RunError } from '../core/base/errors.ts'
export { query, signal, update } from '../core/browser.ts'
export type { HistoryEvent, RunFilter, RunRecord, StepRecord, Timeline, Why } from '../core/index.ts'
export type { InputOf as OperationInput } from '../operations/inputs.ts'
export type { LiveState, RunSummary } from '../operations/live/events.ts'
export type { Answer, Health, Me, Outcome, OutputOf as OperationOutput, Worked } from '../operations/outputs.ts'
export type { CallName as OperationName } from '../operations/routes.ts'
export type { RemoteBuilds } from './builds.ts'
export { connect, type PawlClient, type RemoteClient } from './client.ts'
export type { CallOptions, ConnectOptions } from './connection.ts'
export { activity, workflow } from './declare.ts'
export type { LiveEvents, LiveOptions } from './events.ts'
