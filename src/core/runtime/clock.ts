// Time as a parameter. Only the files in this folder read the machine's clock and timers; tests pass a virtual clock.
import type { Instant } from '../base/time.ts'

export interface Clock {
  now(): Instant
  /** Milliseconds that never jump, for measuring how long something took. */
  monotonic(): number
  /** Calls `fire` once after `ms`. The returned function cancels the timer. */
  after(ms: number, fire: () => void): () => void
  /** Lets timers and I/O of this process run. */
  breathe(): Promise<void>
}

/** The longest timer of Node. */
const TIMER_MS_MAX = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, fire) {
    let left = Math.max(0, Math.ceil(ms))
    let timer: NodeJS.Timeout
    const arm = (): void => {
      const part = Math.min(left, TIMER_MS_MAX)
      left -= part
      timer = setTimeout(left > 0 ? arm : fire, part)
    }
    arm()
    return () => clearTimeout(timer)
  },
  breathe: () => new Promise((resolve) => setImmediate(resolve)),
}

/** Resolves after `ms`, or at once when the signal aborts. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const done = (): void => {
      cancelTimer()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const cancelTimer = clock.after(ms, done)
    signal?.addEventListener('abort', done, { once: true })
  })
}
