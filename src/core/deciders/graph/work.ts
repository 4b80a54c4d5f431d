// The work of a graph step, and what undoes it: as a request of the run, and as the plan by which a worker executes it.

import type { ActivityContext } from '../../definitions/contract.ts'
import type { GraphNode, GraphScope, Undo } from '../../definitions/graph-plan.ts'
import { withScope } from '../../definitions/graph-types.ts'
import { type ActivityOf, activityPlan, stepPlan } from '../../definitions/plan.ts'
import type { RunStep, StartChild } from '../../kernel/command.ts'
import type { StepPlan } from '../../kernel/decider.ts'
import { activityRequest, childRequest, type Unplaced } from '../requests.ts'

type WorkRequest = Unplaced<RunStep> | Unplaced<StartChild>

/** The request for the work of a step. Undefined for a wait, which the execution requests itself. */
export function workRequest(
  { name, work }: GraphNode,
  key: string,
  scope: () => GraphScope,
  activities: ActivityOf,
): WorkRequest | undefined {
  switch (work.type) {
    case 'step':
      return stepRequest(key, name, stepPlan(work.options))
    case 'activity': {
      const activity = { name: work.activity }
      return activityRequest(key, activity, work.input(scope()), work.options, activities).request
    }
    case 'child':
      return childRequest(key, { name: work.workflow }, work.input(scope()), work.options)
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

export function undoRequest(
  undo: Undo,
  key: string,
  name: string,
  scope: () => UndoScope,
  activities: ActivityOf,
): WorkRequest {
  if ('body' in undo) return stepRequest(key, name, stepPlan(undo.options))
  const activity = { name: undo.activity }
  const input = undo.activityInput(scope())
  return activityRequest(key, activity, input, undo.options, activities).request
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

function stepRequest(key: string, name: string, { scheduleToCloseMs }: StepPlan): Unplaced<RunStep> {
  const limits = scheduleToCloseMs === undefined ? {} : { scheduleToCloseMs }
  return { type: 'RunStep', kind: 'step', key, name, ...limits }
}
