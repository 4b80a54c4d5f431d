// Chooses how to rewind a history: by the style that made it.
import type { HistoryEvent } from '../kernel/event.ts'
import { codeRewind } from './function/rewind.ts'
import { graphRewind, isOfGraph } from './graph/rewind.ts'
import type { Rewind } from './rewind-history.ts'

export function rewindOf(events: readonly HistoryEvent[]): Rewind {
  return isOfGraph(events) ? graphRewind : codeRewind
}
