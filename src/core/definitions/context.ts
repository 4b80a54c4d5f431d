// The types of `ctx`: everything durable that a workflow function can do.

import type { Failure } from '../base/failure.ts'
import type { Duration } from '../base/time.ts'
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
import type { Stream } from './stream.ts'

// The message types are in this file because their handlers get a `ctx`.
/** A message that a run receives and does not answer. `signal(name)` defines one. */
export interface Signal<in out Payload>
  extends Typed<Payload, Payload>,
    Handled<(payload: Payload, ctx: Context) => void | Promise<void>> {
  readonly is: 'signal'
}

/** Writes items of the workflow's code to a stream. A replay writes nothing again. */
export interface RunStreamWriter<in Chunk> {
  write(chunk: Chunk): void
  /** Nothing can be written after it in this generation. */
  close(): void
}

/** A question that a run answers from its current state. `query(name)` defines one. */
export interface Query<in Payload, out Out> extends Typed<Payload, Out>, Handled<(payload: Payload) => Out> {
  readonly is: 'query'
}

/** A message that a run handles and answers. `update(name)` defines one. */
export interface Update<in Payload, out Out>
  extends Typed<Payload, Out>,
    Handled<(payload: Payload, ctx: Context) => Out | Promise<Out>> {
  readonly is: 'update'
}

export type AnyMessage = Handled<unknown> & { readonly is: 'signal' | 'query' | 'update' }
export type AnyUpdate = Update<never, unknown>

/** The result of `ctx.wait` and `ctx.scope` when their timeout has passed. */
export const TIMEOUT: unique symbol = Symbol.for('pawl.TIMEOUT')
/** The type of `TIMEOUT`. */
export type Timeout = typeof TIMEOUT

/** The result of `ctx.scope` when its own `cancel` was called. */
export const CANCELLED: unique symbol = Symbol.for('pawl.CANCELLED')
/** The type of `CANCELLED`. */
export type Cancelled = typeof CANCELLED

/**
 * The promise of a durable call: replay settles it from the history. `Promise.all`, `race`, `any` and `allSettled` work
 * with it.
 */
export interface DurablePromise<out T> extends Promise<T> {
  readonly '~durable': true
}

/** Names a run: by its run id, or as the newest run of a workflow id. */
export type RunRef = string | { readonly workflowId: string }

/** A callback that another system resolves once, with its token. `ctx.wait(webhook)` waits for the payload. */
export interface Webhook<out Payload> {
  readonly token: string
  /** The path of the callback, without the address of the server. */
  readonly url: string
  readonly '~payload'?: Payload
}

/** A parameter of an SQL statement. */
export type SqlValue = string | number | bigint | boolean | Date | Uint8Array | null

/** The transaction of a `ctx.transaction` step. Its writes become durable together with the step's result. */
export interface Transaction {
  /** Runs one statement, with placeholders as the database writes them (`$1` on Postgres, `?` on SQLite). */
  query<Row = unknown>(text: string, values?: readonly SqlValue[]): Promise<readonly Row[]>
}

/** A child run. Awaiting it gives its result. */
export interface Child<out Out> extends DurablePromise<Out> {
  readonly runId: string
  /** Resolves with the ids of the child once its start is durable. */
  readonly started: DurablePromise<{ readonly runId: string; readonly workflowId: string }>
  /** Sends the child a signal. */
  signal<Payload>(signal: Signal<Payload>, ...payload: Args<NoInfer<Payload>, never>): DurablePromise<void>
  /** Asks the child to stop. Its promise then rejects as the child ends. */
  cancel(reason?: string): void
}

/** A child with `terminate`, which pawl's own workflows use. The type that users see does not have it. */
export interface TerminableChild extends Child<never> {
  terminate(reason: string): void
}

/** What a workflow function knows about its run. */
export interface RunInfo {
  readonly runId: string
  readonly workflowId: string
  /** The name of the workflow. */
  readonly name: string
  readonly definitionHash: string
  /** The number of this generation; continue-as-new, retry and reset begin another. */
  readonly generation: number
  /** The number of this attempt of the run, from 1; each `retry` of the run adds one. */
  readonly attempt: number
  /** The run that started this one as a child. */
  readonly parent?: { readonly runId: string }
  /** The memo that the run was started with. */
  readonly memo: Readonly<Record<string, unknown>>
  /** The attributes of the run, including changes by `ctx.setAttributes`. */
  readonly attributes: Attributes
  readonly queue: string
  readonly priority: number
  /** How many events the history has. */
  readonly historyEvents: number
  /** True once the history is so long that the run should call `ctx.continueAsNew`. */
  readonly suggestsContinue: boolean
  /** When the run started, in milliseconds since 1970. */
  readonly startedAt: number
}

type Keyed = Pick<StepIdentity, 'key'>

/** A timeout, or an end time. An end time in the past ends the wait at once. */
type Deadline = { readonly timeout: Duration } | { readonly until: Date | number }

/** A branch of `ctx.race` or `ctx.all`: a durable promise, or a function, which gets its own `ctx` and scope. */
export type Branch<T> = DurablePromise<T> | ((ctx: Context) => Promise<T>)
/** Branches under the names that the result uses. */
export type Branches = Readonly<Record<string, Branch<unknown>>>
/** The result type of a branch. */
export type BranchValue<B> = B extends (ctx: Context) => Promise<infer T> ? T : B extends Promise<infer T> ? T : never

/** An outcome: a value or a failure. */
export type Settled<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure }

/** The function that `ctx.map` calls for each item. */
export type MapStep<Item, R> = (ctx: Context, item: Item, index: number) => Promise<R>
/** Options of `ctx.map`. */
export interface MapOptions<Item> {
  /** How many items are processed at once. Default: all of them. */
  readonly concurrency?: number
  /** Identifies an item when the code is replayed. Default: its index. */
  readonly key?: (item: Item) => string
}

/** The `ctx` of a scope, which can be cancelled as a whole. */
export interface Scope extends Context {
  /** Cancels everything in the scope. `ctx.scope` then gives `CANCELLED`. */
  cancel(reason?: string): void
  readonly cancelled: boolean
}

/** The `ctx` of a saga. */
export interface Saga extends Context {
  /** Registers a compensation. If the saga fails or is cancelled, compensations run one by one, the newest first. */
  compensate(undo: (ctx: Context) => Promise<unknown>): void
}

/**
 * Everything durable that a workflow function can do. Steps belong to the `ctx` they are called on: a function passed
 * to `race`, `all`, `map`, `scope`, `shield` or `saga` gets its own `ctx` and must use that one.
 */
export interface Context<in In = never> {
  readonly info: RunInfo
  /** Log lines are written once their turn is durable, and not again during replay. */
  readonly log: Log

  /**
   * Runs an activity or an inline step, and records its result.
   *
   * ```ts
   * const receipt = await ctx.run(charge, order)
   * const rate = await ctx.run('rate', () => fetchRate('EUR'))
   * ```
   */
  run<R>(name: string, fn: (step: ActivityContext) => R | Promise<R>): DurablePromise<R>
  run<R>(name: string, options: StepOptions, fn: (step: ActivityContext) => R | Promise<R>): DurablePromise<R>
  run<In, Out>(activity: ActivityContract<In, Out>, ...args: Args<In, RunOptions>): DurablePromise<Out>
  /** An activity or child workflow as a plain function, with its options given once. */
  bind<In, Out>(
    definition: ActivityContract<In, Out>,
    options?: RunOptions,
  ): (...args: Args<In, Keyed>) => DurablePromise<Out>
  bind<In, Out>(
    definition: WorkflowContract<In, Out>,
    options?: ChildOptions,
  ): (...args: Args<In, Keyed>) => DurablePromise<Out>
  /** Starts a child run. Await the result, or use the child to signal or cancel it. */
  child<In, Out>(workflow: WorkflowContract<In, Out>, ...args: Args<In, ChildOptions>): Child<Out>
  /**
   * Runs a step in a transaction of the store's own database: its writes and its result become durable together, or not
   * at all. Only SQLite and Postgres stores support it.
   */
  transaction<R>(name: string, fn: (sql: Transaction) => Promise<R>): DurablePromise<R>
  /** Sends a signal to another run. Resolves when the signal is as durable as this run's own steps. */
  signal<Payload>(run: RunRef, signal: Signal<Payload>, ...payload: Args<NoInfer<Payload>, never>): DurablePromise<void>

  /** Starts a run that is independent of this one: it continues when this one ends. */
  start<In, Out>(
    workflow: WorkflowContract<In, Out>,
    ...args: Args<In, Omit<ChildOptions, 'parentClose'>>
  ): DurablePromise<{ readonly runId: string; readonly workflowId: string }>
  /**
   * Signals the run in progress of a workflow id or, if there is none, starts one with the signal in the same write.
   * Resolves when that is as durable as this run's own steps.
   */
  signalWithStart<In, P>(
    workflow: WorkflowContract<In, unknown>,
    request: Omit<ChildOptions, 'parentClose' | 'onCancel'> & {
      readonly workflowId: string
      readonly signal: Signal<P>
    } & Given<'input', NoInfer<In>> &
      Given<'payload', NoInfer<P>>,
  ): DurablePromise<void>
  /** Asks another run to stop, as `run.cancel` does. Resolves when that is as durable as this run's own steps. */
  cancelRun(run: RunRef, reason?: string): DurablePromise<void>

  /** Waits for a duration: `await ctx.sleep('7d')`. A sleeping run uses no worker. */
  sleep(duration: Duration, options?: Keyed): DurablePromise<void>
  /** Waits until a time, given as a Date or in milliseconds since 1970. */
  sleepUntil(time: Date | number, options?: Keyed): DurablePromise<void>
  /**
   * Waits for the next signal of this name, in the order they were accepted; it may have arrived before the wait. With
   * a timeout the result may be `TIMEOUT`.
   */
  wait<Payload>(source: Signal<Payload> | Webhook<Payload>, options?: Keyed): DurablePromise<Payload>
  wait<Payload>(
    source: Signal<Payload> | Webhook<Payload>,
    options: Keyed & Deadline,
  ): DurablePromise<Payload | Timeout>
  /** Creates a callback that another system resolves: it needs only the token. */
  webhook<Payload = unknown>(name: string, schema?: Schema<Payload>): Webhook<Payload>

  /** Waits until the condition is true. Message handlers and other branches of this code make it true. */
  wait(condition: () => boolean, options?: Keyed): DurablePromise<void>
  wait(condition: () => boolean, options: Keyed & Deadline): DurablePromise<true | Timeout>
  /**
   * Handles every message of this name, including those that arrived before. Signal handlers run in the background. The
   * result of an update handler is the answer; a validator that throws rejects the update before it is handled. A query
   * handler answers from the state of the run and changes nothing.
   */
  on<M extends AnyMessage>(message: M, handler: M['~handler']): void
  on<U extends AnyUpdate>(
    update: U,
    options: { readonly validate: (payload: InputOf<U>) => void },
    handler: U['~handler'],
  ): void

  /**
   * True if no handler of a signal or update is in progress. A run that ends stops its handlers; to let them finish,
   * end it with `await ctx.wait(ctx.allHandlersFinished)`.
   */
  readonly allHandlersFinished: () => boolean

  /**
   * Waits for the first branch to settle, and cancels the others. If the winner fails, so does the race.
   *
   * ```ts
   * const { winner } = await ctx.race({ paid: ctx.wait(paid), late: ctx.sleep('24h') })
   * ```
   */
  race<const B extends Branches>(
    branches: B,
  ): DurablePromise<{ [Name in keyof B]: { readonly winner: Name; readonly value: BranchValue<B[Name]> } }[keyof B]>
  /** Waits for all branches. If one fails, the others are cancelled. */
  all<const B extends Branches>(branches: B): DurablePromise<{ -readonly [Name in keyof B]: BranchValue<B[Name]> }>
  /**
   * Calls the function for every item, each in its own scope; results have the order of the items. With `tolerate`, up
   * to so many items may fail, and the results are outcomes.
   */
  map<Item, R>(items: readonly Item[], fn: MapStep<Item, R>): DurablePromise<R[]>
  map<Item, R>(
    items: readonly Item[],
    options: MapOptions<Item> & { readonly tolerate: number | `${number}%` },
    fn: MapStep<Item, R>,
  ): DurablePromise<Settled<R>[]>
  map<Item, R>(items: readonly Item[], options: MapOptions<Item>, fn: MapStep<Item, R>): DurablePromise<R[]>
  /** A scope can be cancelled as a whole, by `cancel` or by its timeout; the code after it continues. */
  scope<R>(name: string, fn: (ctx: Scope) => Promise<R>): DurablePromise<R | Cancelled>
  scope<R>(
    name: string,
    options: { readonly timeout: Duration },
    fn: (ctx: Scope) => Promise<R>,
  ): DurablePromise<R | Cancelled | Timeout>
  /** Finishes even if the run, or the scope around it, is cancelled meanwhile. For clean-up. */
  shield<R>(fn: (ctx: Context) => Promise<R>): DurablePromise<R>
  /**
   * Steps with compensations: if the function fails or is cancelled, all registered compensations run, the newest
   * first, even if some of them fail. The saga then rejects with the original error. Meanwhile the run is
   * `compensating`.
   */
  saga<R>(fn: (ctx: Saga) => Promise<R>): DurablePromise<R>

  /**
   * Ends this generation of the run and begins the next one, under the same id, with a new input and an empty history.
   * Signals that were not consumed are kept for it.
   */
  continueAsNew(input: In): never

  /** Writes items to a stream of the run, or closes it. They become readable with the next turn. */
  stream<Chunk>(stream: Stream<Chunk>): RunStreamWriter<Chunk>

  /** Sets attributes of the run, beside those it has; null removes one. */
  setAttributes(attributes: AttributesChange): void

  /**
   * Chooses between old and new code: true in a run that reached this call first with the new code, and false in a run
   * that passed this place before, with older code. The answer is recorded.
   */
  patched(id: string): boolean
  /** Declares that every run has the patch, so that the old code path can be removed. */
  deprecatePatch(id: string): void

  /** The time of the last event of this run, in milliseconds since 1970: the same in every replay. */
  now(): number
  /** A random number in [0, 1): the same in every replay. */
  random(): number
  /** A random UUID: the same in every replay. */
  uuid(): string
  /** Records a value once. The function is not retried if it fails; use it for values that are not worth a step. */
  sideEffect<R>(fn: () => R | Promise<R>): DurablePromise<R>
}
