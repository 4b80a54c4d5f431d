// A step or a child that failed, as the failure of the run that asked for it.
import { ActivityError, RunError } from '../base/errors.ts'
import { errorOf, type Failure, failureOf } from '../base/failure.ts'
import type { HistoryEvent } from '../kernel/event.ts'

/** `name` is what people call the step. */
export function failureOfRequest(
  name: string,
  event: Extract<HistoryEvent, { type: 'StepFailed' | 'ChildFailed' }>,
): Failure {
  const { failure } = event
  const cause = errorOf(failure)
  if (event.type === 'ChildFailed')
    return failureOf(
      new RunError({ failure, runId: event.child, what: `child '${name}'` }, { cause }),
    )
  const { attempt: attempts, reason } = event
  return failureOf(new ActivityError({ failure, activity: name, attempts, reason }, { cause }))
}
