// Rewinding a history: what all styles share. The events that are kept are renumbered behind a `GenerationBegan`. Open
// requests are made again, and settled ones keep their results.
import { PawlError } from '../base/errors.ts'
import type { Instant } from '../base/time.ts'
import type { Payload } from '../base/value.ts'
import { type Event, type GenerationEvent, type HistoryEvent, hasTrait, type Requested } from '../kernel/event.ts'
import { RunState } from '../kernel/run.ts'

type Began = Extract<GenerationEvent, { type: 'GenerationBegan' }>
/** What the caller knows of the new generation; the rest follows from the events that are kept. */
export type NewGeneration = Omit<Began, 'type' | 'again' | 'looseFrom' | 'beganAt' | 'messageIds'>

/** How a style rewinds its histories. */
export interface Rewind {
  retried(events: readonly HistoryEvent[], generation: NewGeneration, now: Instant): Event[]
  resetTo(events: readonly HistoryEvent[], step: string, generation: NewGeneration, now: Instant): Event[]
  forkedAt(
    events: readonly HistoryEvent[],
    step: string,
    change: { readonly results: ReadonlyMap<string, Payload>; readonly dropped?: string },
    generation: NewGeneration,
    now: Instant,
  ): Event[]
}

export interface Assembly {
  readonly generation: NewGeneration
  readonly again: ReadonlySet<string>
  readonly now: Instant
  /** The event with which the run began to fail: the code need not take the path after it again. */
  readonly failing?: number
  /** True if the code may give steps other inputs than were recorded. */
  readonly edited?: boolean
}

// Renumbers the events that are kept. Their times stay, so the generation begins at the time of the first one.
export function assembled(
  all: readonly HistoryEvent[],
  kept: readonly HistoryEvent[],
  { generation, again, now, failing = Infinity, edited = false }: Assembly,
): Event[] {
  const sorted = kept.toSorted((a, b) => a.seq - b.seq)
  const seqs = sorted.map(({ seq }) => seq)
  const loose = seqs.findIndex((seq) => seq > failing)
  const messageIds = knownBefore(all)
  const began: Event = {
    type: 'GenerationBegan',
    ...generation,
    ...(messageIds.length > 0 && { messageIds }),
    ...(again.size > 0 && { again: [...again] }),
    ...(loose >= 0 && { looseFrom: loose + 2 }),
    beganAt: now,
    at: sorted[0]?.at ?? now,
  }
  const events = [began, ...sorted.map((event) => placed(event, seqs, edited))]
  refuseImpossible(events)
  return events
}

type RequestEvent = Requested & HistoryEvent

export function isRequested(event: HistoryEvent): event is RequestEvent {
  return event.type.endsWith('Started') && 'key' in event
}

export function keyIn(event: HistoryEvent): string | undefined {
  return 'key' in event ? event.key : undefined
}

export function isMessage({ type }: HistoryEvent): boolean {
  return type === 'SignalReceived' || type === 'UpdateReceived'
}

export function nameOf(event: Requested): string {
  return 'name' in event ? event.name : 'sleep'
}

export function namesIn(events: readonly HistoryEvent[]): ReadonlyMap<string, string> {
  return new Map(events.filter(isRequested).map((event) => [event.key, nameOf(event)]))
}

export function openIn(events: readonly HistoryEvent[]): Set<string> {
  return new Set(RunState.of(events).open.keys())
}

export function without(events: readonly HistoryEvent[], keys: ReadonlySet<string>): HistoryEvent[] {
  return events
    .filter((event) => !('key' in event && keys.has(event.key) && event.type !== 'TokenMade'))
    .map((event) => (event.type === 'CalledOff' ? withoutKeys(event, keys) : event))
}

export function withoutKeys<E extends Extract<HistoryEvent, { type: 'CalledOff' }>>(
  event: E,
  keys: ReadonlySet<string>,
): E {
  const left = (each: readonly string[]): string[] => each.filter((key) => !keys.has(key))
  return { ...event, keys: left(event.keys), ...(event.met && { met: left(event.met) }) }
}

export function withResult(event: HistoryEvent, given: (key: string) => Payload | undefined): HistoryEvent {
  const value = 'key' in event ? given(event.key) : undefined
  if (!value) return event
  switch (event.type) {
    case 'StepCompleted':
    case 'StepFailed': {
      const { key, attempt, at, seq } = event
      return { type: 'StepCompleted', key, attempt, value, at, seq }
    }
    case 'ChildCompleted':
    case 'ChildFailed': {
      const { key, at, seq } = event
      return { type: 'ChildCompleted', key, value, at, seq }
    }
    default:
      return event
  }
}

/** The event that completes a requested step or child, if its result is given. */
export function completedBy(
  event: HistoryEvent,
  given: (key: string) => Payload | undefined,
  seq: number,
  at = event.at,
): HistoryEvent[] {
  if (event.type !== 'StepStarted' && event.type !== 'ChildStarted') return []
  const { key } = event
  const value = given(key)
  if (!value) return []
  return [
    event.type === 'StepStarted'
      ? { type: 'StepCompleted', attempt: 1, key, value, at, seq }
      : { type: 'ChildCompleted', key, value, at, seq },
  ]
}

/**
 * Completes open requests whose results are given. Their results come last, because everything else happened without
 * them. Events of their attempts are dropped.
 */
export function settledNow(
  events: readonly HistoryEvent[],
  open: ReadonlySet<string>,
  given: (key: string) => Payload | undefined,
): HistoryEvent[] {
  const isSettled = (key: string | undefined): boolean => key !== undefined && open.has(key) && given(key) !== undefined
  const kept = events.filter((event) => !(ATTEMPTED.has(event.type) && isSettled(keyIn(event))))
  const last = events.reduce((latest, { seq }) => Math.max(latest, seq), 0)
  const at = events.reduce((latest, event) => Math.max(latest, event.at), 0)
  const settled = kept
    .filter((event) => isSettled(keyIn(event)))
    .flatMap((event, index) => completedBy(event, given, last + (index + 1) / 1_000_000, at))
  return [...kept, ...settled]
}

const ATTEMPTED: ReadonlySet<string> = new Set(['StepRetried', 'StepQueued', 'StepBegun'])

export function isGiven(event: HistoryEvent, given: (key: string) => Payload | undefined): boolean {
  return completedBy(event, given, 0).length > 0
}

export function upTo(events: readonly HistoryEvent[], place: number): HistoryEvent[] {
  return events.filter(({ seq }) => seq <= place)
}

// A result for a step that does not exist would be dropped silently, so it is refused.
export function refuseUnknown(
  events: readonly HistoryEvent[],
  results: ReadonlyMap<string, Payload>,
  otherName: (key: string) => string = (key) => key,
): void {
  const requested = events.filter((event) => event.type === 'StepStarted' || event.type === 'ChildStarted')
  const known = new Set(requested.flatMap((event) => [event.key, event.name, otherName(event.key)]))
  const unknown = [...results.keys()].find((step) => !known.has(step))
  if (unknown === undefined) return
  const keys = requested.slice(0, 20).map(({ key }) => key)
  const message = `the run has no step or child '${unknown}' up to that place, so its result would be lost. Give the name or key of one it has: ${keys.join(', ') || 'none'}.`
  throw new PawlError('INPUT_INVALID', message)
}

function knownBefore([first]: readonly HistoryEvent[]): readonly string[] {
  return first?.type === 'GenerationBegan' ? (first.messageIds ?? []) : []
}

// `after` and `by` refer to events, which now have other numbers or were removed.
function placed(event: HistoryEvent, seqs: readonly number[], edited: boolean): Event {
  const { seq: _, ...body } = event
  if (body.type === 'StateMoved') return { ...body, by: placeNow(seqs, body.by) }
  if (!('after' in body)) return body
  const after = placeNow(seqs, body.after)
  if (!edited || !('digest' in body)) return { ...body, after }
  const { digest: __, ...rest } = body
  return { ...rest, after }
}

// The new number of the last event that is kept, up to this one. `GenerationBegan` comes before all of them.
function placeNow(seqs: readonly number[], old: number): number {
  const left = firstAbove(seqs, old)
  return left === 0 ? 0 : left + 1
}

/** How many of these sorted numbers are at most `than`. */
function firstAbove(sorted: readonly number[], than: number): number {
  let low = 0
  for (let high = sorted.length; low < high; ) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? Infinity) <= than) low = middle + 1
    else high = middle
  }
  return low
}

function refuseImpossible(events: readonly Event[]): void {
  try {
    RunState.of(events)
  } catch (error) {
    const message = `this run cannot be rewound to that place: ${String(error)}. Reset or fork it at another step.`
    throw new PawlError('NOT_SUPPORTED', message)
  }
}

/** False for events that belong to their generation only: a rewind drops them. */
export function isOfTheCode(event: HistoryEvent): boolean {
  return !hasTrait(event, 'passing')
}
