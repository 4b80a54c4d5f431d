// The history of a run as users see it: one type for every event, told apart by `type`, with values as they were given.

import type { Failure } from '../base/failure.ts'
import type { AttributesChange } from '../definitions/attributes.ts'

/** One thing that happened to a run. Switch over `type`: it says which fields there are. */
export type HistoryEvent = {
  [Type in keyof HistoryEvents]: {
    readonly type: Type
    /** Its number in its generation, from 1; `RunStarted` is 0. */
    readonly seq: number
    readonly at: Date
  } & HistoryEvents[Type] &
    (HistoryEvents[Type] extends OfStep ? unknown : { readonly step?: undefined })
}[keyof HistoryEvents]

/** What an event is about: the key of a step, a timer, a wait or a child. */
interface OfStep {
  readonly step: string
}

/** A step, and what it is called; the name is missing in histories of older releases. */
interface OfNamedStep extends OfStep {
  readonly name?: string
}

/** What came from a message. */
interface ByMessage {
  /** As `why` and `discardMessage` know it. */
  readonly messageId: string
}

/** The fields of every event, by its type. */
export interface HistoryEvents {
  /** Only the first generation begins with it. */
  RunStarted: { readonly name: string; readonly input: unknown }
  /** The code asked for an activity, an inline step or a side effect. */
  StepStarted: OfStep & {
    readonly kind: 'activity' | 'step' | 'sideEffect'
    readonly name: string
    /** Of an activity. */
    readonly input?: unknown
    /** For any worker of its queue, and not where the run is held. */
    readonly queued: boolean
    /** It fails unless it has started by then, or ended by then. */
    readonly startBy?: Date
    readonly closeBy?: Date
    /** When it is cancelled, the code waits for its end. */
    readonly onCancel?: 'wait'
  }
  /** A queued step that must start in time has started. */
  StepBegun: OfStep
  /** The worker that holds the run may not run it: it went to the task queue. */
  StepQueued: OfNamedStep & { readonly attempt: number }
  /** An attempt failed; the next is made at `until`. */
  StepRetried: OfNamedStep & {
    readonly attempt: number
    readonly failure: Failure
    readonly until: Date
    /** It did not fail: its body left it to be completed from outside until then. */
    readonly leftOpen: boolean
  }
  StepCompleted: OfNamedStep & {
    readonly attempt: number
    readonly result: unknown
    /** The note of `run.resume`, if the result was given by hand. */
    readonly byHand?: string
    /** Of the message, if it was completed by hand or from outside. */
    readonly messageId?: string
  }
  StepFailed: OfNamedStep & {
    readonly attempt: number
    readonly failure: Failure
    readonly reason: 'exhausted' | 'non-retryable' | 'timeout'
    /** Of the message, if it was failed from outside. */
    readonly messageId?: string
  }
  TimerStarted: OfStep & { readonly until: Date }
  /** A timer, or the time-out of a wait. */
  TimerFired: OfStep
  WaitStarted: OfStep & {
    readonly name: string
    readonly until?: Date
    /** For something the code itself looks at, and not for a signal. */
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
  /** The code needs these no longer: another branch won, or their scope was cancelled. */
  CalledOff: {
    readonly steps: readonly string[]
    /** Those of them that are conditions which came true. */
    readonly met: readonly string[]
  }
  /** To another run; `to` is absent if there was none. */
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
    /** Its validator refused it, and nothing was done. */
    readonly rejected: boolean
  }
  /** A webhook can be settled by whoever has this token. */
  TokenMade: OfStep & { readonly token: string }
  CancelRequested: ByMessage & { readonly reason?: string }
  PauseRequested: ByMessage & { readonly note?: string }
  ResumeRequested: ByMessage
  /** A run that was started with `pending` begins, with another input if there is one. */
  RunTriggered: ByMessage & { readonly input?: unknown }
  MigrationRequested: ByMessage & {
    readonly definitionHash: string
    readonly steps: Readonly<Record<string, string | null>>
  }
  /** `run.discardMessage` dropped the message `discarded`. */
  MessageDiscarded: ByMessage & { readonly discarded: string; readonly note?: string }
  /** Null removes one. */
  AttributesSet: OfStep & { readonly attributes: AttributesChange }
  /** The code met a patch for the first time. */
  Patched: { readonly id: string }
  CompensationBegan: OfStep
  CompensationEnded: OfStep
  /** Of a graph: the definition the run follows from here on. */
  DefinitionTaken: {
    readonly definitionHash: string
    readonly version?: number
    readonly steps: readonly {
      readonly name: string
      readonly what: string
      readonly after: readonly string[]
    }[]
  }
  /** Of a graph: the condition of a step did not hold. */
  StepSkipped: OfStep
  /** Of a graph: what makes the input, the condition or the list of a step failed. */
  StepRefused: OfStep & { readonly failure: Failure }
  /** Of a graph: what a step is done for, each on its own. */
  ListTaken: OfStep & { readonly items: unknown }
  /** Of a machine: what came of event `by`; 0 is the start. Without `state` it stayed as it was. */
  StateMoved: { readonly by: number; readonly state?: unknown }
  RunCompleted: {
    readonly output: unknown
    /** Steps and children that were asked for at the very end and not awaited: they never began. */
    readonly notBegun: readonly string[]
    /** Handlers that were still at work. */
    readonly cutOff: readonly string[]
  }
  RunFailed: { readonly failure: Failure; readonly compensationFailures?: readonly Failure[] }
  RunCancelled: {
    readonly reason?: string
    readonly compensationFailures?: readonly Failure[]
  }
  /** The last event of a generation that ended with `continueAsNew`. */
  RunContinued: unknown
  /** The first event of every generation but the first; what it took over follows. */
  GenerationBegan: {
    readonly reason: 'continued' | 'retried' | 'reset' | 'forked'
    readonly input: unknown
    /** From 1; one more with each `retry` of the run. */
    readonly attempt: number
    readonly forkedFrom?: string
  }
}
