// A machine as it is run: its types are forgotten, and its handlers are asked by name.

import type { Failure } from '../base/failure.ts'
import type { StepShape } from '../kernel/event.ts'
import type { Settled } from './context.ts'
import type { AnyActivityContract, AnyWorkflowContract } from './contract.ts'
import type { ActivityOptions, ChildOptions, WorkflowOptions } from './options.ts'
import type { AnySchema } from './schema.ts'

export interface MachinePlan {
  readonly name: string
  /** Changes with its activities, signals and timers, and with which handlers there are; not with the code in them. */
  readonly hash: string
  readonly shapes: readonly StepShape[]
  /** By the names the machine has for them. */
  readonly activities: ReadonlyMap<string, MachineActivity>
  readonly timers: ReadonlySet<string>
  /** The names the machine has for signals, by the names they are sent under. */
  readonly signals: ReadonlyMap<string, string>
  readonly state?: AnySchema
  readonly handlers: PlanHandlers
}

export type MachineActivity = AnyActivityContract & { readonly options?: ActivityOptions }

/** Each gives a move, if its code is right. */
export interface PlanHandlers {
  readonly start: (input: unknown) => unknown
  readonly activityCompleted: (
    activity: string,
    state: unknown,
    event: { readonly id: string; readonly result: unknown },
  ) => unknown
  readonly activityFailed?: (
    state: unknown,
    event: { readonly activity: string; readonly id: string; readonly failure: Failure },
  ) => unknown
  readonly childEnded?: (
    state: unknown,
    event: { readonly id: string; readonly outcome: Settled<unknown> },
  ) => unknown
  readonly cancelled?: (state: unknown, event: { readonly reason?: string }) => unknown
  readonly timerFired: (timer: string, state: unknown) => unknown
  readonly signal: (signal: string, state: unknown, payload: unknown) => unknown
}

/** What a move asks for. */
export type MachineAction =
  | {
      readonly action: 'run'
      readonly activity: string
      readonly input: unknown
      readonly id: string | undefined
      readonly options: ActivityOptions
    }
  | { readonly action: 'timer'; readonly timer: string; readonly ms: number }
  | { readonly action: 'cancelTimer'; readonly timer: string }
  | { readonly action: 'cancel'; readonly id: string }
  | {
      readonly action: 'child'
      readonly workflow: AnyWorkflowContract & { readonly options?: WorkflowOptions }
      readonly input: unknown
      readonly id: string | undefined
      readonly options: ChildOptions
    }
  | { readonly action: 'complete'; readonly output: unknown }
  | { readonly action: 'fail'; readonly error: unknown }
