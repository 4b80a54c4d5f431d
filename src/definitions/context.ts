// `ctx`: everything durable a workflow function can do.
import type { Duration } from '../kernel/duration.ts'
import type {
  ActivityContext,
  ActivityContract,
  Args,
  Log,
  Signal,
  WorkflowContract,
} from './contract.ts'
import type { ChildOptions, RunOptions, StepIdentity, StepOptions } from './options.ts'

/** What `ctx.wait` gives when time ran out. */
export const TIMEOUT: unique symbol = Symbol.for('pawl.TIMEOUT')
export type Timeout = typeof TIMEOUT

/** Awaitable like any promise, and safe to combine with `Promise.all`, `race`, `any` and `allSettled`. */
export interface DurablePromise<out T> extends Promise<T> {
  readonly '~durable': true
}

export interface RunInfo {
  readonly runId: string
  readonly workflowId: string
  readonly name: string
  readonly definitionHash: string
  readonly generation: number
  readonly parent?: { readonly runId: string }
  readonly memo: Readonly<Record<string, unknown>>
  readonly historyEvents: number
  readonly startedAt: number
}

type Keyed = Pick<StepIdentity, 'key'>

export interface Context {
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
  child<In, Out>(
    workflow: WorkflowContract<In, Out>,
    ...args: Args<In, ChildOptions>
  ): DurablePromise<Out>

  sleep(duration: Duration, options?: Keyed): DurablePromise<void>
  sleepUntil(time: Date | number, options?: Keyed): DurablePromise<void>
  /** The next signal of this name, in the order they were accepted; it may have come before the wait. */
  wait<Payload>(signal: Signal<Payload>, options?: Keyed): DurablePromise<Payload>
  wait<Payload>(
    signal: Signal<Payload>,
    options: Keyed & { readonly timeout: Duration },
  ): DurablePromise<Payload | Timeout>

  /** The instant of the last thing that happened to this run: the same whenever the code runs again. */
  now(): number
  random(): number
  uuid(): string
  /** Runs once, is recorded and never retried: for values that are neither steps nor derived. */
  sideEffect<R>(fn: () => R | Promise<R>): DurablePromise<R>
}
