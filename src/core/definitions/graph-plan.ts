// A graph as it is run, however it was written: in code or as data. Names are unique, every step comes after steps of the
// same graph, and nothing comes after itself: who makes a plan has seen to that.
import type { StepShape } from '../kernel/event.ts'
import type { ActivityContext } from './contract.ts'
import type { ActivityOptions, ChildOptions } from './options.ts'

/** When a step may begin, by what became of the steps it comes after. */
export type Rule =
  | 'allSucceeded'
  | 'allDone'
  | 'oneSucceeded'
  | 'oneDone'
  | 'noneFailed'
  | 'oneFailed'

export const RULES: readonly Rule[] = [
  'allSucceeded',
  'allDone',
  'oneSucceeded',
  'oneDone',
  'noneFailed',
  'oneFailed',
]

/** What the functions of a graph see. Results are own properties; steps that did not succeed have none. */
export interface GraphScope {
  readonly input: unknown
  readonly results: Readonly<Record<string, unknown>>
  /** Of the list a step is done for. */
  readonly item?: unknown
  readonly index?: number
}

export interface GraphPlan {
  readonly name: string
  /** Changes when its steps, what they are, or what they come after changes; not with the code in them. */
  readonly hash: string
  readonly shapes: readonly StepShape[]
  readonly nodes: ReadonlyMap<string, GraphNode>
  /** What the run gives; without it, the results of all steps. */
  readonly output?: (scope: GraphScope) => unknown
}

export interface GraphNode {
  readonly name: string
  readonly after: readonly string[]
  readonly rule: Rule
  /** The steps whose results it sees. */
  readonly sees: readonly string[]
  /** It is skipped if this gives anything but true. */
  readonly when?: (scope: GraphScope) => unknown
  readonly delayMs?: number
  /** The step is done for each of these, so many at once. */
  readonly each?: { readonly over: (scope: GraphScope) => unknown; readonly parallel?: number }
  readonly work: Work
  readonly undo?: Undo
}

export type Work =
  /** Runs where the run is held. */
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
      /** It is the graph's own code, under a name that workers with the graph know. */
      readonly own?: true
    }
  | {
      readonly type: 'child'
      readonly options: ChildOptions
      readonly workflow: string
      readonly input: (scope: GraphScope) => unknown
    }
  | { readonly type: 'wait'; readonly signal: string; readonly timeoutMs?: number }

/** What undoes a step: a function, or an activity. */
export type Undo = {
  readonly options: ActivityOptions
  /** Also if the step itself failed, or was cut off: then there is no result. */
  readonly ownFailure?: true
} & (
  | {
      readonly body: (
        ctx: ActivityContext & { readonly input: unknown; readonly result: unknown },
      ) => unknown
    }
  | {
      readonly activity: string
      readonly activityInput: (scope: GraphScope & { readonly result: unknown }) => unknown
    }
)
