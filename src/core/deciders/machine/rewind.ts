// What a machine's moves mean for going back in its history.
import type { HistoryEvent } from '../../kernel/event.ts'
import { isOfTheCode } from '../rewind-history.ts'

/** Without moves that do not stand any more. */
export function standingMoves(
  all: readonly HistoryEvent[],
  kept: readonly HistoryEvent[],
): HistoryEvent[] {
  return withoutMovesFrom(movesStandUntil(all, kept), kept)
}

export function withoutMovesFrom(seq: number, events: readonly HistoryEvent[]): HistoryEvent[] {
  return events.filter((event) => event.type !== 'StateMoved' || event.by < seq)
}

// A machine's move answers one event. It stands as long as that, and all before it, is as it was, and as long as nothing
// that such a move asked for is to be asked for again; from there on the events are answered anew.
export function movesStandUntil(
  all: readonly HistoryEvent[],
  kept: readonly HistoryEvent[],
): number {
  const same = new Set(kept)
  let until = Infinity
  for (const event of all) {
    // What a machine did about its cancellation, it did because of that.
    if (event.type === 'CancelRequested') until = Math.min(until, event.seq)
    if (same.has(event) || event.type === 'CalledOff' || !isOfTheCode(event)) continue
    until = Math.min(until, 'after' in event ? event.after : event.seq)
  }
  return until
}

// The move by which a machine ended itself is made again, by whatever code it has then.
export function withoutLastMove(events: readonly HistoryEvent[]): readonly HistoryEvent[] {
  if (events.at(-1)?.type !== 'RunFailed') return events
  const last = events.findLastIndex(({ type }) => type === 'StateMoved')
  return last < 0 ? events : events.toSpliced(last, 1)
}
