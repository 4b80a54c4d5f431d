// The timeouts of a run: from its options to the milliseconds that are stored with it.
import { defined } from '../base/defined.ts'
import { type Duration, optionalMs } from '../base/duration.ts'
import type { Extras } from '../kernel/extras.ts'

export function timeouts(options: {
  readonly runTimeout?: Duration
  readonly executionTimeout?: Duration
}): Pick<Extras, 'runTimeoutMs' | 'executionTimeoutMs'> {
  const { runTimeout, executionTimeout } = options
  return defined({
    runTimeoutMs: optionalMs(runTimeout, 'runTimeout'),
    executionTimeoutMs: optionalMs(executionTimeout, 'executionTimeout'),
  })
}
