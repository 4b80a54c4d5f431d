// Waits for a run on behalf of a person: what the run needs from outside is told once, and the wait ends when the run is
// paused by its own code, because only other code would move it then.

import { PawlError } from '../core/base/errors.ts'
import type { RunHandle, Why } from '../index.ts'

/** How often the command line looks why a run has not ended yet. */
const LOOK_EVERY = '2s'

/** The result of the run. `tell` gets each reason to wait that somebody else could remove, once. */
export async function follow(run: RunHandle<unknown>, tell: (why: Why) => void): Promise<unknown> {
  const told = new Set<string>()
  let before = ''
  for (;;) {
    try {
      return await run.result({ timeout: LOOK_EVERY })
    } catch (error) {
      const why = reasonIn(error)
      if (!why) throw error
      const state = JSON.stringify(why)
      // A pause that another build is about to lift is over at the next look.
      if (why.reason === 'paused' && why.failure && state === before) throw error
      before = state
      if (!isForOthers(why) || told.has(state)) continue
      told.add(state)
      tell(why)
    }
  }
}

function reasonIn(error: unknown): Why | undefined {
  if (!(error instanceof PawlError) || error.code !== 'NOT_ENDED') return undefined
  return (error.details as { readonly why: Why }).why
}

function isForOthers({ reason }: Why): boolean {
  return ['paused', 'pending', 'noWorker', 'signal', 'webhook'].includes(reason)
}
