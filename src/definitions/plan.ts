// From the options of a step to what is done about it: every default filled in, every duration in milliseconds.
import type { StepPlan } from '../kernel/decider.ts'
import { milliseconds } from '../kernel/duration.ts'
import { checkKnownName } from '../kernel/names.ts'
import { retryRule } from '../policies/retry.ts'
import type { RunOptions } from './options.ts'
import { checkPriority } from './priority.ts'

export function stepPlan(options: RunOptions): StepPlan {
  const { startToClose, scheduleToStart, scheduleToClose, heartbeat, queue, priority } = options
  return {
    retry: retryRule(options.retry),
    ...(startToClose !== undefined && {
      startToCloseMs: milliseconds(startToClose, 'startToClose'),
    }),
    ...(scheduleToStart !== undefined && {
      scheduleToStartMs: milliseconds(scheduleToStart, 'scheduleToStart'),
    }),
    ...(scheduleToClose !== undefined && {
      scheduleToCloseMs: milliseconds(scheduleToClose, 'scheduleToClose'),
    }),
    ...(heartbeat !== undefined && { heartbeatMs: milliseconds(heartbeat, 'heartbeat') }),
    ...(queue !== undefined && { queue: checkKnownName(queue, 'the name of a queue') }),
    ...(priority !== undefined && { priority: checkPriority(priority) }),
  }
}
