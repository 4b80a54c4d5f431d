// What the measuring process and a worker process say to each other.
import type { Place } from './adapter.ts'
import type { ExecutionTally } from './executions.ts'
import type { Latency, LatencyWorkload, Size } from './workloads.ts'

export type Command =
  | { type: 'load'; adapter: string; place: Place }
  | { type: 'work' }
  /** Forget what ran before; `reportStarts` is for pick-up only, since each report costs time. */
  | { type: 'expect'; runs: number; bodies: number; reportStarts: boolean }
  | { type: 'execute'; workload: LatencyWorkload; size: Size }
  | { type: 'tally'; runs: number }
  | { type: 'memory' }
  | { type: 'stop' }

export type Report =
  | { type: 'loaded' }
  | { type: 'working' }
  | { type: 'expecting' }
  | { type: 'firstStart'; at: number }
  | { type: 'allRan' }
  | { type: 'started'; run: number; at: number }
  | { type: 'executed'; latency: Latency }
  | { type: 'tally'; tally: ExecutionTally }
  | { type: 'memory'; residentMegabytes: number }
  | { type: 'failed'; reason: string }

export type ReportOf<Type extends Report['type']> = Extract<Report, { type: Type }>
