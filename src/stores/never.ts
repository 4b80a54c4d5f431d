/** A time that never comes. It is the last instant a Date can hold, so it sorts after all others. */
export const NEVER = 8_640_000_000_000_000

/** The build that a run names which was paused by hand: none. */
export const BY_HAND = ''
