// Rewinds the history of a graph. Its code is not called again for what is recorded, so only events that still hold are
// kept: no failures, nothing that followed from them, and nothing that was cancelled. A step that was undone is kept
// together with its undoing, so that the graph begins it again.
import { PawlError } from '../../base/errors.ts'
import type { Instant } from '../../base/time.ts'
import type { Payload } from '../../base/value.ts'
import type { Event, HistoryEvent } from '../../kernel/event.ts'
import { RunState } from '../../kernel/run.ts'
import {
  assembled,
  completedBy,
  isGiven,
  isOfTheCode,
  keyIn,
  type NewGeneration,
  namesIn,
  openIn,
  type Rewind,
  refuseUnknown,
  settledNow,
  upTo,
  withResult,
} from '../rewind-history.ts'
import { parseNodeKey } from './node-key.ts'

export const graphRewind: Rewind = {
  retried: (events, generation, now) => ofGraph(events, standing(events), generation, now),
  resetTo: (events, step, generation, now) => ofGraph(events, standingBefore(events, step), generation, now),
  forkedAt(events, step, { results, dropped }, generation, now) {
    const kept = forkedGraph(events, step, results).filter((event) => keyIn(event) !== dropped)
    return ofGraph(events, kept, generation, now, true)
  },
}

function ofGraph(
  events: readonly HistoryEvent[],
  kept: readonly HistoryEvent[],
  generation: NewGeneration,
  now: Instant,
  edited = false,
): Event[] {
  const again = rerunKeys(events)
  return assembled(events, kept, { generation, again, now, edited }).map(unqueued)
}

// The history also has the decisions of the graph's code; those after the step are made again.
function forkedGraph(
  events: readonly HistoryEvent[],
  step: string,
  results: ReadonlyMap<string, Payload>,
): HistoryEvent[] {
  const names = namesIn(events)
  const given = (key: string): Payload | undefined =>
    results.get(key) ?? results.get(stepIn(key) ?? '') ?? results.get(names.get(key) ?? '')
  const { kept: standing, requested, place } = standingUpTo(events, step)
  // The step may have been delayed: then its work was requested after its place.
  const known = upTo(events, Math.max(place, requested?.seq ?? 0))
  refuseUnknown(known, results, (key) => stepIn(key) ?? key)
  const value = requested && given(requested.key)
  // A step that was open or failed is kept if the fork gives its result.
  const stands = new Set(standing.map(keyIn))
  const besides = known.filter(
    (event) => isGiven(event, given) && !stands.has(keyIn(event)) && keyIn(event) !== requested?.key,
  )
  const kept = [...standing, ...besides]
  const open = new Set([...openIn(standing), ...besides.flatMap((event) => keyIn(event) ?? [])])
  const past = [...settledNow(kept, open, given), ...(value ? [requested] : [])]
  if (value) past.push(...completedBy(requested, given, requested.seq + 0.5))
  // A step whose result the fork gives does not run again, even if it was undone.
  const isRedone = (event: HistoryEvent): boolean => isUndo(event) && 'key' in event && given(event.key) !== undefined
  return past.filter((event) => !isRedone(event)).map((event) => withResult(event, given))
}

type StepRequested = Extract<HistoryEvent, { type: 'StepStarted' | 'ChildStarted' }>

/**
 * True for the history of a graph. Also true for a machine that has not begun, for which the choice does not matter.
 */
export function isOfGraph(events: readonly Event[]): boolean {
  return events.some(({ type }) => type === 'DefinitionTaken') && !events.some(({ type }) => type === 'StateMoved')
}

/** The same as `standing`, without a step and everything that began after it. */
function standingBefore(events: readonly HistoryEvent[], step: string): HistoryEvent[] {
  const place = placeOf(events, step)
  const late = new Set(events.flatMap((event) => (event.seq >= place ? nameIn(event) : [])))
  return standing(events).filter((event) => isUndo(event) || !nameIn(event).some((name) => late.has(name)))
}

/** The same for a fork, which gets no later messages; and the request of the step, unless the step has a list. */
function standingUpTo(
  events: readonly HistoryEvent[],
  step: string,
): {
  readonly kept: HistoryEvent[]
  readonly requested: StepRequested | undefined
  readonly place: number
} {
  const place = placeOf(events, step)
  const [name] = events.flatMap((event) => (event.seq === place ? nameIn(event) : []))
  const kept = standingBefore(events, step).filter(
    ({ type, seq }) => seq < place || (type !== 'SignalReceived' && type !== 'UpdateReceived'),
  )
  const requested = events.find(
    (event): event is StepRequested =>
      (event.type === 'StepStarted' || event.type === 'ChildStarted') &&
      !isUndo(event) &&
      parseNodeKey(event.key)?.index === undefined &&
      stepIn(event.key) === name,
  )
  return { kept, requested, place }
}

/** The events that a graph which failed or was cancelled continues with. */
function standing(events: readonly HistoryEvent[]): HistoryEvent[] {
  const failing = failingSince(events)
  const removed = new Set<string>()
  for (const event of events) {
    if (event.type === 'CalledOff') for (const key of event.keys) removed.add(key)
    if ('key' in event && (isFailure(event) || (event.seq > failing && isBegun(event) && !isUndo(event))))
      removed.add(event.key)
  }
  for (const key of openBefore(events, failing)) if (!isSettled(events, key)) removed.add(key)
  return events.filter((event) => {
    if (!isKept(event)) return false
    if (!('key' in event)) return true
    return !removed.has(event.key) && (event.seq <= failing || isUndo(event) || !isBegun(event))
  })
}

/**
 * Keys of steps that ran after the run began to fail: if they run again, it is for another reason, under another key.
 */
function rerunKeys(events: readonly HistoryEvent[]): Set<string> {
  const failing = failingSince(events)
  const done = events.filter((event) => event.seq > failing && isBegun(event) && !isUndo(event))
  const [first] = events
  const before = first?.type === 'GenerationBegan' ? (first.again ?? []) : []
  return new Set([...before, ...done.flatMap((event) => ('key' in event ? [event.key] : []))])
}

/** The new generation begins open steps again, so no task of them is left in a queue. */
function unqueued(event: Event): Event {
  if (event.type !== 'StepStarted') return event
  const { queued: _, startBy: __, ...rest } = event
  return rest
}

function placeOf(events: readonly HistoryEvent[], step: string): number {
  const names = new Set<string>()
  for (const event of events) {
    if (!isBegun(event) || isUndo(event)) continue
    const [name = ''] = nameIn(event)
    if (name === step || ('key' in event && event.key === step)) return event.seq
    names.add(name)
  }
  const known = [...names].slice(0, 20).join(', ') || 'none'
  const message = `no step '${step}' was begun; these were: ${known}. Give the name or key of one of them.`
  throw new PawlError('INPUT_INVALID', message)
}

/** The seq of the event with which the run began to fail, or was cancelled. */
function failingSince(events: readonly HistoryEvent[]): number {
  const first = events.find((event) => event.type === 'CancelRequested' || (isFailure(event) && !isUndo(event)))
  return first?.seq ?? Number.POSITIVE_INFINITY
}

function isFailure({ type }: HistoryEvent): boolean {
  return type === 'StepFailed' || type === 'ChildFailed' || type === 'StepRefused'
}

const BEGUN = new Set(['StepStarted', 'ChildStarted', 'WaitStarted', 'TimerStarted', 'StepSkipped', 'ListTaken'])

function isBegun({ type }: HistoryEvent): boolean {
  return BEGUN.has(type)
}

/** The name of the graph step that has this key. */
function stepIn(key: string): string | undefined {
  return parseNodeKey(key)?.name
}

function isUndo(event: HistoryEvent): boolean {
  return 'key' in event && parseNodeKey(event.key)?.kind === 'undo'
}

function nameIn(event: HistoryEvent): string[] {
  const name = 'key' in event ? stepIn(event.key) : undefined
  return name === undefined ? [] : [name]
}

function openBefore(events: readonly HistoryEvent[], place: number): Iterable<string> {
  return RunState.of(events.filter(({ seq, type }) => seq < place && !type.startsWith('Run'))).open.keys()
}

function isSettled(events: readonly HistoryEvent[], key: string): boolean {
  return events.some((event) => 'key' in event && event.key === key && SETTLED.has(event.type))
}

const SETTLED = new Set(['StepCompleted', 'ChildCompleted', 'TimerFired'])

// The new generation begins open steps again, so nothing of them is queued or cancelled.
function isKept(event: HistoryEvent): boolean {
  return isOfTheCode(event) && event.type !== 'CalledOff' && event.type !== 'StepQueued'
}
