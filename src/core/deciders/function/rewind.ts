// Going back in the history of a function or a machine. Their code runs again over what is kept, so a request keeps its
// result unless the code is to make it again.
//
//   events     1 asked a   2 a done   3 asked b   4 asked c   5 b failed   6 c done   7 the run failed by b
//   retried    began(again: b)   asked a   a done   asked c   c done        so b runs, and a and c do not
//   reset to b began             asked a   a done                           so b and c run
import { PawlError } from '../../base/errors.ts'
import type { Failure } from '../../base/failure.ts'
import type { Payload } from '../../base/value.ts'
import type { HistoryEvent } from '../../kernel/event.ts'
import { SHIELD } from '../../kernel/key.ts'
import { RunState } from '../../kernel/run.ts'
import {
  movesStandUntil,
  standingMoves,
  withoutLastMove,
  withoutMovesFrom,
} from '../machine/rewind.ts'
import {
  assembled,
  completedBy,
  isGiven,
  isMessage,
  isOfTheCode,
  isRequested,
  keyIn,
  nameOf,
  namesIn,
  openIn,
  type Rewind,
  refuseUnknown,
  settledNow,
  upTo,
  without,
  withoutKeys,
  withResult,
} from '../rewind-history.ts'

export const codeRewind: Rewind = {
  /** Everything that was settled, but for the failure the run ended with. */
  retried(events, begins, now) {
    refuseUndone(events)
    const failed = failureOf(events)
    const past = withoutLastMove(events).filter(isOfTheCode)
    const again = new Set([...openIn(past), ...stoppedIn(events, keysIn(past))])
    if (failed) again.add(failed.key)
    // What the code did about its failure, or its cancellation, it may not come to this time.
    const cancelled = events.find(({ type }) => type === 'CancelRequested')
    const turned = Math.min(failed?.seq ?? Infinity, cancelled?.seq ?? Infinity)
    const kept = standingMoves(events, without(past, again))
    return assembled(events, kept, { begins, again, turned, now })
  },

  /** What was asked for before a step was, with all that came of it, and every message. */
  resetTo(events, step, begins, now) {
    const past = beforeStep(events, placeOf(events, step))
    const again = new Set([...openIn(past), ...stoppedIn(events, keysIn(past))])
    const kept = standingMoves(events, without(past, again))
    return assembled(events, kept, { begins, again, now })
  },

  /** The past up to a step. Results, by the key or name of a step, are in place of those it had. */
  forkedAt(events, step, { results, dropped }, begins, now) {
    const place = placeOf(events, step)
    const past = beforeStep(events, place).filter((event) => !isMessage(event) || event.seq < place)
    const names = namesIn(events)
    const given = (key: string): Payload | undefined =>
      results.get(key) ?? results.get(names.get(key) ?? '')
    refuseUnknown(upTo(events, place), results)
    const open = openIn(past)
    const stopped = stoppedIn(events, keysIn(past))
    const again = new Set([...open, ...stopped].filter((key) => given(key) === undefined))
    if (dropped !== undefined) again.add(dropped)
    const kept = without(past, again).map((event) => withResult(event, given))
    const asked = events.filter((event) => event.seq === place && isGiven(event, given))
    const done = asked.flatMap((event) => completedBy(event, given, place + 0.5))
    const all = [...settledNow(kept, open, given), ...asked, ...done]
    const until = dropped === undefined ? movesStandUntil(events, all) : 0
    return assembled(events, withoutMovesFrom(until, all), { begins, again, now, edited: true })
  },
}

// What the code did stands in its history, and does not stand any more outside.
function refuseUndone(events: readonly HistoryEvent[]): void {
  const undone = events.find(({ type }) => type === 'CompensationBegan')
  if (!undone || !('key' in undone)) return
  const saga = undone.key.slice(0, undone.key.indexOf(SHIELD))
  const first = events.find((event) => isRequested(event) && event.key.startsWith(saga))
  const step = first && 'key' in first ? first.key : 'a step before the saga'
  throw new PawlError(
    'NOT_SUPPORTED',
    `this run's saga has already compensated its steps, so retrying would skip undone work. Reset it to its first step instead: '${step}'.`,
  )
}

/** Where a step was asked for. A name must be that of one step only. */
function placeOf(events: readonly HistoryEvent[], step: string): number {
  const asked = events.filter(isRequested)
  const found = asked.filter((event) => event.key === step)
  const named = found.length > 0 ? found : asked.filter((event) => nameOf(event) === step)
  const [only, another] = named
  if (only && !another) return only.seq
  const keys = (named.length > 0 ? named : asked).map(({ key }) => key)
  const problem = only ? `'${step}' is the name of several steps` : `there is no step '${step}'`
  const message = `${problem}. Give the key of one of these: ${keys.slice(0, 20).join(', ') || 'none'}.`
  throw new PawlError('INPUT_INVALID', message)
}

/** The step or child whose failure the run ended with, if it ended with one. */
function failureOf(
  events: readonly HistoryEvent[],
): Extract<HistoryEvent, { type: 'StepFailed' | 'ChildFailed' }> | undefined {
  const last = events.at(-1)
  if (last?.type !== 'RunFailed') return undefined
  for (let failure: Failure | undefined = last.failure; failure; failure = failure.cause) {
    if (failure.type !== 'ActivityError' && failure.type !== 'RunError') continue
    const { cause } = failure
    const found = events.findLast(
      (event): event is Extract<HistoryEvent, { type: 'StepFailed' | 'ChildFailed' }> =>
        (event.type === 'StepFailed' || event.type === 'ChildFailed') &&
        event.failure.type === cause?.type &&
        event.failure.message === cause.message,
    )
    if (found) return found
  }
  return undefined
}

// What was asked for before an event, what came of it whenever that was, and all that nobody asked for.
function beforeStep(events: readonly HistoryEvent[], place: number): HistoryEvent[] {
  const late = new Set(
    events.flatMap((event) => ('after' in event && event.seq >= place ? [event.key] : [])),
  )
  return events
    .filter((event) => isOfTheCode(event) && !('key' in event && late.has(event.key)))
    .map((event) => (event.type === 'CalledOff' ? withoutKeys(event, late) : event))
}

/** Of these, what a cancellation stopped and the code waited for: it ended as it did because of that. */
function stoppedIn(events: readonly HistoryEvent[], keys: ReadonlySet<string>): Set<string> {
  const cancelled = events.findIndex(({ type }) => type === 'CancelRequested')
  if (cancelled < 0) return new Set()
  const { open } = RunState.of(events.slice(0, cancelled + 1))
  return new Set(
    [...open].flatMap(([key, each]) =>
      'stopping' in each && each.stopping && keys.has(key) ? [key] : [],
    ),
  )
}

function keysIn(events: readonly HistoryEvent[]): Set<string> {
  return new Set(events.flatMap((event) => keyIn(event) ?? []))
}
