// Waits for a run on behalf of a user. It reports once what the run needs from outside, and gives up when the run is
// paused by its own code, because only other code can resume it.
import { PawlError } from '../core/base/errors.ts'
import type { RunHandle, Why } from '../index.ts'

/** How often the command line checks why a run has not ended yet. */
const CHECK_EVERY = '2s'

/** Returns the result of the run. `report` gets, once each, the reasons to wait that the user could remove. */
export async function waitForRun(run: RunHandle<unknown>, report: (why: Why) => void): Promise<unknown> {
  const reported = new Set<string>()
  let before = ''
  for (;;) {
    try {
      return await run.result({ timeout: CHECK_EVERY })
    } catch (error) {
      const why = reasonIn(error)
      if (!why) throw error
      const state = JSON.stringify(why)
      // Another build may resume the run, so only a pause that lasts until the next check counts.
      if (why.reason === 'paused' && why.failure && state === before) throw error
      before = state
      if (!needsUser(why) || reported.has(state)) continue
      reported.add(state)
      report(why)
    }
  }
}

function reasonIn(error: unknown): Why | undefined {
  if (!(error instanceof PawlError) || error.code !== 'NOT_ENDED') return undefined
  return (error.details as { readonly why: Why }).why
}

function needsUser({ reason }: Why): boolean {
  return ['paused', 'pending', 'noWorker', 'signal', 'webhook'].includes(reason)
}
