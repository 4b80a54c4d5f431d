// From a step of a graph to what the run is asked for, and to what a worker does about it.

import type { ActivityContext, AnyWorkflowContract } from '../../definitions/contract.ts'
import { withScope } from '../../definitions/graph-context.ts'
import type { GraphNode, GraphScope, Undo } from '../../definitions/graph-plan.ts'
import type { ActivityOptions } from '../../definitions/options.ts'
import { type ActivityOf, activityPlan, stepPlan } from '../../definitions/plan.ts'
import type { RunStep, StartChild } from '../../kernel/command.ts'
import type { StepPlan } from '../../kernel/decider.ts'
import { activityAsk, childAsk } from '../asks.ts'

/** What a step is asked for with, before anybody has said when. */
export type Ask = Omit<RunStep, 'after'> | Omit<StartChild, 'after'>

/** Asks for the work of a step. Waits are asked for elsewhere. */
export function workAsk(
  { name, work }: GraphNode,
  key: string,
  scope: () => GraphScope,
  activities: ActivityOf,
): Ask | undefined {
  switch (work.type) {
    case 'step':
      return { type: 'RunStep', kind: 'step', key, name, ...limitsOf(stepPlan(work.options)) }
    case 'activity': {
      const { activity, options } = work
      return activityAsked(key, activity, work.input(scope()), options, activities)
    }
    case 'child': {
      const child = { is: 'workflow', name: work.workflow } as unknown as AnyWorkflowContract
      return childAsk(key, child, work.input(scope()), work.options)
    }
    case 'wait':
      return undefined
  }
}

export function workPlan(
  { name, work }: GraphNode,
  scope: () => GraphScope,
  activities: ActivityOf,
): StepPlan | undefined {
  switch (work.type) {
    case 'step': {
      const { body } = work
      const call = (ctx: ActivityContext): unknown => body(withScope(ctx, scope()))
      return { ...stepPlan(work.options), body: call }
    }
    case 'activity':
      return activityPlan(work.options, activities(work.activity)?.options, `step '${name}'`)
    case 'child':
    case 'wait':
      return undefined
  }
}

export type UndoScope = GraphScope & { readonly result: unknown }

export function undoAsk(
  undo: Undo,
  key: string,
  name: string,
  scope: () => UndoScope,
  activities: ActivityOf,
): Ask {
  if ('body' in undo)
    return { type: 'RunStep', kind: 'step', key, name, ...limitsOf(stepPlan(undo.options)) }
  const { activity, options } = undo
  return activityAsked(key, activity, undo.activityInput(scope()), options, activities)
}

export function undoPlan(undo: Undo, scope: () => UndoScope, activities: ActivityOf): StepPlan {
  if (!('body' in undo)) {
    const { activity, options } = undo
    return activityPlan(options, activities(activity)?.options, `activity '${activity}'`)
  }
  const { body } = undo
  const call = (ctx: ActivityContext): unknown => body(withScope(ctx, scope()))
  return { ...stepPlan(undo.options), body: call }
}

function activityAsked(
  key: string,
  name: string,
  input: unknown,
  options: ActivityOptions,
  activities: ActivityOf,
): Omit<RunStep, 'after'> {
  const activity = { is: 'activity', name } as unknown as Parameters<typeof activityAsk>[1]
  return activityAsk(key, activity, input, options, activities).wanted
}

function limitsOf({ scheduleToCloseMs }: StepPlan): { readonly scheduleToCloseMs?: number } {
  return scheduleToCloseMs === undefined ? {} : { scheduleToCloseMs }
}
