// Whether a run has begun: its code was asked for something, and what came of it is recorded. Messages alone do not begin it.
// A run that is cancelled before it has begun ends at once: there is no code that could clean up.
import type { EndRun } from './command.ts'
import { type EventBody, type HistoryEvent, hasTrait, isEnding } from './event.ts'

export function begins(event: EventBody): boolean {
  return !hasTrait(event, 'message')
}

/** How the run ended if it was cancelled before it began, so that a replay comes to the same end without its code. */
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
