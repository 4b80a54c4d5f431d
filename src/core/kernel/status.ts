// The statuses of runs. This file imports nothing, so that a client in a browser can have it.

/** Statuses of runs that have not ended, and of runs that have. */
export const LIVE = ['pending', 'running', 'waiting', 'paused', 'compensating'] as const
/** A run that has `moved` goes on in another store. */
export const ENDED = ['completed', 'failed', 'cancelled', 'moved'] as const
/** Those in which a worker releases a run that goes on by itself; `compensating` is shown instead while it undoes. */
export const RELEASED = ['waiting', 'running'] as const satisfies readonly (typeof LIVE)[number][]
export type ReleasedStatus = (typeof RELEASED)[number]
export type EndedStatus = (typeof ENDED)[number]
/** The status of a run. */
export type Status = (typeof LIVE)[number] | EndedStatus
