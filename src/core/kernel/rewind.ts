// Going back in a history: what a run begins with when it is tried again, reset to a step, or forked. Nothing that was
// settled is done again unless that is what is wanted: what was only asked for is asked for again, and the rest is kept.
//
//   events     1 asked a   2 a done   3 asked b   4 asked c   5 b failed   6 c done   7 the run failed by b
//   retried    began(again: b)   asked a   a done   asked c   c done        so b runs, and a and c do not
//   reset to b began             asked a   a done                           so b and c run
import { PawlError } from '../base/errors.ts'
import type { Failure } from '../base/failure.ts'
import type { Instant } from '../base/instant.ts'
import type { Payload } from '../base/value.ts'
import type { Event, HistoryEvent, Passage, Requested } from './event.ts'
import { SHIELD } from './key.ts'
import {
  doneSince,
  isOfGraph,
  isUndo,
  standing,
  standingBefore,
  standingUpTo,
  stepIn,
  unqueued,
} from './rewind-decided.ts'
import { RunState } from './run.ts'

type Began = Extract<Passage, { type: 'GenerationBegan' }>
/** What is known of a new beginning, besides what follows from its past. */
export type Begins = Omit<Began, 'type' | 'again' | 'looseFrom' | 'beganAt' | 'messageIds'>

/** Everything that was settled, but for the failure the run ended with. */
export function retried(events: readonly HistoryEvent[], begins: Begins, now: Instant): Event[] {
  if (isOfGraph(events)) return ofGraph(events, standing(events), begins, now)
  refuseUndone(events)
  const failed = failureOf(events)
  const past = withoutLastMove(events).filter(isOfTheCode)
  const again = new Set([...openIn(past), ...stoppedIn(events, keysIn(past))])
  if (failed) again.add(failed.key)
  // What the code did about its failure, or its cancellation, it may not come to this time.
  const cancelled = events.find(({ type }) => type === 'CancelRequested')
  const turned = Math.min(failed?.seq ?? Infinity, cancelled?.seq ?? Infinity)
  return assembled(events, without(past, again), { begins, again, turned, now })
}

/** What was asked for before a step was, with all that came of it, and every message. */
export function resetTo(
  events: readonly HistoryEvent[],
  step: string,
  begins: Begins,
  now: Instant,
): Event[] {
  if (isOfGraph(events)) return ofGraph(events, standingBefore(events, step), begins, now)
  const past = beforeStep(events, placeOf(events, step))
  const again = new Set([...openIn(past), ...stoppedIn(events, keysIn(past))])
  return assembled(events, without(past, again), { begins, again, now })
}

/** The past up to a step. Results, by the key or name of a step, are in place of those it had. */
export function forkedAt(
  events: readonly HistoryEvent[],
  step: string,
  { results, dropped }: { results: ReadonlyMap<string, Payload>; dropped?: string },
  begins: Begins,
  now: Instant,
): Event[] {
  if (isOfGraph(events)) {
    const kept = forkedGraph(events, step, results).filter((event) => keyIn(event) !== dropped)
    return ofGraph(events, kept, begins, now, true)
  }
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
  const reborn = dropped !== undefined
  return assembled(events, all, { begins, again, now, edited: true, reborn })
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
  refuseUnknown(known, results)
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

// What the code did stands in its history, and does not stand any more outside.
function refuseUndone(events: readonly HistoryEvent[]): void {
  const undone = events.find(({ type }) => type === 'CompensationBegan')
  if (!undone || !('key' in undone)) return
  const saga = undone.key.slice(0, undone.key.indexOf(SHIELD))
  const first = events.find((event) => isAsked(event) && event.key.startsWith(saga))
  const step = first && 'key' in first ? first.key : 'a step before the saga'
  throw new PawlError(
    'NOT_SUPPORTED',
    `this run's saga has already compensated its steps, so retrying would skip undone work. Reset it to its first step instead: '${step}'.`,
  )
}

interface Assembly {
  readonly begins: Begins
  readonly again: ReadonlySet<string>
  readonly now: Instant
  /** From here on the code went a way it may not go again. */
  readonly turned?: number
  /** Whether steps may have been recorded with other inputs than the code will give them. */
  readonly edited?: boolean
  /** Whether it has another input, so that even its start is to be decided anew. */
  readonly reborn?: boolean
}

// Numbers what is kept anew. Times stay, so time begins with the first of them.
function assembled(
  all: readonly HistoryEvent[],
  kept: readonly HistoryEvent[],
  { begins, again, now, turned = Infinity, edited = false, reborn = false }: Assembly,
): Event[] {
  const stand = reborn ? 0 : movesStandUntil(all, kept)
  const left = kept.filter((event) => event.type !== 'StateMoved' || event.by < stand)
  const sorted = left.toSorted((a, b) => a.seq - b.seq)
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

// A machine's move answers one event. It stands as long as that, and all before it, is as it was, and as long as nothing
// that such a move asked for is to be asked for again; from there on the events are answered anew.
function movesStandUntil(all: readonly HistoryEvent[], kept: readonly HistoryEvent[]): number {
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
function withoutLastMove(events: readonly HistoryEvent[]): readonly HistoryEvent[] {
  if (events.at(-1)?.type !== 'RunFailed') return events
  const last = events.findLastIndex(({ type }) => type === 'StateMoved')
  return last < 0 ? events : events.toSpliced(last, 1)
}

/** Where a step was asked for. A name must be that of one step only. */
function placeOf(events: readonly HistoryEvent[], step: string): number {
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

type Asked = Requested & { readonly seq: number; readonly at: Instant }

function isAsked(event: HistoryEvent): event is Asked & HistoryEvent {
  return event.type.endsWith('Started') && 'key' in event
}

function keyIn(event: HistoryEvent): string | undefined {
  return 'key' in event ? event.key : undefined
}

function isMessage({ type }: HistoryEvent): boolean {
  return type === 'SignalReceived' || type === 'UpdateReceived'
}

function nameOf(event: Requested): string {
  return 'name' in event ? event.name : 'sleep'
}

function namesIn(events: readonly HistoryEvent[]): ReadonlyMap<string, string> {
  return new Map(events.filter(isAsked).map((event) => [event.key, nameOf(event)]))
}

// What people did to the run, and its ends, are not part of what its code did.
function isOfTheCode({ type }: HistoryEvent): boolean {
  switch (type) {
    case 'CancelRequested':
    case 'PauseRequested':
    case 'ResumeRequested':
    case 'CompensationBegan':
    case 'CompensationEnded':
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

// What was asked for before an event, what came of it whenever that was, and all that nobody asked for.
function beforeStep(events: readonly HistoryEvent[], place: number): HistoryEvent[] {
  const late = new Set(
    events.flatMap((event) => ('after' in event && event.seq >= place ? [event.key] : [])),
  )
  return events
    .filter((event) => isOfTheCode(event) && !('key' in event && late.has(event.key)))
    .map((event) => (event.type === 'CalledOff' ? withoutKeys(event, late) : event))
}

function openIn(events: readonly HistoryEvent[]): Set<string> {
  return new Set(RunState.of(events).open.keys())
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

function without(events: readonly HistoryEvent[], keys: ReadonlySet<string>): HistoryEvent[] {
  return events
    .filter((event) => !('key' in event && keys.has(event.key) && event.type !== 'TokenMade'))
    .map((event) => (event.type === 'CalledOff' ? withoutKeys(event, keys) : event))
}

function withoutKeys<E extends Extract<HistoryEvent, { type: 'CalledOff' }>>(
  event: E,
  keys: ReadonlySet<string>,
): E {
  const left = (each: readonly string[]): string[] => each.filter((key) => !keys.has(key))
  return { ...event, keys: left(event.keys), ...(event.met && { met: left(event.met) }) }
}

function withResult(
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
function completedBy(
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
function settledNow(
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

function isGiven(event: HistoryEvent, given: (key: string) => Payload | undefined): boolean {
  return completedBy(event, given, 0).length > 0
}

const TRIED: ReadonlySet<string> = new Set(['StepRetried', 'StepQueued', 'StepBegun'])

function upTo(events: readonly HistoryEvent[], place: number): HistoryEvent[] {
  return events.filter(({ seq }) => seq <= place)
}

// A result that no step has would be lost without a word.
function refuseUnknown(
  events: readonly HistoryEvent[],
  results: ReadonlyMap<string, Payload>,
): void {
  const asked = events.filter(
    (event) => event.type === 'StepStarted' || event.type === 'ChildStarted',
  )
  const known = new Set(asked.flatMap((event) => [event.key, event.name, stepIn(event.key) ?? '']))
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
