// The history as users see it, from stored events. Fields that only replay needs are left out. A new event type of the
// kernel does not compile until it has an entry here.

import { defined } from '../base/defined.ts'
import type { Instant } from '../base/time.ts'
import { decode, type Payload } from '../base/value.ts'
import { changesFrom } from '../definitions/attributes.ts'
import { decodePayload, decodeTurn } from '../kernel/codec.ts'
import type { Event } from '../kernel/event.ts'
import type { RunSnapshot, StoredTurn } from '../stores/store.ts'
import type { HistoryEvent, HistoryEvents } from './history-event.ts'

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
    defined({ step: key, name, until: dateOf(until), condition }),
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
  return { ...byMessage(event), name: event.name, payload: decode(event.payload) }
}

function decoded<Name extends string>(name: Name, payload: Payload | undefined): { readonly [N in Name]?: unknown } {
  return payload ? ({ [name]: decode(payload) } as { readonly [N in Name]: unknown }) : {}
}

function dateOf(at: Instant | undefined): Date | undefined {
  return at === undefined ? undefined : new Date(at)
}
