// What the stores of this package use of the engine: the seam, the rules, and what stores have in common.
export { isList } from '../kernel/attributes.ts'
export { ENDED, RELEASED, type Status } from '../kernel/run.ts'
export { batchOf, Pump } from '../runtime/pump.ts'
export { type AttributeKind, comparable } from './attributes.ts'
export * as bodies from './bodies.ts'
export { compareRanks, rankInSql, rankOf } from './claim-order.ts'
export { Groups } from './groups.ts'
export { RowsLocked } from './locked.ts'
export { MemoryStore } from './memory/store.ts'
export { leftReason } from './moving.ts'
export { Hints } from './rules/hints.ts'
export * as rules from './rules/index.ts'
export { newHead } from './rules/new-row.ts'
export { hasPrefix, holdAll, isReason, loadOne, matches, pageOf, snapshot } from './rules/read.ts'
export {
  type Changes,
  hasEnded,
  isEmpty,
  type LeaseState,
  position,
  type RecordRow,
  type RowTurn,
  type RunChange,
  type RunRow,
  type RunState,
  type SessionRow,
  type SessionTimes,
  statusOf,
  type TaskRow,
  turnsOf,
} from './rules/row.ts'
export type { RowsTx, Run, RunStart, Task, TurnRow } from './rules/rows-tx.ts'
export { isLate, lateAt } from './rules/session.ts'
export type { BatchRow, PartRow, StreamChange, StreamRow } from './rules/stream-rows.ts'
export { loadStreams } from './rules/stream-tables.ts'
export { Tables } from './rules/tables.ts'
export { type ArchivedRuns, Transaction } from './rules/transaction.ts'
export { digestOfRun } from './run-digest.ts'
export * from './store.ts'
export { BY_HAND, compareKeys, NEVER, RUN_WRITER } from './values.ts'
export { type Around, asItIs, wrapped } from './wrapped.ts'
