// Why a client does not do what it was asked to.

import { PawlError } from '../base/errors.ts'
import type { Startable } from '../definitions/contract.ts'
import type { Reuse } from '../stores/store.ts'

export function refuseActivity({ is }: Startable<never, unknown>, call: string): void {
  if (is !== 'activity') return
  const message = `${call} takes a workflow; an activity on its own takes no messages. Start it: start(activity, input).`
  throw new PawlError('INPUT_INVALID', message)
}

export function otherReuse(reuse: Reuse): string {
  if (reuse === 'allowIfEnded') return "wait for it to end, or reuse: 'returnExisting'"
  return "reuse: 'allowIfEnded' to start one after the other, or 'returnExisting'"
}

export function engineClosed(cause?: unknown): PawlError {
  return new PawlError('WORKER_STOPPED', 'this engine is closed: open another one.', { cause })
}
