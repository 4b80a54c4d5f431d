// The history of a run as users see it: a union of event types, told apart by `type`, with decoded values; and how it
// follows from stored events. Fields that only replay needs are left out. A new event type of the kernel does not
// compile until it has its fields and its translation here.

import { defined } from '../base/defined.ts'
import { digest } from '../base/digest.ts'
import type { Failure } from '../base/failure.ts'
import type { Instant } from '../base/time.ts'
import { decode, type Payload } from '../base/value.ts'
import { type AttributesChange, changesFrom } from '../definitions/attributes.ts'
import { decodePayload, decodeTurn } from '../kernel/codec.ts'
import type { Event } from '../kernel/event.ts'
import { isWebhook, shownSignal } from '../kernel/tokens.ts'
import type { RunSnapshot, StoredTurn } from '../stores/store.ts'

/** One event of a run. `type` says which fields it has, so switch over it. */
export type HistoryEvent = {
  [Type in keyof HistoryEvents]: {
    readonly type: Type
    /** The number of the event in its generation, from 1; `RunStarted` is 0. */
    readonly seq: number
    readonly at: Date
  } & HistoryEvents[Type] &
    (HistoryEvents[Type] extends OfStep ? unknown : { readonly step?: undefined })
}[keyof HistoryEvents]

/** Events of a step. */
interface OfStep {
  /** The key of the step: an activity, inline step, timer, wait or child. */
  readonly step: string
}

/** A step, and what it is called; the name is missing in histories of older releases. */
interface OfNamedStep extends OfStep {
  readonly name?: string
}

/** Events that a message caused. */
interface ByMessage {
  /** The id of the message, as `why` and `discardMessage` use it. */
  readonly messageId: string
}

/** The fields of every event, by its type. */
export interface HistoryEvents {
  /** The first event of the first generation. */
  RunStarted: { readonly name: string; readonly input: unknown }
  /** The code requested an activity, an inline step or a side effect. */
  StepStarted: OfStep & {
    readonly kind: 'activity' | 'step' | 'sideEffect'
    readonly name: string
    /** The input of an activity. */
    readonly input?: unknown
    /** True if it is a task for any worker of its queue; false if it runs on the worker that holds the run. */
    readonly queued: boolean
    /** The step fails unless it has started by then. */
    readonly startBy?: Date
    /** The step fails unless it has ended by then. */
    readonly closeBy?: Date
    /** When the step is cancelled, the code waits for its end. */
    readonly onCancel?: 'wait'
  }
  /** A queued step with a `scheduleToStart` limit has started. */
  StepBegun: OfStep
  /** The step became a task, because the worker that holds the run cannot run it. */
  StepQueued: OfNamedStep & { readonly attempt: number }
  /** An attempt failed; the next one starts at `until`. */
  StepRetried: OfNamedStep & {
    readonly attempt: number
    readonly failure: Failure
    readonly until: Date
    /** True if the attempt did not fail, but called `completeLater`: the step can be completed until then. */
    readonly leftOpen: boolean
  }
  StepCompleted: OfNamedStep & {
    readonly attempt: number
    readonly result: unknown
    /** The note of `run.resume`, if the step was completed by hand. */
    readonly byHand?: string
    /** The id of the message, if the step was completed by hand or by its token. */
    readonly messageId?: string
  }
  StepFailed: OfNamedStep & {
    readonly attempt: number
    readonly failure: Failure
    readonly reason: 'exhausted' | 'non-retryable' | 'timeout'
    /** The id of the message, if the step was failed by its token. */
    readonly messageId?: string
  }
  TimerStarted: OfStep & { readonly until: Date }
  /** A timer fired, or the timeout of a wait has passed. */
  TimerFired: OfStep
  WaitStarted: OfStep & {
    readonly name: string
    readonly until?: Date
    /** True for a wait for a condition, false for a signal or webhook. */
    readonly condition: boolean
  }
  ChildStarted: OfStep & {
    readonly name: string
    readonly childRunId: string
    readonly input: unknown
    readonly parentClose: 'cancel' | 'terminate' | 'abandon'
    readonly onCancel?: 'wait'
  }
  ChildCompleted: OfStep & { readonly result: unknown }
  ChildFailed: OfStep & { readonly childRunId: string; readonly failure: Failure }
  /** These steps were cancelled: another branch won, or their scope was cancelled. */
  CalledOff: {
    readonly steps: readonly string[]
    /** The waits among them whose condition became true. */
    readonly met: readonly string[]
  }
  /** A message was sent to another run; `to` is absent if there was no such run. */
  MessageSent: OfStep & {
    readonly to?: string
    readonly message: 'signal' | 'cancel' | 'terminate'
    readonly name?: string
    /** The run had ended, so the signal was not sent. */
    readonly ended?: true
  }
  SignalReceived: ByMessage & { readonly name: string; readonly payload: unknown }
  UpdateReceived: ByMessage & { readonly name: string; readonly payload: unknown }
  UpdateAccepted: ByMessage
  UpdateCompleted: ByMessage & { readonly result: unknown }
  UpdateFailed: ByMessage & {
    readonly failure: Failure
    /** True if its validator rejected it, so that it was not handled. */
    readonly rejected: boolean
  }
  /** A webhook was created; its token resolves it. */
  TokenMade: OfStep & { readonly token: string }
  CancelRequested: ByMessage & { readonly reason?: string }
  PauseRequested: ByMessage & { readonly note?: string }
  ResumeRequested: ByMessage
  /** A run that was created with `pending` was triggered, with another input if there is one. */
  RunTriggered: ByMessage & { readonly input?: unknown }
  MigrationRequested: ByMessage & {
    readonly definitionHash: string
    readonly steps: Readonly<Record<string, string | null>>
  }
  /** `run.discardMessage` dropped the message `discarded`. */
  MessageDiscarded: ByMessage & { readonly discarded: string; readonly note?: string }
  /** Attributes were set; null removes one. */
  AttributesSet: OfStep & { readonly attributes: AttributesChange }
  /** The code wrote an item of this size to a stream; without a size, it closed the stream. */
  StreamWritten: OfStep & { readonly stream: string; readonly bytes?: number }
  /** The code reached a patch for the first time. */
  Patched: { readonly id: string }
  CompensationBegan: OfStep
  CompensationEnded: OfStep
  /** The definition that the run of a graph or machine follows from here on. */
  DefinitionTaken: {
    readonly definitionHash: string
    readonly version?: number
    readonly steps: readonly {
      readonly name: string
      readonly what: string
      readonly after: readonly string[]
    }[]
  }
  /** A graph step was skipped, because its condition was false. */
  StepSkipped: OfStep
  /** The function for the input, the condition or the list of a graph step failed. */
  StepRefused: OfStep & { readonly failure: Failure }
  /** The items of an `each` step of a graph. */
  ListTaken: OfStep & { readonly items: unknown }
  /** A machine handled the event with number `by` (0 is the start). `state` is absent if it did not change. */
  StateMoved: { readonly by: number; readonly state?: unknown }
  RunCompleted: {
    readonly output: unknown
    /** Steps and children that the code requested last and did not await: they never started. */
    readonly notBegun: readonly string[]
    /** Message handlers that were still in progress. */
    readonly cutOff: readonly string[]
  }
  RunFailed: { readonly failure: Failure; readonly compensationFailures?: readonly Failure[] }
  RunCancelled: {
    readonly reason?: string
    readonly compensationFailures?: readonly Failure[]
  }
  /** The last event of a generation that ended with `continueAsNew`. */
  RunContinued: unknown
  /** The first event of every later generation, followed by the events it keeps of the one before. */
  GenerationBegan: {
    readonly reason: 'continued' | 'retried' | 'reset' | 'forked'
    readonly input: unknown
    /** The number of this attempt of the run, from 1; each `retry` of the run adds one. */
    readonly attempt: number
    /** The run that this one was forked from. */
    readonly forkedFrom?: string
  }
}

type Translations = {
  readonly [Type in Event['type']]: (event: Event & { readonly type: Type }) => Readonly<HistoryEvents[Type]>
}

/** The event `RunStarted`, which is not stored: it comes from the head of the run. */
export function publicStart({ head }: RunSnapshot): HistoryEvent {
  const input = decode(decodePayload(head.input))
  return { seq: 0, at: new Date(head.createdAt), type: 'RunStarted', name: head.name, input }
}

export function publicEvents(turn: StoredTurn): HistoryEvent[] {
  return decodeTurn(turn.body).events.map((event, index) => publicEvent(event, turn.seq + index + 1))
}

function publicEvent(event: Event, seq: number): HistoryEvent {
  const translate = translations[event.type] as (event: Event) => object
  return { seq, at: new Date(event.at), type: event.type, ...translate(event) } as HistoryEvent
}

const ofStep = ({ key }: { readonly key: string }): { readonly step: string } => ({ step: key })
const ofNamedStep = ({ key, name }: { readonly key: string; readonly name?: string }) => defined({ step: key, name })
const byMessage = ({ id }: { readonly id: string }): { readonly messageId: string } => ({
  messageId: id,
})

const translations: Translations = {
  StepStarted: ({ key, kind, name, input, queued = false, startBy, closeBy, onCancel }) => ({
    ...defined({ step: key, kind, name }),
    ...decoded('input', input),
    ...defined({ queued, startBy: dateOf(startBy), closeBy: dateOf(closeBy), onCancel }),
  }),
  StepBegun: ofStep,
  StepQueued: (event) => ({ ...ofNamedStep(event), attempt: event.attempt }),
  StepRetried: ({ attempt, failure, until, left = false, ...step }) => ({
    ...ofNamedStep(step),
    attempt,
    failure,
    until: new Date(until),
    leftOpen: left,
  }),
  StepCompleted: ({ attempt, value, byHand, id, ...step }) => ({
    ...ofNamedStep(step),
    attempt,
    result: decode(value),
    ...defined({ byHand, messageId: id }),
  }),
  StepFailed: ({ attempt, failure, reason, id, ...step }) => ({
    ...ofNamedStep(step),
    attempt,
    failure,
    reason,
    ...defined({ messageId: id }),
  }),
  TimerStarted: (event) => ({ ...ofStep(event), until: new Date(event.until) }),
  TimerFired: ofStep,
  WaitStarted: ({ key, name, until, condition = false }) =>
    defined({ step: key, name: name && shownSignal(name), until: dateOf(until), condition }),
  ChildStarted: ({ key, name, child, input, onClose, onCancel }) => ({
    step: key,
    name,
    childRunId: child,
    input: decode(input),
    parentClose: onClose ?? 'cancel',
    ...defined({ onCancel }),
  }),
  ChildCompleted: (event) => ({ ...ofStep(event), result: decode(event.value) }),
  ChildFailed: ({ key, child, failure }) => ({ step: key, childRunId: child, failure }),
  CalledOff: ({ keys, met = [] }) => ({ steps: keys, met }),
  MessageSent: ({ key, to, message, name, ended }) => defined({ step: key, to, message, name, ended }),
  SignalReceived: received,
  UpdateReceived: received,
  UpdateAccepted: byMessage,
  UpdateCompleted: (event) => ({ ...byMessage(event), result: decode(event.value) }),
  UpdateFailed: ({ id, failure, rejected = false }) => ({ messageId: id, failure, rejected }),
  TokenMade: (event) => ({ ...ofStep(event), token: event.token }),
  CancelRequested: ({ id, reason }) => defined({ messageId: id, reason }),
  PauseRequested: ({ id, note }) => defined({ messageId: id, note }),
  ResumeRequested: byMessage,
  RunTriggered: (event) => ({ ...byMessage(event), ...decoded('input', event.input) }),
  MigrationRequested: ({ id, hash, steps }) => ({ messageId: id, definitionHash: hash, steps }),
  MessageDiscarded: ({ id, message, note }) => defined({ messageId: id, discarded: message, note }),
  AttributesSet: (event) => ({ ...ofStep(event), attributes: changesFrom(event.attributes) }),
  StreamWritten: (event) => defined({ ...ofStep(event), stream: event.stream, bytes: event.bytes }),
  Patched: ({ id }) => ({ id }),
  CompensationBegan: ofStep,
  CompensationEnded: ofStep,
  DefinitionTaken: ({ hash, version, steps }) =>
    defined({
      definitionHash: hash,
      version,
      steps: steps.map(([name, what, ...after]) => ({ name, what, after })),
    }),
  StepSkipped: ofStep,
  StepRefused: (event) => ({ ...ofStep(event), failure: event.failure }),
  ListTaken: (event) => ({ ...ofStep(event), items: decode(event.items) }),
  StateMoved: (event) => ({ by: event.by, ...decoded('state', event.state) }),
  RunCompleted: ({ value, notBegun = [], cutOff = [] }) => ({
    output: decode(value),
    notBegun,
    cutOff,
  }),
  RunFailed: ({ failure, undone }) => defined({ failure, compensationFailures: undone?.failures }),
  RunCancelled: ({ reason, undone }) => defined({ reason, compensationFailures: undone?.failures }),
  RunContinued: () => ({}),
  GenerationBegan: ({ reason, input, attempt = 1, from }) => ({
    ...{ reason, input: decode(input), attempt },
    ...defined({ forkedFrom: from }),
  }),
}

function received(event: {
  readonly id: string
  readonly name: string
  readonly payload: Payload
}): HistoryEvents['SignalReceived'] {
  const { id, name } = event
  // The message of a webhook has its token as its id.
  const messageId = isWebhook(name) ? `webhook:${digest(id)}` : id
  return { messageId, name: shownSignal(name), payload: decode(event.payload) }
}

function decoded<Name extends string>(name: Name, payload: Payload | undefined): { readonly [N in Name]?: unknown } {
  return payload ? ({ [name]: decode(payload) } as { readonly [N in Name]: unknown }) : {}
}

function dateOf(at: Instant | undefined): Date | undefined {
  return at === undefined ? undefined : new Date(at)
}
