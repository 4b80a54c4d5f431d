// Going back in a history: what every style needs. What is kept of a history is renumbered behind a `GenerationBegan`;
// requests that were made and not settled are made again, and settled ones keep their results.
import { PawlError } from '../base/errors.ts'
import type { Instant } from '../base/instant.ts'
import type { Payload } from '../base/value.ts'
import {
  type Event,
  type HistoryEvent,
  hasTrait,
  type Passage,
  type Requested,
} from '../kernel/event.ts'
import { RunState } from '../kernel/run.ts'

type Began = Extract<Passage, { type: 'GenerationBegan' }>
/** What is known of a new beginning, besides what follows from its past. */
export type Begins = Omit<Began, 'type' | 'again' | 'looseFrom' | 'beganAt' | 'messageIds'>

/** How a style goes back in its histories. */
export interface Rewind {
  retried(events: readonly HistoryEvent[], begins: Begins, now: Instant): Event[]
  resetTo(events: readonly HistoryEvent[], step: string, begins: Begins, now: Instant): Event[]
  forkedAt(
    events: readonly HistoryEvent[],
    step: string,
    change: { readonly results: ReadonlyMap<string, Payload>; readonly dropped?: string },
    begins: Begins,
    now: Instant,
  ): Event[]
}

export interface Assembly {
  readonly begins: Begins
  readonly again: ReadonlySet<string>
  readonly now: Instant
  /** From here on the code went a way it may not go again. */
  readonly turned?: number
  /** Whether steps may have been recorded with other inputs than the code will give them. */
  readonly edited?: boolean
}

// Numbers what is kept anew. Times stay, so time begins with the first of them.
export function assembled(
  all: readonly HistoryEvent[],
  kept: readonly HistoryEvent[],
  { begins, again, now, turned = Infinity, edited = false }: Assembly,
): Event[] {
  const sorted = kept.toSorted((a, b) => a.seq - b.seq)
  const seqs = sorted.map(({ seq }) => seq)
  const loose = seqs.findIndex((seq) => seq > turned)
  const messageIds = knownBefore(all)
  const began: Event = {
    type: 'GenerationBegan',
    ...begins,
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

type Asked = Requested & { readonly seq: number; readonly at: Instant }

export function isRequested(event: HistoryEvent): event is Asked & HistoryEvent {
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

export function without(
  events: readonly HistoryEvent[],
  keys: ReadonlySet<string>,
): HistoryEvent[] {
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

export function withResult(
  event: HistoryEvent,
  given: (key: string) => Payload | undefined,
): HistoryEvent {
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

/** What comes of a step or child that was asked for, if somebody says what it gives. */
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
 * What was open, and has a result now, has it behind everything else: that went its way without it. What had been tried is
 * forgotten.
 */
export function settledNow(
  events: readonly HistoryEvent[],
  open: ReadonlySet<string>,
  given: (key: string) => Payload | undefined,
): HistoryEvent[] {
  const isSettled = (key: string | undefined): boolean =>
    key !== undefined && open.has(key) && given(key) !== undefined
  const kept = events.filter((event) => !(TRIED.has(event.type) && isSettled(keyIn(event))))
  const last = events.reduce((latest, { seq }) => Math.max(latest, seq), 0)
  const at = events.reduce((latest, event) => Math.max(latest, event.at), 0)
  const settled = kept
    .filter((event) => isSettled(keyIn(event)))
    .flatMap((event, index) => completedBy(event, given, last + (index + 1) / 1_000_000, at))
  return [...kept, ...settled]
}

const TRIED: ReadonlySet<string> = new Set(['StepRetried', 'StepQueued', 'StepBegun'])

export function isGiven(event: HistoryEvent, given: (key: string) => Payload | undefined): boolean {
  return completedBy(event, given, 0).length > 0
}

export function upTo(events: readonly HistoryEvent[], place: number): HistoryEvent[] {
  return events.filter(({ seq }) => seq <= place)
}

// A result that no step has would be lost without a word.
export function refuseUnknown(
  events: readonly HistoryEvent[],
  results: ReadonlyMap<string, Payload>,
  otherName: (key: string) => string = (key) => key,
): void {
  const asked = events.filter(
    (event) => event.type === 'StepStarted' || event.type === 'ChildStarted',
  )
  const known = new Set(asked.flatMap((event) => [event.key, event.name, otherName(event.key)]))
  const unknown = [...results.keys()].find((step) => !known.has(step))
  if (unknown === undefined) return
  const keys = asked.slice(0, 20).map(({ key }) => key)
  const message = `the run has no step or child '${unknown}' up to there, so its result would be lost. It has: ${keys.join(', ') || 'none'}.`
  throw new PawlError('INPUT_INVALID', message)
}

function knownBefore([first]: readonly HistoryEvent[]): readonly string[] {
  return first?.type === 'GenerationBegan' ? (first.messageIds ?? []) : []
}

// `after` and `by` name events, which have other numbers now, or are gone.
function placed(event: HistoryEvent, seqs: readonly number[], edited: boolean): Event {
  const { seq: _, ...body } = event
  if (body.type === 'StateMoved') return { ...body, by: placeNow(seqs, body.by) }
  if (!('after' in body)) return body
  const after = placeNow(seqs, body.after)
  if (!edited || !('digest' in body)) return { ...body, after }
  const { digest: __, ...rest } = body
  return { ...rest, after }
}

// Of the last event that is left, up to this one. The new beginning stands before all of them.
function placeNow(seqs: readonly number[], old: number): number {
  const left = firstAbove(seqs, old)
  return left === 0 ? 0 : left + 1
}

/** How many of these numbers, which are sorted, are not above another. */
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
    const message = `this run cannot begin again from there: ${String(error)}. Fork it from another step.`
    throw new PawlError('NOT_SUPPORTED', message)
  }
}

/** Whether an event is kept when its run goes back in history. */
export function isOfTheCode(event: HistoryEvent): boolean {
  return !hasTrait(event, 'passing')
}
