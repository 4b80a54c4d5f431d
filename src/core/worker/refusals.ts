// What a worker says when it will not go on with a run.

import { PawlError } from '../base/errors.ts'
import type { Failure } from '../base/failure.ts'
import type { Instant } from '../base/instant.ts'
import { limits } from '../base/limits.ts'
import { deadlineOf } from '../kernel/deadline.ts'
import type { Ending } from '../kernel/event.ts'
import { BY_HAND } from '../kernel/message.ts'
import type { Head, RunState } from '../kernel/run.ts'

/** How a run ends whose history has passed a limit; `undefined` while it has not. */
export function tooLong(events: number, bytes: number): Ending | undefined {
  const message =
    events > limits.historyEventsMax
      ? `the history of this run passed ${limits.historyEventsMax} events. ${SHORTER}`
      : `the history of this run passed ${limits.historyBytesMax} bytes. ${SMALLER} ${SHORTER}`
  const failure = { type: 'HistoryTooLong', message, retryable: false }
  const isTooLong = events > limits.historyEventsMax || bytes > limits.historyBytesMax
  return isTooLong ? { type: 'RunFailed', failure } : undefined
}

const SHORTER =
  'Begin a new history now and then with ctx.continueAsNew, or split the work into child workflows.'
const SMALLER = 'Keep large inputs and results elsewhere and pass references.'

/** What the log says of a run that is on its way to the limit. */
export function heavy(bytes: number): string {
  return `its history has ${bytes} bytes; at ${limits.historyBytesMax} it fails. ${SMALLER} ${SHORTER}`
}

export function poisoned(deaths: number): PawlError {
  return new PawlError(
    'TRY_LATER',
    `workers died ${deaths} times while they held this run, so it is kept from more of them. Find out what kills the process (memory, process.exit, an endless loop), then deploy a new build.`,
  )
}

export function timedOut(head: Head, state: RunState, now: Instant): Ending {
  const code = deadlineOf(head, state, now)?.code ?? 'RUN_TIMEOUT'
  const { runTimeoutMs, executionTimeoutMs } = head.extras
  const limit = code === 'RUN_TIMEOUT' ? runTimeoutMs : executionTimeoutMs
  const message = `the run took longer than ${limit} ms`
  return { type: 'RunFailed', failure: { type: 'Timeout', message, code, retryable: false } }
}

/** How long to wait before a run is left to others, after so many have left it before. */
export function hesitationMs(times: number): number {
  if (times <= 0) return 0
  return Math.min(limits.unreadableRetryMsMax, limits.unreadableRetryMsMin * 2 ** (times - 1))
}

/** What a run says that was paused by hand. */
export function restful(note: string | undefined): Failure {
  return { type: 'Paused', message: note ?? BY_HAND, retryable: true }
}

export function unstorable(reason: string): Ending {
  const message = `a turn of this run cannot be stored: ${reason}`
  return { type: 'RunFailed', failure: { type: 'TurnRejected', message, retryable: false } }
}

/** For a body whose step nobody records any more: the run is paused, or with another worker. */
export function unrecorded(): PawlError {
  return new PawlError('WORKER_STOPPED', 'the run was let go before the step was recorded')
}
