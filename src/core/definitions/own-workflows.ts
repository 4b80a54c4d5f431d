/** The workflow that a schedule is a run of. Its runs are pawl's own: an operation on all runs leaves them out. */
export const SCHEDULE = 'pawl.schedule'
