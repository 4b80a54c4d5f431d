// What reaches a run from outside. A message has an id, and the same id is taken once; the store fixes
// the order in which a run sees its messages when it accepts them.

import type { Failure } from '../base/failure.ts'
import type { Instant } from '../base/instant.ts'
import type { Payload } from '../base/value.ts'
import type { Ending, GivenUp } from './event.ts'

export type Message =
  | {
      readonly type: 'signal'
      readonly id: string
      readonly name: string
      readonly payload: Payload
    }
  | {
      readonly type: 'update'
      readonly id: string
      readonly name: string
      readonly payload: Payload
    }
  | { readonly type: 'cancel'; readonly id: string; readonly reason?: string }
  /** Ends the run where it is, without its code. */
  | { readonly type: 'terminate'; readonly id: string; readonly reason: string }
  /** Somebody wants the run to rest, until it is told to go on. */
  | { readonly type: 'pause'; readonly id: string; readonly note?: string }
  | { readonly type: 'resume'; readonly id: string }
  /** Somebody says how a step ended, whatever it is at. */
  | {
      readonly type: 'settle'
      readonly id: string
      readonly step: string
      readonly value: Payload
      readonly note: string
    }
  /** Lets a run begin that was created to wait for it. */
  | { readonly type: 'trigger'; readonly id: string; readonly input?: Payload }
  /** Has the run go by another definition. */
  | {
      readonly type: 'migrate'
      readonly id: string
      readonly hash: string
      readonly steps: Readonly<Record<string, string | null>>
    }
  /** Drops a message that cannot be read, and that keeps the run from going on. */
  | {
      readonly type: 'discard'
      readonly id: string
      readonly message: string
      readonly note?: string
    }
  /** Says nothing; the run is looked at because it came. */
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
  /** Whoever has the token of a step says how it ended. */
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

/** What stops a run. It is heard even by one that waits for its time, or is paused. */
export type Stop = Extract<Message, { type: 'cancel' | 'terminate' }>

export function isStop(message: Message): message is Stop {
  return message.type === 'cancel' || message.type === 'terminate'
}

/** How a run ends that is stopped without its code. */
export function endingBy(stop: Stop): Ending {
  const { type, reason } = stop
  if (type === 'cancel') return { type: 'RunCancelled', ...(reason !== undefined && { reason }) }
  return { type: 'RunFailed', failure: { type: TERMINATED, message: reason, retryable: false } }
}

/** The type of the failure of a run that was terminated. */
export const TERMINATED = 'Terminated'

/** What a run says that was paused by hand, if nobody gave a reason. */
export const BY_HAND = 'paused by hand'

/** How a step ended for good. */
export type StepOutcome =
  | { readonly ok: true; readonly attempt: number; readonly value: Payload }
  | {
      readonly ok: false
      readonly attempt: number
      readonly failure: Failure
      readonly reason: GivenUp
    }

/** An attempt that ended without a result, which comes from outside; until then, the failure it will have been. */
export interface StepLeft {
  readonly attempt: number
  readonly failure: Failure
  readonly until: Instant
}

export type ChildOutcome =
  | { readonly ok: true; readonly value: Payload }
  | { readonly ok: false; readonly failure: Failure }
