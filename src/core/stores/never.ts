export { NEVER } from '../base/instant.ts'

/** The build of a run that was paused by hand. */
export const BY_HAND = ''
