// What others send to a run. A message has an id and is consumed once; the store fixes the order of a run's messages
// when it accepts them.

import type { Failure } from '../base/failure.ts'
import type { Instant } from '../base/time.ts'
import type { Payload } from '../base/value.ts'
import type { Ending, GivenUp } from './event.ts'

export type Message =
  | {
      readonly type: 'signal'
      readonly id: string
      readonly name: string
      readonly payload: Payload
      readonly traceparent?: string
    }
  | {
      readonly type: 'update'
      readonly id: string
      readonly name: string
      readonly payload: Payload
      readonly traceparent?: string
    }
  | { readonly type: 'cancel'; readonly id: string; readonly reason?: string }
  /** Ends the run without running its code. */
  | { readonly type: 'terminate'; readonly id: string; readonly reason: string }
  /** Pauses the run until it is resumed. */
  | { readonly type: 'pause'; readonly id: string; readonly note?: string }
  | { readonly type: 'resume'; readonly id: string }
  /** An operator gives the result of an open step. */
  | {
      readonly type: 'settle'
      readonly id: string
      readonly step: string
      readonly value: Payload
      readonly note: string
    }
  /** Lets a pending run begin. */
  | { readonly type: 'trigger'; readonly id: string; readonly input?: Payload }
  /** Moves the run to another definition. */
  | {
      readonly type: 'migrate'
      readonly id: string
      readonly hash: string
      readonly steps: Readonly<Record<string, string | null>>
    }
  /** Drops a message that no worker can read, and that blocks the run. */
  | {
      readonly type: 'discard'
      readonly id: string
      readonly message: string
      readonly note?: string
    }
  /** Carries nothing: its arrival makes a worker look at the run. */
  | { readonly type: 'nudge'; readonly id: string }
  | {
      readonly type: 'taskEnded'
      readonly id: string
      readonly generation: number
      readonly key: string
      readonly outcome: StepOutcome
    }
  /** The body of a queued step left it to be completed from outside. */
  | {
      readonly type: 'taskLeft'
      readonly id: string
      readonly generation: number
      readonly key: string
      readonly left: StepLeft
    }
  /** The holder of a step's token completes or fails it. */
  | {
      readonly type: 'complete'
      readonly id: string
      readonly generation: number
      readonly key: string
      readonly outcome: ChildOutcome
    }
  | {
      readonly type: 'childEnded'
      readonly id: string
      readonly generation: number
      readonly key: string
      readonly child: string
      readonly outcome: ChildOutcome
    }

/** Messages that stop a run. Even a delayed or paused run reads them. */
export type Stop = Extract<Message, { type: 'cancel' | 'terminate' }>

export function isStop(message: Message): message is Stop {
  return message.type === 'cancel' || message.type === 'terminate'
}

/** The ending of a run that is stopped without running its code. */
export function endingBy(stop: Stop): Ending {
  const { type, reason } = stop
  if (type === 'cancel') return { type: 'RunCancelled', ...(reason !== undefined && { reason }) }
  return { type: 'RunFailed', failure: { type: TERMINATED, message: reason, retryable: false } }
}

/** The type of the failure of a run that was terminated. */
export const TERMINATED = 'Terminated'

/** The reason of a pause by hand without a note. */
export const BY_HAND = 'paused by hand'

/** How a step ended for good. */
export type StepOutcome =
  | {
      readonly ok: true
      readonly attempt: number
      readonly value: Payload
      /** Streams that the step closes. */
      readonly closes?: readonly string[]
    }
  | {
      readonly ok: false
      readonly attempt: number
      readonly failure: Failure
      readonly reason: GivenUp
    }

/** An attempt that left its step to be completed from outside; without that, it failed like this at `until`. */
export interface StepLeft {
  readonly attempt: number
  readonly failure: Failure
  readonly until: Instant
}

export type ChildOutcome =
  | { readonly ok: true; readonly value: Payload }
  | { readonly ok: false; readonly failure: Failure }
