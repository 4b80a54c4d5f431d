// Going back in a history: the part of it a run begins with when it is tried again, reset, or forked. Kept is what was
// settled before the place it goes back to; what was only asked for is asked for again.
import { PawlError } from './errors.ts'
import type { Event, EventBody, HistoryEvent, Instant, Passage, Requested } from './event.ts'
import { RunState } from './run.ts'
import type { Payload } from './value.ts'

type Began = Extract<Passage, { type: 'GenerationBegan' }>

export interface Rewind {
  readonly began: Omit<Began, 'type'>
  /** Events from this one on are gone. */
  readonly cut: number
  /** Results by the name or key of a step, in place of those it had. */
  readonly results?: Readonly<Record<string, Payload>>
  /** Whether steps may have been recorded with other inputs than the code will give them. */
  readonly edited: boolean
  /** The key of a step that is forgotten, wherever it was. */
  readonly without?: string
}

/** The events of a new beginning. Those that are kept keep their times, so time begins with the first of them. */
export function rewound(events: readonly HistoryEvent[], rewind: Rewind, now: Instant): Event[] {
  const { cut, without } = rewind
  const before = events.filter(
    (event) => event.seq < cut && isOfTheCode(event) && !('key' in event && event.key === without),
  )
  const open = openAfter(before)
  const settled = before.filter((event) => !('key' in event && open.has(event.key)))
  const step = events.find((event) => event.seq === cut)
  const kept = [
    ...settled.map((event) => overridden(event, events, rewind)),
    ...given(step, rewind),
  ]
  const place = new Map(kept.map((event, index) => [event.seq, index + 2]))
  const begins = kept[0]?.at ?? now
  const began: Event = { type: 'GenerationBegan', ...rewind.began, beganAt: now, at: begins }
  return [began, ...kept.map((event) => placed(event, place, rewind.edited))]
}

/** Where the failure a run ended with came from: its last step or child that was given up on; else its end. */
export function cutOfFailure(events: readonly HistoryEvent[]): number {
  const failed = events.findLast(({ type }) => type === 'StepFailed' || type === 'ChildFailed')
  return failed?.seq ?? Number.POSITIVE_INFINITY
}

/** Where a step was asked for. A name must be that of one step only. */
export function cutOfStep(events: readonly HistoryEvent[], step: string): number {
  const asked = events.filter(isAsked)
  const found = asked.filter((event) => event.key === step)
  const named = found.length > 0 ? found : asked.filter((event) => nameOf(event) === step)
  const [only, another] = named
  if (only && !another) return only.seq
  const keys = (named.length > 0 ? named : asked).map(({ key }) => key)
  const problem = only ? `'${step}' is the name of several steps` : `there is no step '${step}'`
  const message = `${problem}. Give the key of one of these: ${keys.slice(0, 20).join(', ') || 'none'}.`
  throw new PawlError('INPUT_INVALID', message)
}

type Asked = Requested & { readonly seq: number; readonly at: Instant }

function isAsked(event: HistoryEvent): event is Asked & HistoryEvent {
  return event.type.endsWith('Started') && 'key' in event
}

function nameOf(event: Requested): string {
  return 'name' in event ? event.name : 'sleep'
}

// What people did to the run, and its ends, are not part of what its code did.
function isOfTheCode({ type }: EventBody): boolean {
  switch (type) {
    case 'CancelRequested':
    case 'PauseRequested':
    case 'ResumeRequested':
    case 'GenerationBegan':
    case 'RunContinued':
    case 'RunCompleted':
    case 'RunFailed':
    case 'RunCancelled':
      return false
    default:
      return true
  }
}

function openAfter(events: readonly HistoryEvent[]): ReadonlySet<string> {
  return new Set(RunState.of(events).open.keys())
}

function overridden(
  event: HistoryEvent,
  all: readonly HistoryEvent[],
  { results = {} }: Rewind,
): HistoryEvent {
  if (event.type !== 'StepCompleted' && event.type !== 'StepFailed') return event
  const { key, attempt, at, seq } = event
  const name = all.filter(isAsked).find((asked) => asked.key === key)
  const value = results[key] ?? (name && results[nameOf(name)])
  return value ? { type: 'StepCompleted', key, attempt, value, at, seq } : event
}

// The step that is gone back to need not be run if its result is given.
function given(step: HistoryEvent | undefined, { results = {} }: Rewind): HistoryEvent[] {
  if (step?.type !== 'StepStarted') return []
  const { key, at, seq } = step
  const value = results[key] ?? results[step.name]
  if (!value) return []
  return [step, { type: 'StepCompleted', key, attempt: 1, value, at, seq: seq + 0.5 }]
}

// `after` names the event that had last been delivered; it has another number now, or is gone.
function placed(event: HistoryEvent, place: ReadonlyMap<number, number>, edited: boolean): Event {
  const { seq: _, ...body } = event
  if (!('after' in body)) return body
  let after = 0
  for (const [old, now] of place) if (old <= body.after) after = Math.max(after, now)
  if (!edited || !('digest' in body)) return { ...body, after }
  const { digest: __, ...rest } = body
  return { ...rest, after }
}
