// From the options of a step to what is done about it: every default filled in, every duration in milliseconds.
import type { StepPlan } from '../kernel/decider.ts'
import { milliseconds } from '../kernel/duration.ts'
import { checkName } from '../kernel/names.ts'
import { retryRule } from '../policies/retry.ts'
import type { RunOptions } from './options.ts'

export function stepPlan(options: RunOptions): StepPlan {
  const { startToClose, queue, priority } = options
  return {
    retry: retryRule(options.retry),
    ...(startToClose !== undefined && {
      startToCloseMs: milliseconds(startToClose, 'startToClose'),
    }),
    ...(queue !== undefined && { queue: checkName(queue, 'the name of a queue') }),
    ...(priority !== undefined && { priority }),
  }
}
