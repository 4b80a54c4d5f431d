// What a decider tells the kernel to do. A command is data: the turn makes events of it, and the worker acts on it only
// after the events are durable.

import type { Failure } from '../base/failure.ts'
import type { Instant } from '../base/time.ts'
import type { Payload } from '../base/value.ts'
import type { AttributeChanges, StoredAttributes } from './attributes.ts'
import type { Decision, LeftUndone, OnCancel, OnClose, RequestPlace, Resolution, StepKind, Undone } from './event.ts'
import type { Extras } from './extras.ts'

export interface RunStep extends RequestPlace {
  readonly type: 'RunStep'
  readonly kind: StepKind
  readonly name: string
  readonly input?: Payload
  readonly digest?: string
  readonly scheduleToStartMs?: number
  readonly scheduleToCloseMs?: number
  readonly onCancel?: OnCancel
}
export interface SetTimer extends RequestPlace {
  readonly type: 'SetTimer'
  readonly until: Instant
}
export interface AwaitSignal extends RequestPlace {
  readonly type: 'AwaitSignal'
  readonly name: string
  readonly until?: Instant
  /** Not for a signal: the code itself looks whether the condition holds. */
  readonly condition?: true
}
export interface StartChild extends RequestPlace {
  readonly type: 'StartChild'
  readonly name: string
  readonly input: Payload
  readonly digest: string
  readonly queue?: string
  readonly priority?: number
  readonly workflowId?: string
  readonly onClose?: OnClose
  readonly onCancel?: OnCancel
  readonly extras?: Extras
  readonly attributes?: StoredAttributes
  /** Goes to the run in progress of the workflow id; without one, the child is started and gets it. */
  readonly signal?: { readonly name: string; readonly payload: Payload }
}
/** Cancels requests. */
export interface CancelRequests {
  readonly type: 'CancelRequests'
  readonly keys: readonly string[]
  /** The conditions among them that came true. */
  readonly met?: readonly string[]
}
export interface MarkPatch {
  readonly type: 'MarkPatch'
  readonly id: string
}
export interface MakeToken {
  readonly type: 'MakeToken'
  readonly key: string
  readonly token: string
}
/** Sets attributes; null removes one. */
export interface SetAttributes extends RequestPlace {
  readonly type: 'SetAttributes'
  readonly attributes: AttributeChanges
}
/** Adds an item to a stream. Without a text, the stream is closed. */
export interface WriteStream extends RequestPlace {
  readonly type: 'WriteStream'
  readonly stream: string
  readonly item?: { readonly text: string; readonly bytes: number }
}
/** The run starts or finishes undoing its steps. */
export interface MarkCompensation extends RequestPlace {
  readonly type: 'BeginCompensation' | 'EndCompensation'
}
/** Records a decision as it is. */
export interface Decide {
  readonly type: 'Decide'
  readonly decision: Decision
}
/** The next generation begins with this input, and with the messages that the code has not seen. */
export interface ContinueRun {
  readonly type: 'ContinueRun'
  readonly input: Payload
  readonly carried: readonly Extract<Resolution, { type: 'SignalReceived' | 'UpdateReceived' | 'CancelRequested' }>[]
}
export interface AcceptUpdate {
  readonly type: 'AcceptUpdate'
  readonly id: string
}
export interface AnswerUpdate {
  readonly type: 'AnswerUpdate'
  readonly id: string
  readonly answer:
    | { readonly ok: true; readonly value: Payload }
    | { readonly ok: false; readonly failure: Failure; readonly rejected?: true }
}
export type EndRun =
  | ({ readonly type: 'CompleteRun'; readonly value: Payload } & LeftUndone)
  | { readonly type: 'FailRun'; readonly failure: Failure; readonly undone?: Undone }
  | { readonly type: 'CancelRun'; readonly reason?: string; readonly undone?: Undone }

/** A message to another run. */
export interface SendMessage extends RequestPlace {
  readonly type: 'SendMessage'
  /** A run id; or a workflow id, whose newest run is looked up when the message is sent. */
  readonly to: string | { readonly workflowId: string }
  readonly message:
    | { readonly type: 'signal'; readonly name: string; readonly payload: Payload }
    | { readonly type: 'cancel'; readonly reason?: string }
    | { readonly type: 'terminate'; readonly reason: string }
}
/** The run that a message goes to. */
export interface Receiver {
  readonly runId: string
  readonly hasEnded: boolean
}

/** Commands that open a request under a key. */
export type Request =
  | RunStep
  | SetTimer
  | AwaitSignal
  | StartChild
  | SendMessage
  | SetAttributes
  | WriteStream
  | MarkCompensation
export type Command =
  | Request
  | CancelRequests
  | MarkPatch
  | MakeToken
  | Decide
  | AcceptUpdate
  | AnswerUpdate
  | ContinueRun
  | EndRun
