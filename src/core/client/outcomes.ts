// What a caller gets for a run that has ended, and for an update that was answered.

import { CancelledError, PawlError, RunError } from '../base/errors.ts'
import { errorOf } from '../base/failure.ts'
import { decode } from '../base/value.ts'
import type { Event } from '../kernel/event.ts'
import type { Ended } from './results.ts'
import { endingOf } from './run-record.ts'

/** The output of a run that has ended, or its error. The error names the run by `workflowId`. */
export function resultOf(runId: string, ended: Ended, workflowId = runId): unknown {
  const ending = endingOf(ended)
  switch (ending?.type) {
    case 'RunCompleted':
      return decode(ending.value)
    case 'RunCancelled':
      throw new CancelledError(ending.reason)
    case 'RunFailed': {
      const { failure, undone } = ending
      const compensationFailures = undone?.failures ?? []
      const what = `run '${workflowId}'`
      throw new RunError({ failure, runId, compensationFailures, what }, { cause: errorOf(failure) })
    }
    default:
      throw new PawlError('STORE_UNAVAILABLE', `the end of run ${runId} cannot be read. Try again.`)
  }
}

/** The answer to an update, or its error; undefined if the events have none. */
export function answerOf(events: readonly Event[], id: string): { readonly value: unknown } | undefined {
  for (const event of events) {
    if (event.type === 'UpdateCompleted' && event.id === id) return { value: decode(event.value) }
    if (event.type !== 'UpdateFailed' || event.id !== id) continue
    const { failure, rejected } = event
    const [code, what] = rejected
      ? (['UPDATE_REJECTED', 'was rejected'] as const)
      : (['UPDATE_FAILED', 'failed'] as const)
    throw new PawlError(code, `the update ${what}: ${failure.message}`, {
      cause: errorOf(failure),
    })
  }
  return undefined
}
