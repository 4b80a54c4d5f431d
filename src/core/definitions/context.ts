// `ctx`: everything durable a workflow function can do.
import type { Duration } from '../base/duration.ts'
import type { Failure } from '../base/failure.ts'
import type { Attributes, AttributesChange } from './attributes.ts'
import type {
  ActivityContext,
  ActivityContract,
  Args,
  Given,
  Handled,
  InputOf,
  Log,
  Typed,
  WorkflowContract,
} from './contract.ts'
import type { ChildOptions, RunOptions, StepIdentity, StepOptions } from './options.ts'
import type { Schema } from './schema.ts'

// Messages are contracts, too. They are here because their handlers get a `ctx`.
/** A message that a run takes, and does not answer. */
export interface Signal<in out Payload>
  extends Typed<Payload, Payload>,
    Handled<(payload: Payload, ctx: Context) => void | Promise<void>> {
  readonly is: 'signal'
}

/** A question that a run answers from its variables. */
export interface Query<in Payload, out Out>
  extends Typed<Payload, Out>,
    Handled<(payload: Payload) => Out> {
  readonly is: 'query'
}

/** A message that a run takes and answers. */
export interface Update<in Payload, out Out>
  extends Typed<Payload, Out>,
    Handled<(payload: Payload, ctx: Context) => Out | Promise<Out>> {
  readonly is: 'update'
}

export type AnyMessage = Handled<unknown> & { readonly is: 'signal' | 'query' | 'update' }
export type AnyUpdate = Update<never, unknown>

/** What `ctx.wait` and `ctx.scope` give when time ran out. */
export const TIMEOUT: unique symbol = Symbol.for('pawl.TIMEOUT')
/** The type of `TIMEOUT`. */
export type Timeout = typeof TIMEOUT

/** What `ctx.scope` gives when it was cancelled by its own `cancel`. */
export const CANCELLED: unique symbol = Symbol.for('pawl.CANCELLED')
/** The type of `CANCELLED`. */
export type Cancelled = typeof CANCELLED

/** Awaitable like any promise, and safe to combine with `Promise.all`, `race`, `any` and `allSettled`. */
export interface DurablePromise<out T> extends Promise<T> {
  readonly '~durable': true
}

/** A run id, or the newest run of a workflow id. */
export type RunRef = string | { readonly workflowId: string }

/** What can be settled once, from outside, by whoever has its token. */
export interface Webhook<out Payload> {
  readonly token: string
  /** Where the server takes the answer: the path, behind its address. */
  readonly url: string
  readonly '~payload'?: Payload
}

/** What a statement can be given. */
export type SqlValue = string | number | bigint | boolean | Date | Uint8Array | null

/** The transaction a step runs in. What it writes becomes durable with the step's result, or not at all. */
export interface Transaction {
  query<Row = unknown>(text: string, values?: readonly SqlValue[]): Promise<readonly Row[]>
}

/** The result of a child, and the child itself. */
export interface Child<out Out> extends DurablePromise<Out> {
  readonly runId: string
  /** Its names, once it is as good as started. */
  readonly started: DurablePromise<{ readonly runId: string; readonly workflowId: string }>
  signal<Payload>(
    signal: Signal<Payload>,
    ...payload: Args<NoInfer<Payload>, never>
  ): DurablePromise<void>
  /** Asks the child to stop. Its promise then fails as the child does. */
  cancel(reason?: string): void
}

/** What every child is. Terminating is not for the code of users, so the type they see does not have it. */
export interface TerminableChild extends Child<never> {
  terminate(reason: string): void
}

/** What a run knows of itself. */
export interface RunInfo {
  readonly runId: string
  readonly workflowId: string
  readonly name: string
  readonly definitionHash: string
  readonly generation: number
  /** From 1; one more with each `retry` of the run. */
  readonly attempt: number
  readonly parent?: { readonly runId: string }
  readonly memo: Readonly<Record<string, unknown>>
  /** What the run is found by: what it was started with, as its own code has changed it. */
  readonly attributes: Attributes
  readonly queue: string
  readonly priority: number
  readonly historyEvents: number
  /** Whether the history is long enough for `ctx.continueAsNew` to be worth it. */
  readonly suggestsContinue: boolean
  readonly startedAt: number
}

type Keyed = Pick<StepIdentity, 'key'>

/** How long, or until when. A time that has passed is over at once. */
type Deadline = { readonly timeout: Duration } | { readonly until: Date | number }

/** A branch given as a function gets a `ctx`, and so a scope, of its own. */
export type Branch<T> = DurablePromise<T> | ((ctx: Context) => Promise<T>)
/** Branches by their names. */
export type Branches = Readonly<Record<string, Branch<unknown>>>
/** What a branch gives. */
export type BranchValue<B> = B extends (ctx: Context) => Promise<infer T>
  ? T
  : B extends Promise<infer T>
    ? T
    : never
/** Which branch was first, and what it gave. */
export type Winner<B> = {
  [Name in keyof B]: { readonly winner: Name; readonly value: BranchValue<B[Name]> }
}[keyof B]

/** How something ended: with a value, or with a failure. */
export type Settled<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: Failure }

/** What `ctx.map` does for each item. */
export type MapStep<Item, R> = (ctx: Context, item: Item, index: number) => Promise<R>
/** How `ctx.map` goes through its items. */
export interface MapOptions<Item> {
  /** Items at once; all of them when absent. */
  readonly concurrency?: number
  /** What an item is known by when the code runs again; its index when absent. */
  readonly key?: (item: Item) => string
}

/** The `ctx` of a scope, which can be cancelled as a whole. */
export interface Scope extends Context {
  cancel(reason?: string): void
  readonly cancelled: boolean
}

/** The `ctx` of a saga, which is told how to undo what was done. */
export interface Saga extends Context {
  /** Undone newest first, each after the other, if the saga fails or is cancelled. */
  compensate(undo: (ctx: Context) => Promise<unknown>): void
}

/**
 * Steps belong to the `ctx` they are called on: functions given to `race`, `all`, `map`, `scope` and `shield` get their
 * own, and use that one.
 */
export interface Context<in In = never> {
  readonly info: RunInfo
  /** Written once the turn it belongs to is durable; silent while history is replayed. */
  readonly log: Log

  /** Runs an inline step, or an activity, and records its result. */
  run<R>(name: string, fn: (step: ActivityContext) => R | Promise<R>): DurablePromise<R>
  run<R>(
    name: string,
    options: StepOptions,
    fn: (step: ActivityContext) => R | Promise<R>,
  ): DurablePromise<R>
  run<In, Out>(
    activity: ActivityContract<In, Out>,
    ...args: Args<In, RunOptions>
  ): DurablePromise<Out>
  /** A plain function for an activity or child: options once, and loops that feed a result back infer. */
  bind<In, Out>(
    definition: ActivityContract<In, Out>,
    options?: RunOptions,
  ): (...args: Args<In, Keyed>) => DurablePromise<Out>
  bind<In, Out>(
    definition: WorkflowContract<In, Out>,
    options?: ChildOptions,
  ): (...args: Args<In, Keyed>) => DurablePromise<Out>
  child<In, Out>(workflow: WorkflowContract<In, Out>, ...args: Args<In, ChildOptions>): Child<Out>
  /**
   * A step in a transaction of the store's own database: what it writes and that it is done become durable together.
   * Only on stores that are a database.
   */
  transaction<R>(name: string, fn: (sql: Transaction) => Promise<R>): DurablePromise<R>
  /** Sends a signal to another run; resolves when it is as durable as this run's own steps. */
  signal<Payload>(
    run: RunRef,
    signal: Signal<Payload>,
    ...payload: Args<NoInfer<Payload>, never>
  ): DurablePromise<void>

  /** Starts a run that this one does not wait for, and that goes on when this one ends. */
  start<In, Out>(
    workflow: WorkflowContract<In, Out>,
    ...args: Args<In, Omit<ChildOptions, 'parentClose'>>
  ): DurablePromise<{ readonly runId: string; readonly workflowId: string }>
  /**
   * Signals the run of a workflow id that is in progress, or starts one with the signal in the same write. This run does not
   * wait for it. Resolves when that is as durable as this run's own steps.
   */
  signalWithStart<In, P>(
    workflow: WorkflowContract<In, unknown>,
    request: Omit<ChildOptions, 'parentClose' | 'onCancel'> & {
      readonly workflowId: string
      readonly signal: Signal<P>
    } & Given<'input', NoInfer<In>> &
      Given<'payload', NoInfer<P>>,
  ): DurablePromise<void>
  /** Asks another run to stop, as `run.cancel` does; resolves when that is as durable as this run's own steps. */
  cancelRun(run: RunRef, reason?: string): DurablePromise<void>

  sleep(duration: Duration, options?: Keyed): DurablePromise<void>
  sleepUntil(time: Date | number, options?: Keyed): DurablePromise<void>
  /** The next signal of this name, in the order they were accepted; it may have come before the wait. */
  wait<Payload>(
    source: Signal<Payload> | Webhook<Payload>,
    options?: Keyed,
  ): DurablePromise<Payload>
  wait<Payload>(
    source: Signal<Payload> | Webhook<Payload>,
    options: Keyed & Deadline,
  ): DurablePromise<Payload | Timeout>
  /** Something for somebody outside to settle, who needs to know nothing but its token. */
  webhook<Payload = unknown>(name: string, schema?: Schema<Payload>): Webhook<Payload>

  /** Becomes true by what the code itself does when something happens: in handlers, or in other branches. */
  wait(condition: () => boolean, options?: Keyed): DurablePromise<void>
  wait(condition: () => boolean, options: Keyed & Deadline): DurablePromise<true | Timeout>
  /**
   * Handles every message of this name, those that came before among them. Signals in the background. Updates are
   * answered; a validator that throws refuses one before anything is done. Queries are answered from the variables of
   * the run; their handlers change nothing.
   */
  on<M extends AnyMessage>(message: M, handler: M['~handler']): void
  on<U extends AnyUpdate>(
    update: U,
    options: { readonly validate: (payload: InputOf<U>) => void },
    handler: U['~handler'],
  ): void

  /**
   * Whether every handler of a signal or update that came is done: `await ctx.wait(ctx.allHandlersFinished)` before the
   * end of a run lets them finish. A run that ends before cuts them off.
   */
  readonly allHandlersFinished: () => boolean

  /** The first branch to settle; the others are cancelled, and what comes of them later is dropped. */
  race<const B extends Branches>(branches: B): DurablePromise<Winner<B>>
  /** All branches, or the first failure; then the others are cancelled. */
  all<const B extends Branches>(
    branches: B,
  ): DurablePromise<{ -readonly [Name in keyof B]: BranchValue<B[Name]> }>
  /** The function for every item, each in a scope of its own; results in the order of the items. */
  map<Item, R>(items: readonly Item[], fn: MapStep<Item, R>): DurablePromise<R[]>
  map<Item, R>(
    items: readonly Item[],
    options: MapOptions<Item> & { readonly tolerate: number | `${number}%` },
    fn: MapStep<Item, R>,
  ): DurablePromise<Settled<R>[]>
  map<Item, R>(
    items: readonly Item[],
    options: MapOptions<Item>,
    fn: MapStep<Item, R>,
  ): DurablePromise<R[]>
  /** What is asked for inside can be cancelled together; the code after it goes on. */
  scope<R>(name: string, fn: (ctx: Scope) => Promise<R>): DurablePromise<R | Cancelled>
  scope<R>(
    name: string,
    options: { readonly timeout: Duration },
    fn: (ctx: Scope) => Promise<R>,
  ): DurablePromise<R | Cancelled | Timeout>
  /** Finishes even when the run, or the scope it is in, is cancelled meanwhile: for clean-up. */
  shield<R>(fn: (ctx: Context) => Promise<R>): DurablePromise<R>
  /**
   * Steps and what undoes them: if it fails or is cancelled, all that was registered is called, newest first, even if some
   * of it fails. Then it fails as it did. The run is `compensating` meanwhile.
   */
  saga<R>(fn: (ctx: Saga) => Promise<R>): DurablePromise<R>

  /**
   * Ends this generation of the run and begins the next, under the same id, with another input and an empty history.
   * Signals nobody has waited for go with it.
   */
  continueAsNew(input: In): never

  /** What the run is found by from now on, beside what it has; null removes an attribute. */
  setAttributes(attributes: AttributesChange): void

  /** Whether this run may go the new way: true for runs that get here first with this code, and for ever after. */
  patched(id: string): boolean
  /** Says that every run has the patch by now, so that the old way is gone. */
  deprecatePatch(id: string): void

  /** The instant of the last thing that happened to this run: the same whenever the code runs again. */
  now(): number
  random(): number
  uuid(): string
  /** Recorded once and for all, and not tried again if it fails: for values that are neither steps nor derived. */
  sideEffect<R>(fn: () => R | Promise<R>): DurablePromise<R>
}
