// What happened to a run, in order. Events are facts: past tense, never changed, numbered 1..n in each
// generation. Events of the second group settle something the workflow asked for under `key`.

import { unreachable } from '../base/assert.ts'
import type { Failure } from '../base/failure.ts'
import type { Instant } from '../base/instant.ts'
import type { Payload } from '../base/value.ts'
import type { AttributeChanges, StoredAttributes } from './attributes.ts'

/** How a request was made: enough to recognise it again when the code runs once more. */
interface Request {
  readonly key: string
  /** The seq of the last delivered event when this was asked for. */
  readonly after: number
  /** Asked for although recorded steps lay ahead; its result does not move the replay forward. */
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
      /** It fails if nobody has begun with it by then, or if it has not ended by then. */
      readonly startBy?: Instant
      readonly closeBy?: Instant
      readonly onCancel?: OnCancel
    } & Request)
  | ({ readonly type: 'TimerStarted'; readonly until: Instant } & Request)
  | ({
      readonly type: 'WaitStarted'
      readonly name: string
      readonly until?: Instant
      /** For something the code itself looks at, and not for a signal. */
      readonly condition?: true
    } & Request)
  | ({
      readonly type: 'ChildStarted'
      readonly name: string
      readonly child: string
      readonly input: Payload
      readonly digest?: string
      readonly onClose?: OnClose
      readonly onCancel?: OnCancel
    } & Request)

/** The code goes on when its step or child has ended after it was cancelled; at once, when absent. */
export type OnCancel = 'wait'

/** What becomes of a child when its parent ends; it is cancelled when absent. */
export type OnClose = 'abandon' | 'terminate'

/** Something for another run went out with the turn that asked for it; nothing more is to come of it. */
export type Sent = {
  readonly type: 'MessageSent'
  /** Absent if there was no such run. */
  readonly to?: string
  readonly message: 'signal' | 'cancel' | 'terminate'
  readonly name?: string
  /** That run had ended, so the signal was not sent. */
  readonly ended?: true
} & Request

/** From here to its end the run, or a part of its code, undoes what it did. */
export type Compensated = {
  readonly type: 'CompensationBegan' | 'CompensationEnded'
} & Request

/** What the run is found by from now on; by what is null, no longer. */
export type AttributesSet = {
  readonly type: 'AttributesSet'
  readonly attributes: AttributeChanges
} & Request

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
      /** It was not run: somebody said so, and why, in the message with this id. */
      readonly byHand?: string
      readonly id?: string
    } & OfStep)
  | ({
      readonly type: 'StepFailed'
      readonly attempt: number
      readonly failure: Failure
      readonly reason: GivenUp
      /** Of the message that said so from outside. */
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
    }
  /** Somebody asks for something to be done and answered. */
  | {
      readonly type: 'UpdateReceived'
      readonly id: string
      readonly name: string
      readonly payload: Payload
    }
  | { readonly type: 'CancelRequested'; readonly id: string; readonly reason?: string }

/** Why a step was given up on. */
export type GivenUp = 'exhausted' | 'non-retryable' | 'timeout'

export type Progress =
  | ({
      readonly type: 'StepRetried'
      readonly attempt: number
      readonly failure: Failure
      readonly until: Instant
      /** It did not fail: its body left it to be completed from outside by then; only after that it is tried again. */
      readonly left?: true
    } & OfStep)
  /** The code waits for these no longer: a race was won by another, or their scope was cancelled. `met` are conditions that came true. */
  | {
      readonly type: 'CalledOff'
      readonly keys: readonly string[]
      readonly met?: readonly string[]
    }
  /** Its validator let it pass. */
  | { readonly type: 'UpdateAccepted'; readonly id: string }
  | { readonly type: 'UpdateCompleted'; readonly id: string; readonly value: Payload }
  | {
      readonly type: 'UpdateFailed'
      readonly id: string
      readonly failure: Failure
      /** Its validator refused it, and nothing was done. */
      readonly rejected?: true
    }
  /** Somebody wants the run to rest, and to go on again. The code does not hear of it. */
  | { readonly type: 'PauseRequested'; readonly id: string; readonly note?: string }
  | { readonly type: 'ResumeRequested'; readonly id: string }
  /** A run that was created to wait for this begins, with this input if there is one. */
  | { readonly type: 'RunTriggered'; readonly id: string; readonly input?: Payload }
  /** The run is to go by this definition: steps of it under their new names, or not at all. */
  | {
      readonly type: 'MigrationRequested'
      readonly id: string
      readonly hash: string
      readonly steps: Readonly<Record<string, string | null>>
    }
  /** An operator dropped a message that no worker could read. The code does not hear of either. */
  | {
      readonly type: 'MessageDiscarded'
      readonly id: string
      readonly message: string
      readonly note?: string
    }
  /** Somebody has begun with it, so that it is not given up for not being begun. */
  | { readonly type: 'StepBegun'; readonly key: string }
  /** The worker that holds the run must not run it: it goes on in the task queue, with the attempts it has left. */
  | ({ readonly type: 'StepQueued'; readonly attempt: number } & OfStep)
  /** Whoever knows the token settles the wait for it. */
  | { readonly type: 'TokenMade'; readonly key: string; readonly token: string }
  /** The code met a patch where it had not been before, and goes the new way from now on. */
  | { readonly type: 'Patched'; readonly id: string }

/** What a style decided by code that it need not ask again. Nobody but that style looks at it. */
export type Decision =
  /** The definition the run goes by from now on: its hash, and what it consists of. */
  | {
      readonly type: 'DefinitionTaken'
      readonly hash: string
      /** Of definitions that are kept in the store. */
      readonly version?: number
      readonly steps: readonly StepShape[]
    }
  /** The condition of a step did not hold. */
  | { readonly type: 'StepSkipped'; readonly key: string }
  /** A step could not even be asked for: what makes its input, its condition or its list has failed. */
  | { readonly type: 'StepRefused'; readonly key: string; readonly failure: Failure }
  /** What a step is done for, each of it on its own. */
  | { readonly type: 'ListTaken'; readonly key: string; readonly items: Payload }
  /** What became of a machine by the event of this number; its state is absent if it stayed the same. */
  | {
      readonly type: 'StateMoved'
      readonly by: number
      readonly state?: Payload
      /** What the move said about how activities are to be done, by their keys. Its code is not asked again. */
      readonly options?: Payload
    }

/** The name of a step, what it is, and what it comes after. */
export type StepShape = readonly [name: string, what: string, ...after: string[]]

export type Ending =
  | ({ readonly type: 'RunCompleted'; readonly value: Payload } & LeftUndone)
  | { readonly type: 'RunFailed'; readonly failure: Failure; readonly undone?: Undone }
  | { readonly type: 'RunCancelled'; readonly reason?: string; readonly undone?: Undone }

/** What the code had begun, or meant to, when it returned. */
export interface LeftUndone {
  /** Keys of steps and children that it asked for in its last breath and did not await: they were never begun. */
  readonly notBegun?: readonly string[]
  /** Handlers of messages that were still at work, and are not any more. */
  readonly cutOff?: readonly string[]
}

/** What went wrong when the run undid what it had done. */
export interface Undone {
  readonly failures: readonly Failure[]
}

/** Where one generation ends and the next begins: with another input, or again from some place in its past. */
export type Passage =
  | { readonly type: 'RunContinued' }
  | {
      readonly type: 'GenerationBegan'
      readonly reason: 'continued' | 'retried' | 'reset' | 'forked'
      readonly input: Payload
      /** Messages that were taken before, and are not taken again. */
      readonly messageIds?: readonly string[]
      /** The run it was forked from. */
      readonly from?: string
      /** What it is found by where it begins; what it was started with holds when absent. */
      readonly attributes?: StoredAttributes
      /** Keys that were asked for and not settled: the code asks for them again. */
      readonly again?: readonly string[]
      /** What was recorded from this event on, the code may not come to this time. */
      readonly looseFrom?: number
      /** When it began, if that is later than the first thing it knows of. */
      readonly beganAt?: Instant
      /** How often it has been begun because it had failed; 1 when absent. */
      readonly attempt?: number
      /** When the run was triggered, if it was created to wait for that and nothing else here says so. */
      readonly triggeredAt?: Instant
      /** The generation whose idempotency keys its steps go on with; its own when absent. */
      readonly keysOf?: number
      /** Whether its input is parsed, as in what is known of a run from its beginning; that holds when absent. */
      readonly parsed?: boolean | null
    }

export type EventBody =
  | Requested
  | Sent
  | AttributesSet
  | Compensated
  | Decision
  | Resolution
  | Progress
  | Passage
  | Ending
export type Event = EventBody & { readonly at: Instant }
/** An event and its place in the run's history. */
export type HistoryEvent = Event & { readonly seq: number }

export function isEnding(event: EventBody): event is Ending {
  return (
    event.type === 'RunCompleted' || event.type === 'RunFailed' || event.type === 'RunCancelled'
  )
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
