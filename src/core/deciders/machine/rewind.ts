// Rewinding a machine: which of its moves still hold.
import type { HistoryEvent } from '../../kernel/event.ts'
import { isOfTheCode } from '../rewind-history.ts'

/** The events that are kept, without moves that no longer hold. */
export function standingMoves(all: readonly HistoryEvent[], kept: readonly HistoryEvent[]): HistoryEvent[] {
  return withoutMovesFrom(movesHoldUntil(all, kept), kept)
}

export function withoutMovesFrom(seq: number, events: readonly HistoryEvent[]): HistoryEvent[] {
  return events.filter((event) => event.type !== 'StateMoved' || event.by < seq)
}

// A move answers one event. It holds as long as that event and all before it are kept unchanged, and as long as nothing
// that such a move requested must be requested again. From there on, handlers answer the events again.
export function movesHoldUntil(all: readonly HistoryEvent[], kept: readonly HistoryEvent[]): number {
  const same = new Set(kept)
  let until = Infinity
  for (const event of all) {
    // Moves from a cancellation on are due to it, so they do not hold.
    if (event.type === 'CancelRequested') until = Math.min(until, event.seq)
    if (same.has(event) || event.type === 'CalledOff' || !isOfTheCode(event)) continue
    until = Math.min(until, 'after' in event ? event.after : event.seq)
  }
  return until
}

// The move with which a machine failed itself is made again, by the code that the retry runs.
export function withoutLastMove(events: readonly HistoryEvent[]): readonly HistoryEvent[] {
  if (events.at(-1)?.type !== 'RunFailed') return events
  const last = events.findLastIndex(({ type }) => type === 'StateMoved')
  return last < 0 ? events : events.toSpliced(last, 1)
}
