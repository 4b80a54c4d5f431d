// The history of a run as users see it: a union of event types, told apart by `type`, with decoded values.

import type { Failure } from '../base/failure.ts'
import type { AttributesChange } from '../definitions/attributes.ts'

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
