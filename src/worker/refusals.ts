// What a worker says when it will not go on with a run.
import { PawlError } from '../kernel/errors.ts'
import type { Ending } from '../kernel/event.ts'
import { limits } from '../kernel/limits.ts'

export function tooLong(): Ending {
  const message = `the history of this run passed ${limits.historyEventsMax} events. Split the work into child workflows.`
  return { type: 'RunFailed', failure: { type: 'HistoryTooLong', message, retryable: false } }
}

export function poisoned(deaths: number): PawlError {
  return new PawlError(
    'TRY_LATER',
    `workers died ${deaths} times while they held this run, so it is kept from more of them. Find out what kills the process (memory, process.exit, an endless loop), then deploy a new build.`,
  )
}

export function unstorable(reason: string): Ending {
  const message = `a turn of this run cannot be stored: ${reason}`
  return { type: 'RunFailed', failure: { type: 'TurnRejected', message, retryable: false } }
}
