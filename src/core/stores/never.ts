export { NEVER } from '../base/instant.ts'

/** The build that a run names which was paused by hand: none. */
export const BY_HAND = ''
