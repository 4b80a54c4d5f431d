// Graph plans: a graph in the form that the decider runs, whether it was written in code or as a document. A plan has
// been checked: names are unique, every step comes after steps of the same graph, and there is no cycle.
import { digest } from '../base/digest.ts'
import type { StepShape } from '../kernel/event.ts'
import type { ActivityContext } from './contract.ts'
import type { ActivityOptions, ChildOptions } from './options.ts'

/** When a graph step may start, by the outcomes of the steps it comes after. */
export type Rule = 'allSucceeded' | 'allDone' | 'oneSucceeded' | 'oneDone' | 'noneFailed' | 'oneFailed'

export const RULES: readonly Rule[] = ['allSucceeded', 'allDone', 'oneSucceeded', 'oneDone', 'noneFailed', 'oneFailed']

/** What the functions of a graph get. Results are own properties; a step that did not succeed has none. */
export interface GraphScope {
  readonly input: unknown
  readonly results: Readonly<Record<string, unknown>>
  /** The item of an `each` step. */
  readonly item?: unknown
  readonly index?: number
}

export interface GraphPlan {
  readonly name: string
  /** Changes with the steps, their kinds and their order, but not with the code in them. */
  readonly hash: string
  readonly shapes: readonly StepShape[]
  readonly nodes: ReadonlyMap<string, GraphNode>
  /** The output of the run. Default: the results of all steps. */
  readonly output?: (scope: GraphScope) => unknown
}

export interface GraphNode {
  readonly name: string
  readonly after: readonly string[]
  readonly rule: Rule
  /** The steps whose results it sees. */
  readonly sees: readonly string[]
  /** The step is skipped unless this returns true. */
  readonly when?: (scope: GraphScope) => unknown
  readonly delayMs?: number
  /** The step runs for each item of this list, `parallel` at once. */
  readonly each?: { readonly over: (scope: GraphScope) => unknown; readonly parallel?: number }
  readonly work: Work
  readonly undo?: Undo
}

export type Work =
  /** Runs on the worker that holds the run. */
  | {
      readonly type: 'step'
      readonly options: ActivityOptions
      readonly body: (ctx: ActivityContext & GraphScope) => unknown
    }
  | {
      readonly type: 'activity'
      readonly options: ActivityOptions
      readonly activity: string
      readonly input: (scope: GraphScope) => unknown
      /** The activity is a function of the graph itself, registered with the graph. */
      readonly own?: true
    }
  | {
      readonly type: 'child'
      readonly options: ChildOptions
      readonly workflow: string
      readonly input: (scope: GraphScope) => unknown
    }
  | { readonly type: 'wait'; readonly signal: string; readonly timeoutMs?: number }

/** The compensation of a step: a function or an activity. */
export type Undo = {
  readonly options: ActivityOptions
  /** It also runs if the step itself failed or was stopped; there is no result then. */
  readonly ownFailure?: true
} & (
  | {
      readonly body: (ctx: ActivityContext & { readonly input: unknown; readonly result: unknown }) => unknown
    }
  | {
      readonly activity: string
      readonly activityInput: (scope: GraphScope & { readonly result: unknown }) => unknown
    }
)

// The shape of a graph: its steps, their kinds and their order, without the code in them.

export function shapeOf({ name, after, rule, each, work }: GraphNode): StepShape {
  const marks = [...(each ? ['each'] : []), ...(rule === 'allSucceeded' ? [] : [rule])]
  return [name, [whatOf(work), ...marks].join(' '), ...after.toSorted()]
}

/** The hash of a shape. The order in which steps were written does not matter. */
export function shapeHash(shapes: readonly StepShape[]): string {
  const sorted = shapes.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return digest(JSON.stringify(sorted))
}

function whatOf(work: Work): string {
  switch (work.type) {
    case 'step':
      return 'step'
    case 'activity':
      return work.own ? 'step' : `activity:${work.activity}`
    case 'child':
      return `child:${work.workflow}`
    case 'wait':
      return `wait:${work.signal}`
  }
}
