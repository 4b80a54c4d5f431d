/** The workflow whose runs are schedules. They are pawl's own runs, so operations on all runs leave them out. */
export const SCHEDULE = 'pawl.schedule'
