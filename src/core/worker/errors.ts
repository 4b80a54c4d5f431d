// The errors and endings of runs that a worker does not continue.
import { PawlError } from '../base/errors.ts'
import type { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { Instant } from '../base/time.ts'
import type { Ending } from '../kernel/event.ts'
import { BY_HAND } from '../kernel/message.ts'
import { deadlineOf, type Head, type RunState } from '../kernel/run.ts'

const SHORTER = 'Begin a new history now and then with ctx.continueAsNew, or split the work into child workflows.'
const SMALLER = 'Keep large inputs and results elsewhere and pass references.'

/** How a run ends whose history has passed a limit; `undefined` while it has not. */
export function tooLong(events: number, bytes: number): Ending | undefined {
  const hasManyEvents = events > limits.historyEventsMax
  if (!hasManyEvents && bytes <= limits.historyBytesMax) return undefined
  const message = hasManyEvents
    ? `the history of this run passed ${limits.historyEventsMax} events. ${SHORTER}`
    : `the history of this run passed ${limits.historyBytesMax} bytes. ${SMALLER} ${SHORTER}`
  return { type: 'RunFailed', failure: { type: 'HistoryTooLong', message, retryable: false } }
}

/** What the log says of a run whose history approaches the limit. */
export function historyWarning(bytes: number): string {
  return `its history has ${bytes} bytes; at ${limits.historyBytesMax} it fails. ${SMALLER} ${SHORTER}`
}

export function poisoned(deaths: number): PawlError {
  return new PawlError(
    'TRY_LATER',
    `workers died ${deaths} times while they held this run, so no worker of this build claims it again. Find out what kills the process (memory, process.exit, an endless loop), then deploy a new build.`,
  )
}

/** How a run ends that took too long; `undefined` while it has time. */
export function timedOut(head: Head, state: RunState, now: Instant): Ending | undefined {
  const deadline = deadlineOf(head, state, now)
  if (!deadline || deadline.at > now) return undefined
  const { code } = deadline
  const { runTimeoutMs, executionTimeoutMs } = head.extras
  const limit = code === 'RUN_TIMEOUT' ? runTimeoutMs : executionTimeoutMs
  const message = `the run took longer than ${limit} ms`
  return { type: 'RunFailed', failure: { type: 'Timeout', message, code, retryable: false } }
}

/** Why a run is paused that a person paused. */
export function pauseRequested(note: string | undefined): Failure {
  return { type: 'Paused', message: note ?? BY_HAND, retryable: true }
}

export function unstorable(reason: string): Ending {
  const message = `a turn of this run cannot be stored: ${reason}`
  return { type: 'RunFailed', failure: { type: 'TurnRejected', message, retryable: false } }
}
