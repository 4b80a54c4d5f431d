// Contracts: what a client needs to know about a workflow or an activity. Definitions add the code. Properties that
// begin with `~` exist in types only: they carry types from a definition to its callers.

export interface Typed<in In, out Out> {
  readonly name: string
  readonly '~types': { readonly input: (input: In) => void; readonly output: Out }
}

/** The type of a handler, read as `C['~handler']`, so that TypeScript infers the parameters of a handler. */
export interface Handled<out Handler> {
  readonly '~handler': Handler
}

/** The name and types of a workflow, without its code. */
export interface WorkflowContract<in In, out Out> extends Typed<In, Out> {
  readonly is: 'workflow'
}

/** The name and types of an activity, without its code. */
export interface ActivityContract<in In, out Out> extends Typed<In, Out>, Handled<ActivityHandler<In, Out>> {
  readonly is: 'activity'
}

/** Anything that `engine.start` can start: a workflow, or an activity on its own. */
export interface Startable<in In, out Out> extends Typed<In, Out> {
  readonly is: 'workflow' | 'activity'
}

/** A workflow contract with any input and output. */
export type AnyWorkflowContract = WorkflowContract<never, unknown>
/** An activity contract with any input and output. */
export type AnyActivityContract = ActivityContract<never, unknown>

/** The input type of a workflow or activity, or the payload type of a message: `InputOf<typeof order>`. */
export type InputOf<C> = C extends Typed<infer In, unknown> ? In : never
/** The output type of a workflow or activity, or the answer type of a message: `OutputOf<typeof order>`. */
export type OutputOf<C> = C extends Typed<never, infer Out> ? Out : never

/** The last arguments of a call with an input: the input may be omitted if `In` allows `undefined`. */
export type Args<In, Options> = undefined extends In ? [input?: In, options?: Options] : [input: In, options?: Options]

/** An object with the input under `Key`, which may be omitted if `In` allows `undefined`. */
export type Given<Key extends string, In> = undefined extends In
  ? { readonly [K in Key]?: In }
  : { readonly [K in Key]: In }

/** The input type of a definition without an input schema: it is read from the parameter of the function. */
export interface AsWritten {
  readonly '~asWritten': never
}

/** The input that callers pass: what the schema accepts or, without one, what the function takes. */
export type Accepted<In, Parsed> = [In] extends [AsWritten] ? Parsed : In

/**
 * The input that callers pass, by the parameter of the function: none if there is no parameter, and also `undefined` if
 * the parameter is optional or has a default.
 */
export type Taken<In, Parameter extends readonly unknown[]> = [In] extends [AsWritten]
  ? Parameter extends readonly []
    ? void
    : Parameter[0]
  : In

/** The function of an activity. */
export type ActivityHandler<In, Out> = (input: In, ctx: ActivityContext) => Out | Promise<Out>

/** Writes log lines: `ctx.log.info('charged', { orderId })`. */
export type Log = Readonly<Record<'debug' | 'info' | 'warn' | 'error', (message: string, fields?: object) => void>>

/** Starts, signals and cancels other runs from a step body. Calls take effect at once, even if the body fails later. */
export interface ActivityClient {
  /** Starts a run. If a later attempt of the step makes the same call with the same input, it gets the same run. */
  start<In, Out>(
    workflow: Startable<In, Out>,
    ...args: Args<In, ActivityStart>
  ): Promise<{ readonly runId: string; readonly workflowId: string; readonly isNew: boolean }>
  /** Sends a signal. If a later attempt of the step makes the same call, the signal is not sent again. */
  signal<Payload>(
    run: string | { readonly workflowId: string },
    signal: Typed<Payload, Payload> & { readonly is: 'signal' },
    ...args: Args<NoInfer<Payload>, { readonly messageId?: string }>
  ): Promise<void>
  /** Asks a run to stop, as `run.cancel` does. */
  cancel(run: string | { readonly workflowId: string }, reason?: string): Promise<void>
}

/** Options of `ctx.client.start`; they mean the same as in `engine.start`. */
export interface ActivityStart {
  readonly workflowId?: string
  readonly reuse?: 'allow' | 'allowIfEnded' | 'allowIfFailed' | 'reject' | 'returnExisting'
  readonly idempotencyKey?: string
  readonly queue?: string
  readonly priority?: number
}

/** Writes items of an attempt to a stream. They travel in batches, and are sent after 50 ms at the latest. */
export interface StreamWriter<in Chunk> {
  /** Resolves when there is room for more; it rejects if the stream takes nothing more. */
  write(chunk: Chunk): Promise<void>
  /** Resolves when everything written so far is durable. */
  flush(): Promise<void>
  /** How many items of earlier attempts stay: 0 without `resume`. */
  kept(): Promise<number>
  /** Closes the stream when the step completes. Nothing can be written after it. */
  close(): void
}

/** The `ctx` of an activity or an inline step: what its body knows about the current attempt, and what it can do. */
export interface ActivityContext {
  readonly runId: string
  readonly workflowId: string
  /** The key of the step in its run, as the history shows it. */
  readonly stepKey: string
  /** The same for every attempt of the step. Pass it to services whose call must not take effect twice. */
  readonly idempotencyKey: string
  /** The number of this attempt, from 1. */
  readonly attempt: number
  readonly maxAttempts: number
  /** The build of the worker that runs this attempt. */
  readonly build: string
  /** Aborts when the step is cancelled, the attempt reaches its time limit, or the worker loses its lease. */
  readonly signal: AbortSignal
  /**
   * The span to continue the trace of the run from, in the format of W3C Trace Context: pass it to services as the
   * header `traceparent`.
   */
  readonly traceparent: string
  readonly log: Log
  /** Starts, signals and cancels other runs. */
  readonly client: ActivityClient
  /** Reports that the attempt is alive. The details are stored for the next attempt, in case this one fails. */
  heartbeat(details?: unknown): void
  /** The details of the last heartbeat, from this attempt or an earlier one. */
  lastHeartbeat<Details = unknown>(): Details | undefined
  /**
   * Runs the function once for all attempts of the step: a later attempt gets the recorded result. A crash after the
   * function ends and before its result is recorded makes it run again, so pass `idempotencyKey` to services whose call
   * must not take effect twice.
   */
  runOnce<R>(key: string, fn: () => R | Promise<R>): Promise<R>
  /**
   * Writes items to a stream of the run, which anybody can read, live or later. Each attempt writes a part of its own,
   * and what earlier attempts wrote is void; with `resume`, the attempt continues behind it. An attempt that completes
   * waits until all it wrote is durable.
   */
  stream<Chunk>(
    stream: Typed<Chunk, Chunk> & { readonly is: 'stream' },
    options?: { readonly resume?: boolean },
  ): StreamWriter<Chunk>
  /**
   * A token with which another process completes the step: `engine.resolve(token, value)` or
   * `engine.reject(token, reason)`. It is the same for every attempt, and durable when this resolves.
   */
  completionToken(): Promise<string>
  /**
   * Ends the attempt without a result, which the holder of the token provides later. If no result arrives within
   * `startToClose`, counted from this call, the step is retried. Throws, so that no code after it runs.
   */
  completeLater(): never
}
