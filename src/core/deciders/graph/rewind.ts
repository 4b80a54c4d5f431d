// Going back in the history of a graph. Its code is not asked again for what is recorded, so what is kept is what still
// stands: not what failed, not what followed from that, and not what was let go. What was undone is kept with its undoing:
// the graph begins it anew.
import { PawlError } from '../../base/errors.ts'
import type { Instant } from '../../base/instant.ts'
import type { Payload } from '../../base/value.ts'
import type { Event, HistoryEvent } from '../../kernel/event.ts'
import { RunState } from '../../kernel/run.ts'
import {
  assembled,
  type Begins,
  completedBy,
  isGiven,
  isOfTheCode,
  keyIn,
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
  retried: (events, begins, now) => ofGraph(events, standing(events), begins, now),
  resetTo: (events, step, begins, now) =>
    ofGraph(events, standingBefore(events, step), begins, now),
  forkedAt(events, step, { results, dropped }, begins, now) {
    const kept = forkedGraph(events, step, results).filter((event) => keyIn(event) !== dropped)
    return ofGraph(events, kept, begins, now, true)
  },
}

function ofGraph(
  events: readonly HistoryEvent[],
  kept: readonly HistoryEvent[],
  begins: Begins,
  now: Instant,
  edited = false,
): Event[] {
  return assembled(events, kept, { begins, again: doneSince(events), now, edited }).map(unqueued)
}

// Of a graph what its code decided is recorded, too; what it decided after the step, it decides anew.
function forkedGraph(
  events: readonly HistoryEvent[],
  step: string,
  results: ReadonlyMap<string, Payload>,
): HistoryEvent[] {
  const names = namesIn(events)
  const given = (key: string): Payload | undefined =>
    results.get(key) ?? results.get(stepIn(key) ?? '') ?? results.get(names.get(key) ?? '')
  const { kept: standing, asked, place } = standingUpTo(events, step)
  // A step may wait before it is begun.
  const known = upTo(events, Math.max(place, asked?.seq ?? 0))
  refuseUnknown(known, results, (key) => stepIn(key) ?? key)
  const value = asked && given(asked.key)
  // What does not stand, because it was open or has failed, does if somebody says what it gives.
  const stands = new Set(standing.map(keyIn))
  const besides = known.filter(
    (event) => isGiven(event, given) && !stands.has(keyIn(event)) && keyIn(event) !== asked?.key,
  )
  const kept = [...standing, ...besides]
  const open = new Set([...openIn(standing), ...besides.flatMap((event) => keyIn(event) ?? [])])
  const past = [...settledNow(kept, open, given), ...(value ? [asked] : [])]
  if (value) past.push(...completedBy(asked, given, asked.seq + 0.5))
  // What somebody has said the result of is not done again for having been undone.
  const isRedone = (event: HistoryEvent): boolean =>
    isUndo(event) && 'key' in event && given(event.key) !== undefined
  return past.filter((event) => !isRedone(event)).map((event) => withResult(event, given))
}

type StepAsked = Extract<HistoryEvent, { type: 'StepStarted' | 'ChildStarted' }>

/** Whether it is the history of a graph, or of a machine that has not begun: for that it makes no difference. */
export function isOfGraph(events: readonly HistoryEvent[]): boolean {
  return (
    events.some(({ type }) => type === 'DefinitionTaken') &&
    !events.some(({ type }) => type === 'StateMoved')
  )
}

/** The same as `standing`, but for a step and everything that was begun after it. */
function standingBefore(events: readonly HistoryEvent[], step: string): HistoryEvent[] {
  const place = placeOf(events, step)
  const late = new Set(events.flatMap((event) => (event.seq >= place ? nameIn(event) : [])))
  return standing(events).filter(
    (event) => isUndo(event) || !nameIn(event).some((name) => late.has(name)),
  )
}

/** The same for another run, which was told nothing after that; and how the step was asked for, if it is done once. */
function standingUpTo(
  events: readonly HistoryEvent[],
  step: string,
): {
  readonly kept: HistoryEvent[]
  readonly asked: StepAsked | undefined
  readonly place: number
} {
  const place = placeOf(events, step)
  const [name] = events.flatMap((event) => (event.seq === place ? nameIn(event) : []))
  const kept = standingBefore(events, step).filter(
    ({ type, seq }) => seq < place || (type !== 'SignalReceived' && type !== 'UpdateReceived'),
  )
  const asked = events.find(
    (event): event is StepAsked =>
      (event.type === 'StepStarted' || event.type === 'ChildStarted') &&
      !isUndo(event) &&
      parseNodeKey(event.key)?.index === undefined &&
      stepIn(event.key) === name,
  )
  return { kept, asked, place }
}

/** What a graph that failed, or was cancelled, goes on with. */
function standing(events: readonly HistoryEvent[]): HistoryEvent[] {
  const turned = events.find(isTurn)?.seq ?? Number.POSITIVE_INFINITY
  const gone = new Set<string>()
  for (const event of events) {
    if (event.type === 'CalledOff') for (const key of event.keys) gone.add(key)
    if (
      'key' in event &&
      (isFailure(event) || (event.seq > turned && isBegun(event) && !isUndo(event)))
    )
      gone.add(event.key)
  }
  for (const key of openBefore(events, turned)) if (!isSettled(events, key)) gone.add(key)
  return events.filter((event) => {
    if (!isKept(event)) return false
    if (!('key' in event)) return true
    return !gone.has(event.key) && (event.seq <= turned || isUndo(event) || !isBegun(event))
  })
}

/** Keys of steps that were done after the run had begun to go wrong: if they are done again, it is for something else. */
function doneSince(events: readonly HistoryEvent[]): Set<string> {
  const turned = events.find(isTurn)?.seq ?? Number.POSITIVE_INFINITY
  const done = events.filter((event) => event.seq > turned && isBegun(event) && !isUndo(event))
  const [first] = events
  const before = first?.type === 'GenerationBegan' ? (first.again ?? []) : []
  return new Set([...before, ...done.flatMap((event) => ('key' in event ? [event.key] : []))])
}

/** A step that stays open is begun by whoever goes on; nothing is left of it in a queue. */
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
  throw new PawlError('INPUT_INVALID', `no step '${step}' was begun; those that were: ${known}.`)
}

/** Where the run began to go wrong. */
function isTurn(event: HistoryEvent): boolean {
  return event.type === 'CancelRequested' || (isFailure(event) && !isUndo(event))
}

function isFailure({ type }: HistoryEvent): boolean {
  return type === 'StepFailed' || type === 'ChildFailed' || type === 'StepRefused'
}

const BEGUN = new Set([
  'StepStarted',
  'ChildStarted',
  'WaitStarted',
  'TimerStarted',
  'StepSkipped',
  'ListTaken',
])

function isBegun({ type }: HistoryEvent): boolean {
  return BEGUN.has(type)
}

/** The name of the step that has this key in a graph. */
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

function openBefore(events: readonly HistoryEvent[], turned: number): Iterable<string> {
  return RunState.of(
    events.filter(({ seq, type }) => seq < turned && !type.startsWith('Run')),
  ).open.keys()
}

function isSettled(events: readonly HistoryEvent[], key: string): boolean {
  return events.some((event) => 'key' in event && event.key === key && SETTLED.has(event.type))
}

const SETTLED = new Set(['StepCompleted', 'ChildCompleted', 'TimerFired'])

// Whoever goes on begins what is open anew, so nothing is left of it in a queue, and nothing to cancel.
function isKept(event: HistoryEvent): boolean {
  return isOfTheCode(event) && event.type !== 'CalledOff' && event.type !== 'StepQueued'
}
