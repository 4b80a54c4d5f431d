// Points in time as users give them.

import { PawlError } from './assert.ts'

/** Milliseconds since 1970 on the store's clock. */
export type Instant = number

/** Further away there is no Date, in either direction. */
const INSTANT_MAX = 8_640_000_000_000_000

/** Whole milliseconds, rounded up. `what` names the time in the error. */
export function instantOf(time: Date | number, what: string): Instant {
  const ms = Math.ceil(Number(time)) + 0 // + 0 makes a zero of a negative zero
  if (Math.abs(ms) <= INSTANT_MAX) return ms
  throw new PawlError(
    'INPUT_INVALID',
    `${what} is ${typeof time === 'number' ? time : 'not a valid Date'}; expected a Date, or milliseconds since 1970 that a Date can hold (at most ${INSTANT_MAX}).`,
  )
}

/** A time that never comes. It is the last instant a Date can hold, so it sorts after all others. */
export const NEVER = 8_640_000_000_000_000
