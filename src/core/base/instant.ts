// Points in time, as users pass them to pawl.

import { PawlError } from './assert.ts'

/** Milliseconds since 1970 on the store's clock. */
export type Instant = number

/** The last instant that a Date can hold; the first is its negative. */
const INSTANT_MAX = 8_640_000_000_000_000

/** The time in whole milliseconds, rounded up. `what` names the time in the error. */
export function instantOf(time: Date | number, what: string): Instant {
  const ms = Math.ceil(Number(time)) + 0 // + 0 turns -0 into 0
  if (Math.abs(ms) <= INSTANT_MAX) return ms
  const problem = typeof time === 'number' ? time : 'not a valid Date'
  const expected = `a Date, or milliseconds since 1970 that a Date can hold (at most ${INSTANT_MAX})`
  throw new PawlError('INPUT_INVALID', `${what} is ${problem}; expected ${expected}.`)
}

/** A time that never comes: the last instant a Date can hold, so that it sorts after all others. */
export const NEVER = INSTANT_MAX
