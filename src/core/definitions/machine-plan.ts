// Machine plans: a machine in the form that the decider runs, without types, with handlers by name.

import type { Failure } from '../base/failure.ts'
import type { StepShape } from '../kernel/event.ts'
import type { Settled } from './context.ts'
import type { AnyActivityContract, AnyWorkflowContract } from './contract.ts'
import type { ActivityOptions, ChildOptions, WorkflowOptions } from './options.ts'
import type { AnySchema } from './schema.ts'

export interface MachinePlan {
  readonly name: string
  /** Changes with the activities, signals, timers and optional handlers of the machine, but not with their code. */
  readonly hash: string
  readonly shapes: readonly StepShape[]
  /** Activities by the names that the machine uses. */
  readonly activities: ReadonlyMap<string, MachineActivity>
  readonly timers: ReadonlySet<string>
  /** The names that the machine uses for signals, by the names they are sent under. */
  readonly signals: ReadonlyMap<string, string>
  readonly state?: AnySchema
  readonly handlers: PlanHandlers
}

export type MachineActivity = AnyActivityContract & { readonly options?: ActivityOptions }

/** Each handler returns a move, which is checked because the code of users may return anything. */
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
  readonly childEnded?: (state: unknown, event: { readonly id: string; readonly outcome: Settled<unknown> }) => unknown
  readonly cancelled?: (state: unknown, event: { readonly reason?: string }) => unknown
  readonly timerFired: (timer: string, state: unknown) => unknown
  readonly signal: (signal: string, state: unknown, payload: unknown) => unknown
}

/** An action of a move, as `act` makes it. */
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
