// Whether a run has begun: its code has run, and the result is recorded. Messages alone do not begin a run. A run that
// is cancelled before it has begun ends at once, because no code of it could clean up.
import type { EndRun } from './command.ts'
import { type EventBody, type HistoryEvent, hasTrait, isEnding } from './event.ts'

export function begins(event: EventBody): boolean {
  return !hasTrait(event, 'message')
}

/** The end of a run that was cancelled before it began, so that a replay ends the same way without its code. */
export function endedUnbegun(events: readonly HistoryEvent[]): EndRun | undefined {
  if (events[0]?.seq !== 1) return undefined
  let cancel: Extract<HistoryEvent, { type: 'CancelRequested' }> | undefined
  for (const event of events) {
    if (event.type === 'CancelRequested') cancel ??= event
    else if (begins(event) && !isEnding(event)) return undefined
  }
  return (
    cancel && { type: 'CancelRun', ...(cancel.reason !== undefined && { reason: cancel.reason }) }
  )
}
