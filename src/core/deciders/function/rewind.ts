// Rewinds the history of a function or a machine. Their code runs again over the events that are kept, so a request
// keeps its result unless the code is to make it again.
//
//   events      1 a started   2 a done   3 b started   4 c started   5 b failed   6 c done   7 the run failed with b
//   retried     began (again: b)   a started   a done   c started   c done   →  b runs, but not a and c
//   reset to b  began              a started   a done                        →  b and c run
import { PawlError } from '../../base/errors.ts'
import type { Failure } from '../../base/failure.ts'
import type { Payload } from '../../base/value.ts'
import type { Event, HistoryEvent } from '../../kernel/event.ts'
import { SHIELD } from '../../kernel/ids.ts'
import { RunState } from '../../kernel/run.ts'
import { movesHoldUntil, standingMoves, withoutLastMove, withoutMovesFrom } from '../machine/rewind.ts'
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
  /** Keeps every settled request, except the one whose failure ended the run. */
  retried(events, generation, now) {
    refuseUndone(events)
    const failed = failureOf(events)
    const past = withoutLastMove(events).filter(isOfTheCode)
    const again = new Set([...openIn(past), ...stoppedIn(events, keysIn(past))])
    if (failed) again.add(failed.key)
    // The code need not request again what it requested after its failure or cancellation.
    const cancelled = events.find(({ type }) => type === 'CancelRequested')
    const failing = Math.min(failed?.seq ?? Infinity, cancelled?.seq ?? Infinity)
    const kept = standingMoves(events, without(past, again))
    return assembled(events, kept, { generation, again, failing, now })
  },

  /** Keeps the requests before a step, with their results, and every message. */
  resetTo(events, step, generation, now) {
    const past = beforeStep(events, placeOf(events, step))
    const again = new Set([...openIn(past), ...stoppedIn(events, keysIn(past))])
    const kept = standingMoves(events, without(past, again))
    return assembled(events, kept, { generation, again, now })
  },

  /** Keeps the history up to a step. `results` replaces results, by the key or name of their step. */
  forkedAt(events, step, { results, dropped }, generation, now) {
    const place = placeOf(events, step)
    const past = beforeStep(events, place).filter((event) => !isMessage(event) || event.seq < place)
    const names = namesIn(events)
    const given = (key: string): Payload | undefined => results.get(key) ?? results.get(names.get(key) ?? '')
    refuseUnknown(upTo(events, place), results)
    const open = openIn(past)
    const stopped = stoppedIn(events, keysIn(past))
    const again = new Set([...open, ...stopped].filter((key) => given(key) === undefined))
    if (dropped !== undefined) again.add(dropped)
    const kept = without(past, again).map((event) => withResult(event, given))
    const requested = events.filter((event) => event.seq === place && isGiven(event, given))
    const done = requested.flatMap((event) => completedBy(event, given, place + 0.5))
    const all = [...settledNow(kept, open, given), ...requested, ...done]
    const until = dropped === undefined ? movesHoldUntil(events, all) : 0
    const left = withoutMovesFrom(until, all)
    return assembled(events, left, { generation, again, now, edited: true })
  },
}

/** The first step of a saga that has compensated: its steps are recorded as done, but their effects are undone. */
export function firstUndone(events: readonly Event[]): string | undefined {
  const undone = events.find(({ type }) => type === 'CompensationBegan')
  if (!undone || !('key' in undone)) return undefined
  const saga = undone.key.slice(0, undone.key.indexOf(SHIELD))
  const first = events.find((event) => event.type.endsWith('Started') && 'key' in event && event.key.startsWith(saga))
  return first && 'key' in first ? first.key : 'a step before the saga'
}

function refuseUndone(events: readonly HistoryEvent[]): void {
  const step = firstUndone(events)
  if (step === undefined) return
  throw new PawlError(
    'NOT_SUPPORTED',
    `this run's saga has already compensated its steps, so a retry would skip work that was undone. Reset the run to the first step of the saga instead: '${step}'.`,
  )
}

/** The seq of the event that requested a step. A name must be that of one step only. */
function placeOf(events: readonly HistoryEvent[], step: string): number {
  const requested = events.filter(isRequested)
  const found = requested.filter((event) => event.key === step)
  const named = found.length > 0 ? found : requested.filter((event) => nameOf(event) === step)
  const [only, another] = named
  if (only && !another) return only.seq
  const keys = (named.length > 0 ? named : requested).map(({ key }) => key)
  const problem = only ? `'${step}' is the name of several steps` : `there is no step '${step}'`
  const message = `${problem}. Give the key of one of these: ${keys.slice(0, 20).join(', ') || 'none'}.`
  throw new PawlError('INPUT_INVALID', message)
}

/** The failure of the step or child that ended the run, if one did. */
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

// Keeps the requests before an event, their results, however late, and all events that belong to no request.
function beforeStep(events: readonly HistoryEvent[], place: number): HistoryEvent[] {
  const late = new Set(events.flatMap((event) => ('after' in event && event.seq >= place ? [event.key] : [])))
  return events
    .filter((event) => isOfTheCode(event) && !('key' in event && late.has(event.key)))
    .map((event) => (event.type === 'CalledOff' ? withoutKeys(event, late) : event))
}

/**
 * Of these keys, those that a cancellation stopped while the code waited for their end: their results are due to it.
 */
function stoppedIn(events: readonly HistoryEvent[], keys: ReadonlySet<string>): Set<string> {
  const cancelled = events.findIndex(({ type }) => type === 'CancelRequested')
  if (cancelled < 0) return new Set()
  const { open } = RunState.of(events.slice(0, cancelled + 1))
  return new Set(
    [...open].flatMap(([key, each]) => ('stopping' in each && each.stopping && keys.has(key) ? [key] : [])),
  )
}

function keysIn(events: readonly HistoryEvent[]): Set<string> {
  return new Set(events.flatMap((event) => keyIn(event) ?? []))
}
