// Interceptors: functions of the user around calls. Each gets the call and `next`; it chooses the call that it passes
// to `next`, and may change the result. The first in the list is the outermost.
import type { RunTrace } from '../kernel/run-trace.ts'
import type { ActivityContext } from './contract.ts'

/** One attempt of an activity or an inline step, as an interceptor sees it. */
export interface ActivityCall {
  readonly kind: 'activity' | 'step'
  readonly name: string
  /** The input before the activity's schema parses it; an inline step has none. */
  readonly input: unknown
  readonly ctx: ActivityContext
  readonly queue: string
  readonly priority: number
  /** How long the attempt could have begun before it did; unknown of a queued activity that was tried before. */
  readonly waitedMs?: number
  /** What the ids of its spans are derived from. */
  readonly trace: RunTrace
}

/** A function around a call of type `C`, which returns `R`. */
export type Around<C, R> = (call: C, next: (call: C) => R) => R

export type AroundActivity = Around<ActivityCall, unknown>

/** Makes a call through all interceptors. */
export function through<C, R>([first, ...rest]: readonly Around<C, R>[], call: C, make: (call: C) => R): R {
  return first ? first(call, (given) => through(rest, given, make)) : make(call)
}
