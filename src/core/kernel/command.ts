// What a decider asks for at the frontier of a history. A command is data; the turn makes events of it,
// and the worker acts on it only after those are durable.

import type { Failure } from '../base/failure.ts'
import type { Instant } from '../base/instant.ts'
import type { Payload } from '../base/value.ts'
import type { AttributeChanges, StoredAttributes } from './attributes.ts'
import type {
  Decision,
  LeftUndone,
  OnCancel,
  OnClose,
  Resolution,
  StepKind,
  Undone,
} from './event.ts'
import type { Extras } from './extras.ts'

interface Asked {
  readonly key: string
  readonly after: number
  readonly past?: true
}

export interface RunStep extends Asked {
  readonly type: 'RunStep'
  readonly kind: StepKind
  readonly name: string
  readonly input?: Payload
  readonly digest?: string
  readonly scheduleToStartMs?: number
  readonly scheduleToCloseMs?: number
  readonly onCancel?: OnCancel
}
export interface SetTimer extends Asked {
  readonly type: 'SetTimer'
  readonly until: Instant
}
export interface AwaitSignal extends Asked {
  readonly type: 'AwaitSignal'
  readonly name: string
  readonly until?: Instant
  /** Not for a signal: the code looks at something itself whenever anything has happened. */
  readonly condition?: true
}
export interface StartChild extends Asked {
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
  /** Sent to the run of the workflow id: to one in progress, or else to this one, which is started then. */
  readonly signal?: { readonly name: string; readonly payload: Payload }
}
/** Nobody waits for these any more. */
export interface CallOff {
  readonly type: 'CallOff'
  readonly keys: readonly string[]
  /** Of these, conditions that came true. */
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
/** The run is found by these from now on, and by those that are null no longer. */
export interface SetAttributes extends Asked {
  readonly type: 'SetAttributes'
  readonly attributes: AttributeChanges
}
/** The run undoes what it did from now on, or no longer. */
export interface MarkCompensation extends Asked {
  readonly type: 'BeginCompensation' | 'EndCompensation'
}
/** Written down as it is. */
export interface Decide {
  readonly type: 'Decide'
  readonly decision: Decision
}
/** The next generation begins, with this input and what the code has not seen: messages, and a cancellation. */
export interface ContinueRun {
  readonly type: 'ContinueRun'
  readonly input: Payload
  readonly carried: readonly Extract<
    Resolution,
    { type: 'SignalReceived' | 'UpdateReceived' | 'CancelRequested' }
  >[]
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
export interface SendMessage extends Asked {
  readonly type: 'SendMessage'
  /** The id of a run; or the newest run of a workflow id, which is looked up when it is sent. */
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

/** What is asked for under a key, and settled under it later. */
export type Request =
  | RunStep
  | SetTimer
  | AwaitSignal
  | StartChild
  | SendMessage
  | SetAttributes
  | MarkCompensation
export type Command =
  | Request
  | CallOff
  | MarkPatch
  | MakeToken
  | Decide
  | AcceptUpdate
  | AnswerUpdate
  | ContinueRun
  | EndRun
