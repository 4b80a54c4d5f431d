// What the compiler knows of a graph while it is written: the steps there are so far, and what each gives.
import type { Duration } from '../base/duration.ts'
import type { Signal, Timeout } from './context.ts'
import type {
  ActivityContext,
  AnyActivityContract,
  AnyWorkflowContract,
  OutputOf,
  Typed,
} from './contract.ts'
import type { Rule } from './graph-plan.ts'
import type { ActivityOptions } from './options.ts'
import type { Workflow } from './workflow.ts'

/** Marks, in types only, a step that may be skipped. Exported so that declaration files can name it. */
export interface Skipped {
  readonly '~skipped': true
}

type Named = Readonly<Record<string, unknown>>
type Present<T> = Exclude<T, Skipped>
type Ended<T> = Skipped extends T ? Present<T> | undefined : T

/** Under the default rule every step it comes after has succeeded; under another one it may be missing. */
export type Results<S, Dep extends keyof S, R extends Rule> = 'allSucceeded' extends R
  ? { readonly [K in Dep]: Present<S[K]> }
  : { readonly [K in Dep]?: Present<S[K]> }

/** A step may be skipped if it has a condition, or if a step it needs may be skipped. */
type Outcome<Out, S, Dep extends keyof S, R extends Rule, When> =
  | Out
  | ([When] extends [never] ? never : Skipped)
  | ('allSucceeded' extends R
      ? Extract<S[Dep], Skipped>
      : [R] extends ['allDone']
        ? never
        : Skipped)

type Fresh<Name extends string, S> = Name extends keyof S ? `step '${Name}' exists already` : Name

/** What conditions, lists, inputs and outputs of a graph are made from. */
export interface GraphContext<out In, out Res> {
  readonly input: In
  readonly results: Res
}

/** What a step comes after, when it is done, and how. */
export interface GraphStepOptions<In, S, Dep extends keyof S, R extends Rule, When>
  extends ActivityOptions {
  readonly after?: readonly Dep[]
  /** When it may begin, by what became of the steps it comes after. 'allSucceeded' */
  readonly rule?: R
  /** It is skipped if this gives false. Asked once. */
  readonly when?: (ctx: GraphContext<In, Results<S, Dep, R>>) => When
  /** How long it waits once it may begin. */
  readonly delay?: Duration
}

type InputFrom<D, Ctx> = D extends Typed<infer DIn, unknown> ? (ctx: Ctx) => DIn : never
type StepContext<In, Res> = GraphContext<In, Res> & ActivityContext

interface EachOptions<In, S, Dep extends keyof S, R extends Rule, When, Item>
  extends GraphStepOptions<In, S, Dep, R, When> {
  readonly over: (ctx: GraphContext<In, Results<S, Dep, R>>) => readonly Item[]
  /** So many at once; all of them when absent. */
  readonly parallel?: number
}

/** A graph so far: every call adds a step and gives the next one. */
export interface Graph<
  in out In,
  in out S extends Named,
  out Out = { readonly [K in keyof S]: Ended<S[K]> },
> extends Workflow<In, Out> {
  /** A step is a function. With a `queue` it is for the workers of that queue. */
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
  /** An activity, or a whole workflow of any style, as a step; the function makes its input. */
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
  /** A step for each of a list; its result is the list of results, in order. */
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
  /** A step that is done when a signal comes, or when it has not come in time. */
  wait<const Name extends string, Payload, Dep extends keyof S & string = never>(
    name: Fresh<Name, S>,
    options: { readonly after?: readonly Dep[]; readonly timeout: Duration },
    signal: Signal<Payload>,
  ): GraphStep<
    In,
    S & Record<Name, Outcome<Payload | Timeout, S, Dep, 'allSucceeded', never>>,
    Payload | Timeout
  >
  wait<const Name extends string, Payload, Dep extends keyof S & string = never>(
    name: Fresh<Name, S>,
    options: { readonly after?: readonly Dep[] },
    signal: Signal<Payload>,
  ): GraphStep<In, S & Record<Name, Outcome<Payload, S, Dep, 'allSucceeded', never>>, Payload>
  /** What the run gives; without it, the results of all steps. */
  output<Result>(
    fn: (ctx: GraphContext<In, { readonly [K in keyof S]: Ended<S[K]> }>) => Result,
  ): Workflow<In, Result>
}

/** It runs where the run is. */
type UndoOptions = Omit<ActivityOptions, 'queue' | 'priority' | 'scheduleToStart'>
type UndoContext<In, Result> = ActivityContext & { readonly input: In; readonly result: Result }

export interface GraphStep<in out In, in out S extends Named, in out Result> extends Graph<In, S> {
  /** Undoes the step just added when the run fails or is cancelled later. */
  compensate(undo: (ctx: UndoContext<In, Result>) => void | Promise<void>): Graph<In, S>
  /** With `ownFailure` it is also called if the step itself failed or was cut off; then there is no result. */
  compensate(
    options: UndoOptions & { readonly ownFailure: true },
    undo: (ctx: UndoContext<In, Result | undefined>) => void | Promise<void>,
  ): Graph<In, S>
  compensate(
    options: UndoOptions & { readonly ownFailure?: false },
    undo: (ctx: UndoContext<In, Result>) => void | Promise<void>,
  ): Graph<In, S>
}
