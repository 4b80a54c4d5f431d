// Going back in the history of a graph. Its code is not asked again for what is recorded, so what is kept is what still
// stands: not what failed, not what followed from that, and not what was let go. What was undone is kept with its undoing:
// the graph begins it anew.
import { PawlError } from '../base/errors.ts'
import type { Event, HistoryEvent } from './event.ts'
import { parseNodeKey } from './node-key.ts'
import { RunState } from './run.ts'

type StepAsked = Extract<HistoryEvent, { type: 'StepStarted' | 'ChildStarted' }>

/** Whether it is the history of a graph, or of a machine that has not begun: for that it makes no difference. */
export function isOfGraph(events: readonly HistoryEvent[]): boolean {
  return (
    events.some(({ type }) => type === 'DefinitionTaken') &&
    !events.some(({ type }) => type === 'StateMoved')
  )
}

/** The same as `standing`, but for a step and everything that was begun after it. */
export function standingBefore(events: readonly HistoryEvent[], step: string): HistoryEvent[] {
  const place = placeOf(events, step)
  const late = new Set(events.flatMap((event) => (event.seq >= place ? nameIn(event) : [])))
  return standing(events).filter(
    (event) => isUndo(event) || !nameIn(event).some((name) => late.has(name)),
  )
}

/** The same for another run, which was told nothing after that; and how the step was asked for, if it is done once. */
export function standingUpTo(
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
export function standing(events: readonly HistoryEvent[]): HistoryEvent[] {
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
export function doneSince(events: readonly HistoryEvent[]): Set<string> {
  const turned = events.find(isTurn)?.seq ?? Number.POSITIVE_INFINITY
  const done = events.filter((event) => event.seq > turned && isBegun(event) && !isUndo(event))
  const [first] = events
  const before = first?.type === 'GenerationBegan' ? (first.again ?? []) : []
  return new Set([...before, ...done.flatMap((event) => ('key' in event ? [event.key] : []))])
}

/** A step that stays open is begun by whoever goes on; nothing is left of it in a queue. */
export function unqueued(event: Event): Event {
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
export function stepIn(key: string): string | undefined {
  return parseNodeKey(key)?.name
}

export function isUndo(event: HistoryEvent): boolean {
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

const LEFT_BEHIND = new Set<Event['type']>([
  'CalledOff',
  'StepQueued',
  'CancelRequested',
  'CompensationBegan',
  'CompensationEnded',
  'PauseRequested',
  'ResumeRequested',
  'GenerationBegan',
  'RunContinued',
  'RunCompleted',
  'RunFailed',
  'RunCancelled',
])

function isKept({ type }: HistoryEvent): boolean {
  return !LEFT_BEHIND.has(type)
}
