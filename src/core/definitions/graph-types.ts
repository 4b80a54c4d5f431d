// The types of graphs in code: the steps so far, and the result of each.

import type { Duration } from '../base/time.ts'
import type { Signal, Timeout } from './context.ts'
import type { ActivityContext, AnyActivityContract, AnyWorkflowContract, OutputOf, Typed } from './contract.ts'
import type { Rule } from './graph-plan.ts'
import type { ActivityOptions } from './options.ts'
import type { Workflow } from './workflow.ts'

/** Marks, in types only, a graph step that may be skipped. Exported so that declaration files can name it. */
export interface Skipped {
  readonly '~skipped': true
}

type Named = Readonly<Record<string, unknown>>
type Present<T> = Exclude<T, Skipped>
type Ended<T> = Skipped extends T ? Present<T> | undefined : T

/** The results that a step sees. Under the default rule all are present; under another rule each may be missing. */
export type Results<S, Dep extends keyof S, R extends Rule> = 'allSucceeded' extends R
  ? { readonly [K in Dep]: Present<S[K]> }
  : { readonly [K in Dep]?: Present<S[K]> }

/** The outcome of a step, which may be skipped if it has a condition or if a step it comes after may be skipped. */
type Outcome<Out, S, Dep extends keyof S, R extends Rule, When> =
  | Out
  | ([When] extends [never] ? never : Skipped)
  | ('allSucceeded' extends R ? Extract<S[Dep], Skipped> : [R] extends ['allDone'] ? never : Skipped)

type Fresh<Name extends string, S> = Name extends keyof S ? `step '${Name}' exists already` : Name

/** What the functions of a graph get: the input of the run, and the results of the steps it comes after. */
export interface GraphContext<out In, out Res> {
  readonly input: In
  /** Results by the names of the steps. */
  readonly results: Res
}

/** Options of a graph step. */
export interface GraphStepOptions<In, S, Dep extends keyof S, R extends Rule, When> extends ActivityOptions {
  /** The steps it comes after. Default: none, so that it starts with the run. */
  readonly after?: readonly Dep[]
  /** When it may start, by the outcomes of the steps it comes after. Default `'allSucceeded'`. */
  readonly rule?: R
  /** The step is skipped if this returns false. It is called once. */
  readonly when?: (ctx: GraphContext<In, Results<S, Dep, R>>) => When
  /** Pause before it starts, once it may start. Default: none. */
  readonly delay?: Duration
}

type InputFrom<D, Ctx> = D extends Typed<infer DIn, unknown> ? (ctx: Ctx) => DIn : never
type StepContext<In, Res> = GraphContext<In, Res> & ActivityContext

interface EachOptions<In, S, Dep extends keyof S, R extends Rule, When, Item>
  extends GraphStepOptions<In, S, Dep, R, When> {
  /** Returns the list of items. */
  readonly over: (ctx: GraphContext<In, Results<S, Dep, R>>) => readonly Item[]
  /** How many items are processed at once. Default: all of them. */
  readonly parallel?: number
}

/** A graph: a workflow of named steps. Every call returns a new graph with one more step. */
export interface Graph<in out In, in out S extends Named, out Out = { readonly [K in keyof S]: Ended<S[K]> }>
  extends Workflow<In, Out> {
  /** Adds a step with a function. With a `queue` it runs on a worker of that queue. */
  step<const Name extends string, Result>(
    name: Fresh<Name, S>,
    handler: (ctx: StepContext<In, {}>) => Result | Promise<Result>,
  ): GraphStep<In, S & Record<Name, Result>, Result>
  step<
    const Name extends string,
    Result,
    Dep extends keyof S & string = never,
    R extends Rule = 'allSucceeded',
    When extends boolean = never,
  >(
    name: Fresh<Name, S>,
    options: GraphStepOptions<In, S, Dep, R, When>,
    handler: (ctx: StepContext<In, Results<S, Dep, R>>) => Result | Promise<Result>,
  ): GraphStep<In, S & Record<Name, Outcome<Result, S, Dep, R, When>>, Result>
  /** Adds a step that runs an activity or a child workflow; the function makes its input. */
  run<
    const Name extends string,
    D extends AnyActivityContract | AnyWorkflowContract,
    Dep extends keyof S & string = never,
    R extends Rule = 'allSucceeded',
    When extends boolean = never,
  >(
    name: Fresh<Name, S>,
    options: GraphStepOptions<In, S, Dep, R, When>,
    definition: D,
    input: InputFrom<D, GraphContext<In, Results<S, Dep, R>>>,
  ): GraphStep<In, S & Record<Name, Outcome<OutputOf<D>, S, Dep, R, When>>, OutputOf<D>>
  /** Adds a step that runs once for each item of a list; its result is the list of results, in order. */
  each<
    const Name extends string,
    Item,
    Result,
    Dep extends keyof S & string = never,
    R extends Rule = 'allSucceeded',
    When extends boolean = never,
  >(
    name: Fresh<Name, S>,
    options: EachOptions<In, S, Dep, R, When, Item>,
    handler: (
      ctx: StepContext<In, Results<S, Dep, R>> & { readonly item: Item; readonly index: number },
    ) => Result | Promise<Result>,
  ): GraphStep<In, S & Record<Name, Outcome<Result[], S, Dep, R, When>>, Result[]>
  /** Adds a step that waits for a signal; its result is the payload, or `TIMEOUT`. */
  wait<const Name extends string, Payload, Dep extends keyof S & string = never>(
    name: Fresh<Name, S>,
    options: { readonly after?: readonly Dep[]; readonly timeout: Duration },
    signal: Signal<Payload>,
  ): GraphStep<In, S & Record<Name, Outcome<Payload | Timeout, S, Dep, 'allSucceeded', never>>, Payload | Timeout>
  wait<const Name extends string, Payload, Dep extends keyof S & string = never>(
    name: Fresh<Name, S>,
    options: { readonly after?: readonly Dep[] },
    signal: Signal<Payload>,
  ): GraphStep<In, S & Record<Name, Outcome<Payload, S, Dep, 'allSucceeded', never>>, Payload>
  /** Sets the output of the run. Default: the results of all steps. */
  output<Result>(fn: (ctx: GraphContext<In, { readonly [K in keyof S]: Ended<S[K]> }>) => Result): Workflow<In, Result>
}

/** Without a queue, because a compensation runs on the worker that holds the run. */
type UndoOptions = Omit<ActivityOptions, 'queue' | 'priority' | 'scheduleToStart'>
type UndoContext<In, Result> = ActivityContext & { readonly input: In; readonly result: Result }

/** A graph whose last step can get a compensation. */
export interface GraphStep<in out In, in out S extends Named, in out Result> extends Graph<In, S> {
  /** Adds a compensation to the last step: it undoes the step if the run fails or is cancelled later. */
  compensate(undo: (ctx: UndoContext<In, Result>) => void | Promise<void>): Graph<In, S>
  /** With `ownFailure` it also runs if the step itself failed or was stopped; there is no result then. */
  compensate(
    options: UndoOptions & { readonly ownFailure: true },
    undo: (ctx: UndoContext<In, Result | undefined>) => void | Promise<void>,
  ): Graph<In, S>
  compensate(
    options: UndoOptions & { readonly ownFailure?: false },
    undo: (ctx: UndoContext<In, Result>) => void | Promise<void>,
  ): Graph<In, S>
}

// The `ctx` of a graph step: the context of every step, with the input and results of the graph.

const NAMES: Readonly<Record<keyof ActivityContext, true>> = {
  runId: true,
  workflowId: true,
  stepKey: true,
  idempotencyKey: true,
  attempt: true,
  maxAttempts: true,
  build: true,
  signal: true,
  traceparent: true,
  log: true,
  client: true,
  heartbeat: true,
  lastHeartbeat: true,
  runOnce: true,
  stream: true,
  completionToken: true,
  completeLater: true,
}

/** Both as one object. Properties are getters, so that values computed on first use stay lazy. */
export function withScope<Scope extends object>(ctx: ActivityContext, scope: Scope): ActivityContext & Scope {
  const context = Object.defineProperties({}, Object.getOwnPropertyDescriptors(scope))
  for (const name of Object.keys(NAMES) as (keyof ActivityContext)[])
    Object.defineProperty(context, name, { get: () => ctx[name], enumerable: true })
  return context as ActivityContext & Scope
}
