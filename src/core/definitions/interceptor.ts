// Functions of the user's that stand around calls: each gets the call and `next`, and decides what `next` is called with and
// what is made of its answer. The first in the list is the outermost.
import type { ActivityContext } from './contract.ts'

/** One attempt at the body of an activity or of a step written in place. */
export interface ActivityCall {
  readonly kind: 'activity' | 'step'
  readonly name: string
  /** As the activity's own schema will get it; a step written in place has none. */
  readonly input: unknown
  readonly ctx: ActivityContext
}

/** Stands around a call of type `C`, which is answered by `R`. */
export type Around<C, R> = (call: C, next: (call: C) => R) => R

export type AroundActivity = Around<ActivityCall, unknown>

/** Makes a call through everything that stands around it. */
export function through<C, R>(
  [first, ...rest]: readonly Around<C, R>[],
  call: C,
  make: (call: C) => R,
): R {
  return first ? first(call, (given) => through(rest, given, make)) : make(call)
}
