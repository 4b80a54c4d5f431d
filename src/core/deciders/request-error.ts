// The error of a step or child that failed, as the code that requested it sees it.
import { ActivityError, RunError } from '../base/errors.ts'
import { errorOf, type Failure, failureOf } from '../base/failure.ts'
import type { HistoryEvent } from '../kernel/event.ts'

type RequestFailed = Extract<HistoryEvent, { type: 'StepFailed' | 'ChildFailed' }>

/** `name` is the name of the step or child, as people know it. */
export function requestError(name: string, event: RequestFailed): ActivityError | RunError {
  const { failure } = event
  const cause = errorOf(failure)
  if (event.type === 'ChildFailed')
    return new RunError({ failure, runId: event.child, what: `child '${name}'` }, { cause })
  const { attempt: attempts, reason } = event
  return new ActivityError({ failure, activity: name, attempts, reason }, { cause })
}

/** The same error as a failure. */
export function requestFailure(name: string, event: RequestFailed): Failure {
  return failureOf(requestError(name, event))
}
