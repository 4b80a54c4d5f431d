// What the watchers of live events share: when to look again, and what this process announces meanwhile.
import { limits } from '../../core/base/limits.ts'
import { isUnavailable } from '../../core/runtime/availability.ts'
import { type Clock, sleep } from '../../core/runtime/clock.ts'
import type { Engine } from '../../engine.ts'

/** The time between two looks: short while things change, and never a large share of what a look takes. */
export class Pace {
  #pauseMs: number = limits.livePollMsMin

  /** How long to pause after a look that took so long. */
  after({ changed, tookMs }: { readonly changed: boolean; readonly tookMs: number }): number {
    this.#pauseMs = changed ? limits.livePollMsMin : Math.min(this.#pauseMs * 1.5, limits.livePollMsMax)
    return restAfter(tookMs, this.#pauseMs)
  }
}

/** The pause after something that took so long, so that it takes a small share of the time. */
export function restAfter(tookMs: number, leastMs: number): number {
  return Math.max(leastMs, tookMs * (1 / limits.liveLookShare - 1))
}

const ANNOUNCED = [
  ...(['run.started', 'run.suspended', 'run.continued', 'run.compensating', 'run.cancelled'] as const),
  ...(['run.completed', 'run.failed', 'run.paused'] as const),
  ...(['activity.scheduled', 'activity.left', 'activity.completed', 'activity.failed'] as const),
] as const

/** Calls `heard` with every run that this process reports progress of. Returns what ends it. */
export function listen(engine: Engine, heard: (runId: string) => void): () => void {
  const offs = ANNOUNCED.map((type) => engine.on(type, ({ runId }) => heard(runId)))
  return () => {
    for (const off of offs) off()
  }
}

/** Repeats a call while the store is unavailable, as long as the reader is there: its stream outlives an outage. */
export async function patiently<T>(clock: Clock, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!isUnavailable(error) || signal.aborted) throw error
      await sleep(clock, limits.livePollMsMax, signal)
    }
  }
}
