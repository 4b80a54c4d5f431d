// Errors that all styles share: a failed step or child, as the code that requested it sees it, and code that no longer
// fits its history.

import { ActivityError, PawlError, RunError } from '../base/errors.ts'
import { errorOf, type Failure, failureOf } from '../base/failure.ts'
import type { Decision, HistoryEvent } from '../kernel/event.ts'

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

// The error of a graph or machine run that follows one definition of its workflow while this worker's code is another
// definition that does not fit. The run is paused.

export type DefinitionTaken = Extract<Decision, { type: 'DefinitionTaken' }>

export interface Incompatible {
  readonly step: string
  readonly problem: 'removed' | 'changed' | 'inserted'
  readonly message: string
}

/** `fix` is what the reader can do besides deploying code that fits. */
export function versionMismatch(
  workflow: string,
  { taken, code }: { readonly taken: string; readonly code: string },
  steps: readonly Incompatible[],
  fix: string,
): PawlError {
  const lines = steps.slice(0, 20).map(({ message }) => `\n  ${message}`)
  const rest = steps.length > 20 ? `\n  and ${steps.length - 20} more` : ''
  const problem =
    taken === code
      ? 'does not fit this code'
      : `follows definition ${taken}, but this code is definition ${code}, which does not fit`
  const message = `this run of ${workflow} ${problem}:${lines.join('')}${rest}
To continue the run, deploy code that fits, or ${fix}.`
  return mismatch(message, { taken, code, steps: steps.map((each) => ({ ...each })) })
}

export function mismatch(message: string, details: Readonly<Record<string, unknown>>): PawlError {
  const error = new PawlError('VERSION_MISMATCH', message, { details })
  error.name = 'VersionMismatch'
  return error
}
