// The retention of a store is one run of this workflow, so one worker of a fleet does it at a time, another one goes on
// if that dies, and `why` explains it like any other run. A pass is a walk through all old runs, in steps of some seconds.
import type { OwnActivityClient } from '../../activity-client.ts'
import { defined } from '../../core/base/defined.ts'
import { RETENTION, signal, workflow } from '../../core/index.ts'

/** Begins a pass at once: the policy was changed. */
export const look = signal('look')

export interface RetentionState {
  /** Runs that were deleted in all passes so far. */
  readonly purged: number
  /** When the next pass begins. Absent before the first, and when the policy was removed. */
  readonly everyMs?: number
}

/** The queue of pawl's own workflows is that of schedules, which every worker serves. */
export const retentionWorkflow = workflow(
  RETENTION,
  { queue: 'pawl.schedules', pin: false },
  async (ctx, state: RetentionState): Promise<void> => {
    if (state.everyMs === undefined) await ctx.wait(look)
    else await ctx.wait(look, { timeout: state.everyMs })
    let [purged, needed] = [0, 0]
    let from: string | undefined
    let everyMs: number | undefined
    do {
      const at = from
      const part = await ctx.run('sweep', { retry: { maxAttempts: Infinity } }, (step) =>
        (step.client as OwnActivityClient).retention.sweep(at, step.signal),
      )
      purged += part.purged
      needed += part.needed
      from = part.next
      everyMs = part.everyMs
    } while (from !== undefined)
    const total = state.purged + purged
    ctx.setAttributes({ purged: total, lastPurged: purged, lastNeeded: needed, passedAt: ctx.now() })
    ctx.continueAsNew(defined({ purged: total, everyMs }))
  },
)
