// How long a run may take, from its options to what is kept with it.
import { type Duration, milliseconds } from '../base/duration.ts'
import type { Extras } from '../kernel/extras.ts'

export function timeouts(options: {
  readonly runTimeout?: Duration
  readonly executionTimeout?: Duration
}): Pick<Extras, 'runTimeoutMs' | 'executionTimeoutMs'> {
  const { runTimeout, executionTimeout } = options
  return {
    ...(runTimeout !== undefined && { runTimeoutMs: milliseconds(runTimeout, 'runTimeout') }),
    ...(executionTimeout !== undefined && {
      executionTimeoutMs: milliseconds(executionTimeout, 'executionTimeout'),
    }),
  }
}
