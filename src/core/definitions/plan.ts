// From the options of a step to what is done about it: every default filled in, every duration in milliseconds.

import { checkOptions } from '../base/described.ts'
import { milliseconds } from '../base/duration.ts'
import { checkKnownName } from '../base/names.ts'
import type { GivenOptions, StepPlan } from '../kernel/decider.ts'
import { attemptsOf, retryRule } from '../policies/retry.ts'
import { type ActivityOptions, activityOptions, type RunOptions, runOptions } from './options.ts'
import { checkPriority } from './priority.ts'

/** `of` names the step in the error, if something is wrong with its options. */
export function stepPlan(options: RunOptions, of = 'a step'): StepPlan {
  checkOptions(runOptions, options, { of })
  return planFrom(options)
}

function planFrom(options: RunOptions): StepPlan {
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
export function activityPlan(
  asked: RunOptions,
  own: ActivityOptions | undefined,
  of: string,
): StepPlan {
  checkOptions(runOptions, asked, { of })
  const given = Object.fromEntries(
    Object.entries(asked).filter(
      ([name, value]) => Object.hasOwn(activityOptions, name) && value !== undefined,
    ),
  )
  return { ...planFrom({ ...own, ...given }), given: inJson(given) }
}

/** As it travels with a task: JSON has no infinity. */
function inJson(given: ActivityOptions): GivenOptions {
  const { retry } = given
  if (typeof retry !== 'object' || retry.maxAttempts === undefined) return { ...given }
  return { ...given, retry: { ...retry, maxAttempts: attemptsOf(retry.maxAttempts) } }
}
