// What happened to a run, in order. Events are facts: past tense, never changed, numbered 1..n in each generation.
// A request and the event that settles it have the same `key`.

import { unreachable } from '../base/assert.ts'
import type { Failure } from '../base/failure.ts'
import type { Instant } from '../base/time.ts'
import type { Payload } from '../base/value.ts'
import type { AttributeChanges, StoredAttributes } from './attributes.ts'

/** Where a request was made: enough to recognise it when the code runs again. */
export interface RequestPlace {
  readonly key: string
  /** The seq of the last event that had been delivered to the code. */
  readonly after: number
  /** Made although recorded steps lay ahead; its result does not move the replay forward. */
  readonly past?: true
}

export type StepKind = 'activity' | 'step' | 'sideEffect'

export type Requested =
  | ({
      readonly type: 'StepStarted'
      readonly kind: StepKind
      readonly name: string
      readonly input?: Payload
      readonly digest?: string
      /** Handed to the task queue instead of running where the run is held. */
      readonly queued?: true
      /** The step fails unless an attempt has started, or the step has ended, by then. */
      readonly startBy?: Instant
      readonly closeBy?: Instant
      readonly onCancel?: OnCancel
    } & RequestPlace)
  | ({ readonly type: 'TimerStarted'; readonly until: Instant } & RequestPlace)
  | ({
      readonly type: 'WaitStarted'
      readonly name: string
      readonly until?: Instant
      /** Not for a signal: the code itself looks whether the condition holds. */
      readonly condition?: true
    } & RequestPlace)
  | ({
      readonly type: 'ChildStarted'
      readonly name: string
      readonly child: string
      readonly input: Payload
      readonly digest?: string
      readonly onClose?: OnClose
      readonly onCancel?: OnCancel
    } & RequestPlace)

/** After a cancel the code waits for the end of its step or child. When absent, it goes on at once. */
export type OnCancel = 'wait'

/** What happens to a child when its parent ends. When absent, the child is cancelled. */
export type OnClose = 'abandon' | 'terminate'

/** A message to another run left with the turn that requested it. The request is settled at once. */
export type Sent = {
  readonly type: 'MessageSent'
  /** The run it was sent to; absent if there was none. */
  readonly to?: string
  readonly message: 'signal' | 'cancel' | 'terminate'
  readonly name?: string
  /** The run had ended, so the signal was not sent. */
  readonly ended?: true
} & RequestPlace

/** The run, or a part of its code, starts or finishes undoing its steps. */
export type Compensated = {
  readonly type: 'CompensationBegan' | 'CompensationEnded'
} & RequestPlace

/** Attributes that were set; null removes one. */
export type AttributesSet = {
  readonly type: 'AttributesSet'
  readonly attributes: AttributeChanges
} & RequestPlace

/** The code wrote an item to a stream, or closed it. The item itself is not in the history. */
export type StreamWritten = {
  readonly type: 'StreamWritten'
  readonly stream: string
  /** The size of the item; absent if the stream was closed. */
  readonly bytes?: number
} & RequestPlace

/** Which step, and what it is called. Histories of older releases lack the name. */
interface OfStep {
  readonly key: string
  readonly name?: string
}

export type Resolution =
  | ({
      readonly type: 'StepCompleted'
      readonly attempt: number
      readonly value: Payload
      /** An operator gave the result, with this note, in the message `id`. */
      readonly byHand?: string
      readonly id?: string
    } & OfStep)
  | ({
      readonly type: 'StepFailed'
      readonly attempt: number
      readonly failure: Failure
      readonly reason: GivenUp
      /** The message that failed the step from outside. */
      readonly id?: string
    } & OfStep)
  | { readonly type: 'TimerFired'; readonly key: string }
  | { readonly type: 'ChildCompleted'; readonly key: string; readonly value: Payload }
  | {
      readonly type: 'ChildFailed'
      readonly key: string
      readonly child: string
      readonly failure: Failure
    }
  | {
      readonly type: 'SignalReceived'
      readonly id: string
      readonly name: string
      readonly payload: Payload
      /** The span of the sender, which the turn links to. */
      readonly traceparent?: string
    }
  /** A caller wants something done and waits for the answer. */
  | {
      readonly type: 'UpdateReceived'
      readonly id: string
      readonly name: string
      readonly payload: Payload
      readonly traceparent?: string
    }
  | { readonly type: 'CancelRequested'; readonly id: string; readonly reason?: string }

/** Why a step is not tried again. */
export type GivenUp = 'exhausted' | 'non-retryable' | 'timeout'

export type Progress =
  | ({
      readonly type: 'StepRetried'
      readonly attempt: number
      readonly failure: Failure
      readonly until: Instant
      /** The attempt did not fail: its body left the step to be completed from outside by `until`. */
      readonly left?: true
    } & OfStep)
  /**
   * These requests were cancelled: another branch won a race, or their scope was cancelled. `met` are conditions that
   * came true. Older histories hold this name; everywhere else the word is cancel.
   */
  | {
      readonly type: 'CalledOff'
      readonly keys: readonly string[]
      readonly met?: readonly string[]
    }
  /** The validator of the update accepted it. */
  | { readonly type: 'UpdateAccepted'; readonly id: string }
  | { readonly type: 'UpdateCompleted'; readonly id: string; readonly value: Payload }
  | {
      readonly type: 'UpdateFailed'
      readonly id: string
      readonly failure: Failure
      /** The validator rejected it, and nothing was done. */
      readonly rejected?: true
    }
  /** An operator pauses or resumes the run. */
  | { readonly type: 'PauseRequested'; readonly id: string; readonly note?: string }
  | { readonly type: 'ResumeRequested'; readonly id: string }
  /** A pending run begins, with this input if there is one. */
  | { readonly type: 'RunTriggered'; readonly id: string; readonly input?: Payload }
  /** The run is to use this definition. `steps` maps old names of steps to new ones, or to null: skip it. */
  | {
      readonly type: 'MigrationRequested'
      readonly id: string
      readonly hash: string
      readonly steps: Readonly<Record<string, string | null>>
    }
  /** An operator dropped a message that no worker could read. */
  | {
      readonly type: 'MessageDiscarded'
      readonly id: string
      readonly message: string
      readonly note?: string
    }
  /** An attempt has started, so the `scheduleToStart` timeout no longer applies. */
  | { readonly type: 'StepBegun'; readonly key: string }
  /** The holder of the run cannot run the step: it moves to the task queue, with the attempts it has left. */
  | ({ readonly type: 'StepQueued'; readonly attempt: number } & OfStep)
  /** The token that settles the webhook under this key. */
  | { readonly type: 'TokenMade'; readonly key: string; readonly token: string }
  /** The code reached a patch for the first time, and takes the new branch from now on. */
  | { readonly type: 'Patched'; readonly id: string }

/** What a graph or a machine decided by code, so that the code is not asked again. Only that style reads it. */
export type Decision =
  /** The definition the run uses from now on: its hash and its steps. */
  | {
      readonly type: 'DefinitionTaken'
      readonly hash: string
      /** The version of a definition in the store. */
      readonly version?: number
      readonly steps: readonly StepShape[]
    }
  /** The condition of the step did not hold. */
  | { readonly type: 'StepSkipped'; readonly key: string }
  /** The step could not be requested: code for its input, condition or list failed. */
  | { readonly type: 'StepRefused'; readonly key: string; readonly failure: Failure }
  /** The items of a step that runs once per item. */
  | { readonly type: 'ListTaken'; readonly key: string; readonly items: Payload }
  /** The machine's answer to event number `by`. `state` is absent if it did not change. */
  | {
      readonly type: 'StateMoved'
      readonly by: number
      readonly state?: Payload
      /** Options of the activities that the move requested, by key. */
      readonly options?: Payload
    }

/** The name of a step, what it does, and the steps it comes after. */
export type StepShape = readonly [name: string, what: string, ...after: string[]]

export type Ending =
  | ({ readonly type: 'RunCompleted'; readonly value: Payload } & LeftUndone)
  | { readonly type: 'RunFailed'; readonly failure: Failure; readonly undone?: Undone }
  | { readonly type: 'RunCancelled'; readonly reason?: string; readonly undone?: Undone }

/** What the code left behind when it returned. */
export interface LeftUndone {
  /** Keys of steps and children that the code requested last and did not await: they were never started. */
  readonly notBegun?: readonly string[]
  /** Message handlers that were still running when the run ended. */
  readonly cutOff?: readonly string[]
}

/** Compensations that failed. */
export interface Undone {
  readonly failures: readonly Failure[]
}

/** One generation ends and the next begins: continue-as-new, retry, reset or fork. */
export type GenerationEvent =
  | { readonly type: 'RunContinued' }
  | {
      readonly type: 'GenerationBegan'
      readonly reason: 'continued' | 'retried' | 'reset' | 'forked'
      readonly input: Payload
      /** Ids of messages that earlier generations consumed. */
      readonly messageIds?: readonly string[]
      /** The run it was forked from. */
      readonly from?: string
      /** The attributes at the beginning; when absent, those the run was started with. */
      readonly attributes?: StoredAttributes
      /** Keys that were requested and not settled: the code requests them again. */
      readonly again?: readonly string[]
      /** The code may not reach what was recorded from this event on. */
      readonly looseFrom?: number
      /** When the generation began, if that is later than its first event. */
      readonly beganAt?: Instant
      /** 1 plus the number of retries; 1 when absent. */
      readonly attempt?: number
      /** When a run that was created pending was triggered. */
      readonly triggeredAt?: Instant
      /** The generation whose idempotency keys its steps keep; its own when absent. */
      readonly keysOf?: number
      /** The generation in which its writers to streams began; its own when absent. */
      readonly chapter?: number
      /** Overrides `extras.parsed` for this generation. */
      readonly parsed?: boolean | null
    }

export type EventBody =
  | Requested
  | Sent
  | AttributesSet
  | StreamWritten
  | Compensated
  | Decision
  | Resolution
  | Progress
  | GenerationEvent
  | Ending
export type Event = EventBody & { readonly at: Instant }
/** An event and its number in the history. */
export type HistoryEvent = Event & { readonly seq: number }

export function isEnding(event: EventBody): event is Ending {
  return event.type === 'RunCompleted' || event.type === 'RunFailed' || event.type === 'RunCancelled'
}

/** What readers of a history have to know about a type of events. */
interface EventTraits {
  /** Opens, changes or settles requests. */
  readonly request?: true
  /** Was made from a message, and has its id. Messages alone do not begin a run. */
  readonly message?: true
  /** Changes the state of the run as a whole. */
  readonly run?: true
  /** Belongs to its generation only: a run that goes back in its history leaves it behind. */
  readonly passing?: true
  /** No workflow code of any style hears of it. */
  readonly unheard?: true
}

/** Every type of event. A new type does not compile before it has a row here. */
const EVENTS = {
  StepStarted: { request: true },
  StepBegun: { request: true, unheard: true },
  StepQueued: { request: true, unheard: true },
  StepRetried: { request: true, unheard: true },
  StepCompleted: { request: true },
  StepFailed: { request: true },
  TimerStarted: { request: true },
  TimerFired: { request: true },
  WaitStarted: { request: true },
  ChildStarted: { request: true },
  ChildCompleted: { request: true },
  ChildFailed: { request: true },
  CalledOff: { request: true },
  SignalReceived: { request: true, message: true },
  UpdateReceived: { message: true },
  UpdateAccepted: {},
  UpdateCompleted: {},
  UpdateFailed: {},
  MessageSent: {},
  AttributesSet: { run: true },
  StreamWritten: { run: true },
  TokenMade: {},
  Patched: {},
  CompensationBegan: { run: true, passing: true },
  CompensationEnded: { run: true, passing: true },
  CancelRequested: { request: true, message: true, run: true, passing: true },
  PauseRequested: { message: true, run: true, passing: true, unheard: true },
  ResumeRequested: { message: true, run: true, passing: true, unheard: true },
  RunTriggered: { message: true, run: true, unheard: true },
  MigrationRequested: { message: true },
  MessageDiscarded: { message: true, run: true, unheard: true },
  DefinitionTaken: {},
  StepSkipped: {},
  StepRefused: {},
  ListTaken: {},
  StateMoved: {},
  GenerationBegan: { run: true, passing: true },
  RunContinued: { run: true, passing: true, unheard: true },
  RunCompleted: { run: true, passing: true },
  RunFailed: { run: true, passing: true },
  RunCancelled: { run: true, passing: true },
} as const satisfies Record<EventBody['type'], EventTraits>

type TypesWith<Trait extends keyof EventTraits> = {
  [Type in keyof typeof EVENTS]: Trait extends keyof (typeof EVENTS)[Type] ? Type : never
}[keyof typeof EVENTS]
export type EventWith<Trait extends keyof EventTraits> = Extract<Event, { type: TypesWith<Trait> }>
/** Events that workflow code of some style hears of. */
export type HeardEvent = Exclude<HistoryEvent, { type: TypesWith<'unheard'> }>

export function hasTrait<Trait extends keyof EventTraits>(
  event: EventBody,
  trait: Trait,
): event is Extract<EventBody, { type: TypesWith<Trait> }> {
  const traits: EventTraits | undefined = EVENTS[event.type]
  return traits === undefined ? unreachable(event as never) : traits[trait] === true
}

export function isHeard(event: HistoryEvent): event is HeardEvent {
  return !hasTrait(event, 'unheard')
}
