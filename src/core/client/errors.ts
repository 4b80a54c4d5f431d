// Errors of clients and handles.

import { PawlError } from '../base/errors.ts'
import type { RunRef } from '../definitions/context.ts'
import type { Startable } from '../definitions/contract.ts'
import { leftTo, type Reuse, type RunSnapshot } from '../stores/store.ts'
import { type Why, whyText } from './why.ts'

export function notFound(ref: RunRef): PawlError {
  const what = typeof ref === 'string' ? `run '${ref}'` : `run with workflow id '${ref.workflowId}'`
  const todo = 'Check the id, and that the store and schema are the ones it was started in.'
  return new PawlError('RUN_NOT_FOUND', `there is no ${what} in this store. ${todo}`)
}

/** The run has left this store. */
export function movedAway({ head, reason }: RunSnapshot): PawlError {
  const to = leftTo(reason)
  const message = `run ${head.runId} has moved to ${to}, and goes on there. Open that store.`
  return new PawlError('RUN_MOVED', message, { details: { runId: head.runId, movedTo: to } })
}

export function refuseMoved(run: RunSnapshot | undefined): void {
  if (run?.status === 'moved') throw movedAway(run)
}

/** The run did not do in time what the caller waited for. `what` is a verb phrase: `has not ended within 5 s`. */
export function notEnded(runId: string, what: string, why: Why): PawlError {
  const { suggestion } = why
  const advice = suggestion === undefined ? '' : `\n${suggestion}`
  const message = `run ${runId} ${what}: ${whyText(why)}${advice}`
  return new PawlError('NOT_ENDED', message, { details: { why } })
}

/** `what` is a participle: 'retried', 'reset'. */
export function notAtRest({ head, status }: RunSnapshot, what: string): PawlError {
  // A run that was resumed keeps its status until a worker has claimed it.
  const now = status === 'paused' ? 'has been resumed' : `is ${status}`
  const message = `run ${head.runId} ${now}; only a run that has ended or is paused can be ${what}. Pause it first.`
  return new PawlError('RUN_NOT_AT_REST', message)
}

/** The run was triggered before, but no worker has read that trigger yet. */
export function triggerUnread(runId: string): PawlError {
  const problem = `run ${runId} was triggered before, but no worker has read that trigger yet`
  const message = `${problem}, so whether its input was the same is unknown. The first trigger counts. Try again later.`
  return new PawlError('TRY_LATER', message, { details: { runId } })
}

/** A handle by workflow id learns its ids from the store. */
export function unknownUntilRead(property: string): never {
  const todo = 'Make a call first, for example `await handle.describe()`.'
  throw new PawlError('INPUT_INVALID', `the ${property} of this handle is not known yet. ${todo}`)
}

export function refuseActivity({ is }: Startable<never, unknown>, call: string): void {
  if (is !== 'activity') return
  const problem = `${call} got an activity; expected a workflow, because a standalone activity receives no messages`
  throw new PawlError('INPUT_INVALID', `${problem}. Start the activity with start(activity, input).`)
}

/** What to do if the workflow id is taken. */
export function otherReuse(reuse: Reuse): string {
  if (reuse === 'allowIfEnded') return "wait for it to end, or reuse: 'returnExisting'"
  return "reuse: 'allowIfEnded' to start one after the other, or 'returnExisting'"
}

export function engineClosed(cause?: unknown): PawlError {
  return new PawlError('WORKER_STOPPED', 'this engine is closed. Open another one.', { cause })
}
