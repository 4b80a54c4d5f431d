// From stored events to those that users see. What only replay needs stays behind. An event that the kernel learns to write
// does not compile until it is told here.

import type { Instant } from '../base/instant.ts'
import { decode, type Payload } from '../base/value.ts'
import { changesFrom } from '../definitions/attributes.ts'
import { decodePayload, decodeTurn } from '../kernel/codec.ts'
import type { Event, Undone } from '../kernel/event.ts'
import type { RunSnapshot, StoredTurn } from '../stores/store.ts'
import type { HistoryEvent, HistoryEvents } from './history-event.ts'

type Teller = {
  readonly [Type in Event['type']]: (
    event: Event & { readonly type: Type },
  ) => Readonly<HistoryEvents[Type]>
}

export function startOf({ head }: RunSnapshot): HistoryEvent {
  const input = decode(decodePayload(head.input))
  return { seq: 0, at: new Date(head.createdAt), type: 'RunStarted', name: head.name, input }
}

export function toldOf(turn: StoredTurn): HistoryEvent[] {
  return decodeTurn(turn.body).events.map((event, index) => told(event, turn.seq + index + 1))
}

function told(event: Event, seq: number): HistoryEvent {
  const tell = teller[event.type] as (event: Event) => object
  return { seq, at: new Date(event.at), type: event.type, ...tell(event) } as HistoryEvent
}

const ofStep = ({ key }: { readonly key: string }): { readonly step: string } => ({ step: key })
const ofNamedStep = ({ key, name }: { readonly key: string; readonly name?: string }) => ({
  step: key,
  ...(name !== undefined && { name }),
})
const byMessage = ({ id }: { readonly id: string }): { readonly messageId: string } => ({
  messageId: id,
})

const teller: Teller = {
  StepStarted: (event) => ({
    ...ofStep(event),
    kind: event.kind,
    name: event.name,
    ...decoded('input', event.input),
    queued: event.queued ?? false,
    ...dated('startBy', event.startBy),
    ...dated('closeBy', event.closeBy),
    ...(event.onCancel && { onCancel: event.onCancel }),
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
    ...(byHand !== undefined && { byHand }),
    ...(id !== undefined && { messageId: id }),
  }),
  StepFailed: ({ attempt, failure, reason, id, ...step }) => ({
    ...ofNamedStep(step),
    attempt,
    failure,
    reason,
    ...(id !== undefined && { messageId: id }),
  }),
  TimerStarted: (event) => ({ ...ofStep(event), until: new Date(event.until) }),
  TimerFired: ofStep,
  WaitStarted: ({ key, name, until, condition }) => ({
    step: key,
    name,
    ...dated('until', until),
    condition: condition ?? false,
  }),
  ChildStarted: ({ key, name, child, input, onClose, onCancel }) => ({
    step: key,
    name,
    childRunId: child,
    input: decode(input),
    parentClose: onClose ?? 'cancel',
    ...(onCancel && { onCancel }),
  }),
  ChildCompleted: (event) => ({ ...ofStep(event), result: decode(event.value) }),
  ChildFailed: ({ key, child, failure }) => ({ step: key, childRunId: child, failure }),
  CalledOff: ({ keys, met = [] }) => ({ steps: keys, met }),
  MessageSent: ({ key, to, message, name, ended }) => ({
    step: key,
    ...(to !== undefined && { to }),
    message,
    ...(name !== undefined && { name }),
    ...(ended && { ended }),
  }),
  SignalReceived: received,
  UpdateReceived: received,
  UpdateAccepted: byMessage,
  UpdateCompleted: (event) => ({ ...byMessage(event), result: decode(event.value) }),
  UpdateFailed: ({ id, failure, rejected = false }) => ({ messageId: id, failure, rejected }),
  TokenMade: (event) => ({ ...ofStep(event), token: event.token }),
  CancelRequested: (event) => ({
    ...byMessage(event),
    ...(event.reason !== undefined && { reason: event.reason }),
  }),
  PauseRequested: (event) => ({ ...byMessage(event), ...noted(event) }),
  ResumeRequested: byMessage,
  RunTriggered: (event) => ({ ...byMessage(event), ...decoded('input', event.input) }),
  MigrationRequested: ({ id, hash, steps }) => ({ messageId: id, definitionHash: hash, steps }),
  MessageDiscarded: (event) => ({
    ...byMessage(event),
    discarded: event.message,
    ...noted(event),
  }),
  AttributesSet: (event) => ({ ...ofStep(event), attributes: changesFrom(event.attributes) }),
  Patched: ({ id }) => ({ id }),
  CompensationBegan: ofStep,
  CompensationEnded: ofStep,
  DefinitionTaken: ({ hash, version, steps }) => ({
    definitionHash: hash,
    ...(version !== undefined && { version }),
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
  RunFailed: ({ failure, undone }) => ({ failure, ...notUndone(undone) }),
  RunCancelled: ({ reason, undone }) => ({
    ...(reason !== undefined && { reason }),
    ...notUndone(undone),
  }),
  RunContinued: () => ({}),
  GenerationBegan: ({ reason, input, attempt = 1, from }) => ({
    reason,
    input: decode(input),
    attempt,
    ...(from !== undefined && { forkedFrom: from }),
  }),
}

function received(event: {
  readonly id: string
  readonly name: string
  readonly payload: Payload
}): HistoryEvents['SignalReceived'] {
  return { ...byMessage(event), name: event.name, payload: decode(event.payload) }
}

function decoded<Name extends string>(
  name: Name,
  payload: Payload | undefined,
): { readonly [N in Name]?: unknown } {
  return payload ? ({ [name]: decode(payload) } as { readonly [N in Name]: unknown }) : {}
}

function dated<Name extends string>(
  name: Name,
  at: Instant | undefined,
): { readonly [N in Name]?: Date } {
  return at === undefined ? {} : ({ [name]: new Date(at) } as { readonly [N in Name]: Date })
}

function noted({ note }: { readonly note?: string }): { readonly note?: string } {
  return note === undefined ? {} : { note }
}

function notUndone(
  undone: Undone | undefined,
): Pick<HistoryEvents['RunFailed'], 'compensationFailures'> {
  return undone ? { compensationFailures: undone.failures } : {}
}
