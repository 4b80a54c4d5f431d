// From the options of a step to what is done about it: every default filled in, every duration in milliseconds.
import type { StepPlan } from '../kernel/decider.ts'
import { milliseconds } from '../kernel/duration.ts'
import { checkKnownName } from '../kernel/names.ts'
import { retryRule } from '../policies/retry.ts'
import type { ActivityOptions, RunOptions } from './options.ts'
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

/** What an activity says of itself, where its code is. */
export type ActivityOf = (name: string) => { readonly options: ActivityOptions } | undefined

/** What was said where it was asked for comes before what the activity says of itself: one rule, wherever it runs. */
export function activityPlan(asked: ActivityOptions, own: ActivityOptions | undefined): StepPlan {
  const given = Object.fromEntries(
    Object.entries(asked).filter(([name, value]) => OPTIONS.has(name) && value !== undefined),
  )
  return { ...stepPlan({ ...own, ...given }), given }
}

const OPTIONS: ReadonlySet<string> = new Set([
  'retry',
  'startToClose',
  'scheduleToStart',
  'scheduleToClose',
  'heartbeat',
  'queue',
  'priority',
] satisfies (keyof ActivityOptions)[])
