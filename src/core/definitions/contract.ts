// Contracts: what a client needs to know of a workflow or an activity. Definitions add the code.
// Properties that begin with `~` exist in types only; they carry types from a definition to its callers.

export interface Typed<in In, out Out> {
  readonly name: string
  readonly '~types': { readonly input: (input: In) => void; readonly output: Out }
}

/** Naming a handler's type by index (`C['~handler']`) gives handlers a concrete contextual type. */
export interface Handled<out Handler> {
  readonly '~handler': Handler
}

/** The name of a workflow, and its types. */
export interface WorkflowContract<in In, out Out> extends Typed<In, Out> {
  readonly is: 'workflow'
}

/** The name of an activity, and its types. */
export interface ActivityContract<in In, out Out>
  extends Typed<In, Out>,
    Handled<ActivityHandler<In, Out>> {
  readonly is: 'activity'
}

/** What can be started: a workflow, or an activity on its own. */
export interface Startable<in In, out Out> extends Typed<In, Out> {
  readonly is: 'workflow' | 'activity'
}

/** A contract of whatever input and output. */
export type AnyWorkflowContract = WorkflowContract<never, unknown>
/** A contract of whatever input and output. */
export type AnyActivityContract = ActivityContract<never, unknown>

/** What a definition, a contract or a message takes. */
export type InputOf<C> = C extends Typed<infer In, unknown> ? In : never
/** What a definition, a contract or a message gives. */
export type OutputOf<C> = C extends Typed<never, infer Out> ? Out : never

/** The tail of a call that sends `In`: it may be left out when `In` allows `undefined`. */
export type Args<In, Options> = undefined extends In
  ? [input?: In, options?: Options]
  : [input: In, options?: Options]

export type Given<Key extends string, In> = undefined extends In
  ? { readonly [K in Key]?: In }
  : { readonly [K in Key]: In }

/** Stands for the input of a definition without a schema for it: its function says what it takes. */
export interface AsWritten {
  readonly '~asWritten': never
}

/** What a definition is started with: what its schema accepts, or what its function takes. */
export type Accepted<In, Parsed> = [In] extends [AsWritten] ? Parsed : In

/**
 * What callers of a function may give it, by the parameter that takes the input: nothing if there is none, and
 * `undefined`, too, if it is optional or has a default.
 */
export type Taken<In, Parameter extends readonly unknown[]> = [In] extends [AsWritten]
  ? Parameter extends readonly []
    ? void
    : Parameter[0]
  : In

/** The function of an activity. */
export type ActivityHandler<In, Out> = (input: In, ctx: ActivityContext) => Out | Promise<Out>

/** Writes a line at a level, with fields for machines. */
export type Log = Readonly<
  Record<'debug' | 'info' | 'warn' | 'error', (message: string, fields?: object) => void>
>

/** What a body may do with other runs: at once, and not as a part of its own run. */
export interface ActivityClient {
  /** Starts a run. Another attempt at the same step that starts it again, with the same input, gets the same run. */
  start<In, Out>(
    workflow: Startable<In, Out>,
    ...args: Args<In, ActivityStart>
  ): Promise<{ readonly runId: string; readonly workflowId: string; readonly isNew: boolean }>
  /** Sends a signal. Another attempt at the same step that sends it again sends it once. */
  signal<Payload>(
    run: string | { readonly workflowId: string },
    signal: Typed<Payload, Payload> & { readonly is: 'signal' },
    ...args: Args<NoInfer<Payload>, { readonly messageId?: string }>
  ): Promise<void>
  cancel(run: string | { readonly workflowId: string }, reason?: string): Promise<void>
}

export interface ActivityStart {
  readonly workflowId?: string
  readonly reuse?: 'allow' | 'allowIfEnded' | 'allowIfFailed' | 'reject' | 'returnExisting'
  readonly idempotencyKey?: string
  readonly queue?: string
  readonly priority?: number
}

/** What a step body or an activity knows about the attempt it is. */
export interface ActivityContext {
  readonly runId: string
  readonly workflowId: string
  readonly stepKey: string
  /** The same for every attempt: hand it to whatever must not happen twice. */
  readonly idempotencyKey: string
  /** From 1. */
  readonly attempt: number
  readonly maxAttempts: number
  /** The build of the worker that runs this attempt. */
  readonly build: string
  /** Aborts when the run is cancelled, the attempt has run out of time, or the lease is lost. */
  readonly signal: AbortSignal
  readonly log: Log
  /** Other runs: starts, signals and cancels them. */
  readonly client: ActivityClient
  /** A sign of life. Details are kept for the next attempt, should this one fail. */
  heartbeat(details?: unknown): void
  /** The details of the last heartbeat, of this attempt or an earlier one. */
  lastHeartbeat<Details = unknown>(): Details | undefined
  /**
   * Runs the function unless an earlier attempt has done so, and gives what it gave. A crash between the function's end
   * and the note of it has it run once more: hand `idempotencyKey` to whatever must not happen twice.
   */
  runOnce<R>(key: string, fn: () => R | Promise<R>): Promise<R>
  /**
   * By this token the step is completed from outside: `engine.resolve(token, value)` or `engine.reject(token, reason)`. The
   * same for every attempt. It is durable when this resolves.
   */
  completionToken(): Promise<string>
  /**
   * Ends the attempt without a result: it comes from whoever has the token. If it does not come within `startToClose`, counted
   * from here, the step is tried again. Throws, so that nothing after it runs.
   */
  completeLater(): never
}
