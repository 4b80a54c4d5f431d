import type { Instant } from '../base/instant.ts'
import type { Head, RunState } from './run.ts'

/** When the run fails for lack of time, and by which of its limits. */
export function deadlineOf(
  { extras, createdAt }: Pick<Head, 'extras' | 'createdAt'>,
  { beganAt }: Pick<RunState, 'beganAt'>,
  now: Instant,
): { readonly at: Instant; readonly code: 'RUN_TIMEOUT' | 'EXECUTION_TIMEOUT' } | undefined {
  const { runTimeoutMs, executionTimeoutMs, delayMs = 0, from = createdAt + delayMs } = extras
  if (runTimeoutMs === undefined && executionTimeoutMs === undefined) return undefined
  const run = (beganAt ?? now) + (runTimeoutMs ?? Number.POSITIVE_INFINITY)
  const execution = from + (executionTimeoutMs ?? Number.POSITIVE_INFINITY)
  return run <= execution
    ? { at: run, code: 'RUN_TIMEOUT' }
    : { at: execution, code: 'EXECUTION_TIMEOUT' }
}
