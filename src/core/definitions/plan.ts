// Step plans: the options of a step with every default filled in and every duration in milliseconds.

import { defined } from '../base/defined.ts'
import { checkOptions } from '../base/described.ts'
import { PawlError } from '../base/errors.ts'
import { checkKnownName } from '../base/names.ts'
import { type Duration, optionalMs } from '../base/time.ts'
import type { GivenOptions, StepPlan } from '../kernel/decider.ts'
import type { Extras } from '../kernel/extras.ts'
import { attemptsOf, retryRule } from '../policies/retry.ts'
import { type ActivityOptions, activityOptions, type RunOptions, runOptions } from './options.ts'

/** `of` names the step in errors. */
export function stepPlan(options: RunOptions, of = 'a step'): StepPlan {
  checkOptions(runOptions, options, { of })
  return planFrom(options)
}

function planFrom(options: RunOptions): StepPlan {
  const { startToClose, scheduleToStart, scheduleToClose, heartbeat, queue, priority } = options
  return defined({
    retry: retryRule(options.retry),
    startToCloseMs: optionalMs(startToClose, 'startToClose'),
    scheduleToStartMs: optionalMs(scheduleToStart, 'scheduleToStart'),
    scheduleToCloseMs: optionalMs(scheduleToClose, 'scheduleToClose'),
    heartbeatMs: optionalMs(heartbeat, 'heartbeat'),
    queue: queue === undefined ? undefined : checkKnownName(queue, 'the name of a queue'),
    priority: priority === undefined ? undefined : checkPriority(priority),
  })
}

/** The activity of a name, if this process has its code. */
export type ActivityOf = (name: string) => { readonly options: ActivityOptions } | undefined

/** The options of the call override those of the activity, wherever the step runs. */
export function activityPlan(asked: RunOptions, own: ActivityOptions | undefined, of: string): StepPlan {
  checkOptions(runOptions, asked, { of })
  const given = Object.fromEntries(
    Object.entries(asked).filter(([name, value]) => Object.hasOwn(activityOptions, name) && value !== undefined),
  )
  return { ...planFrom({ ...own, ...given }), given: inJson(given) }
}

/** The options as stored with a task. JSON has no infinity, so unlimited attempts become a number. */
function inJson(given: ActivityOptions): GivenOptions {
  const { retry } = given
  if (typeof retry !== 'object' || retry.maxAttempts === undefined) return { ...given }
  return { ...given, retry: { ...retry, maxAttempts: attemptsOf(retry.maxAttempts) } }
}

// Checks of priorities. Of the runs and tasks that are due, those with a higher priority are claimed first.

export function checkPriority(priority: number): number {
  if (Number.isInteger(priority) && Math.abs(priority) <= 1_000) return priority
  throw new PawlError('INPUT_INVALID', `priority is ${String(priority)}; expected a whole number from -1000 to 1000.`)
}

// The timeouts of a run: from its options to the milliseconds that are stored with it.

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
