// The ids that runs and messages have in the store, from the ids that users give.

import { checkOptions } from '../base/described.ts'
import { PawlError } from '../base/errors.ts'
import { checkKnownId, isUuid } from '../base/names.ts'
import { quote } from '../base/visible.ts'
import type { RunRef } from '../definitions/context.ts'
import { runReference } from '../definitions/options.ts'
import type { RunSnapshot } from '../stores/store.ts'
import { readFailure, unreadableMessageIn } from './why.ts'

export function checkRef(ref: RunRef): void {
  if (typeof ref !== 'string') {
    checkOptions(runReference, ref, { of: 'get' })
    checkKnownId(ref.workflowId, 'a workflow id')
  } else {
    checkRunId(ref)
  }
}

export function checkRunId(runId: string): string {
  if (!isUuid(runId)) {
    const problem = `${quote(runId)} is not a run id; expected a UUID such as start() returns`
    throw new PawlError('RUN_ID_INVALID', `${problem}. For an id of your own use get({ workflowId: '…' }).`)
  }
  return runId
}

export function signalId(messageId: string): string {
  return `signal:${checkKnownId(messageId, 'a message id')}`
}

export function updateId(messageId: string): string {
  return `update:${checkKnownId(messageId, 'a message id')}`
}

/** The id of the message to discard. Throws unless it is the unreadable message that the run is paused for. */
export function discardedId({ head, paused, unread }: RunSnapshot, messageId: string): string {
  const known = paused && unreadableMessageIn(readFailure(paused.failure))
  if (known === messageId || known === signalId(messageId) || known === updateId(messageId)) return known
  if (known === undefined && unread > 0) return messageId
  const instead = known === undefined ? 'it has no unread messages' : `it is paused because of ${quote(known)}`
  const problem = `run ${head.runId} is not paused because of message ${quote(messageId)}: ${instead}`
  throw new PawlError('INPUT_INVALID', `${problem}. Discard the message that \`why\` names.`)
}
