// A client of a server, with the calls that a client of a store has.

import { Batch, type BatchOptions } from '../addons/batches/batch.ts'
import type { Builds } from '../addons/builds/builds.ts'
import type { RetentionCalls } from '../addons/retention/calls.ts'
import type { Schedules } from '../addons/schedules/schedules.ts'
import { PawlError } from '../core/base/errors.ts'
import { limits } from '../core/base/limits.ts'
import { milliseconds } from '../core/base/time.ts'
import type { Json } from '../core/base/value.ts'
import { type Args, type Begin, checkPayload, runNameOf, type Signal, type Update } from '../core/browser.ts'
import type {
  Client,
  CountOptions,
  Given,
  GroupOptions,
  Page,
  PageOptions,
  QueueRecord,
  RunFilter,
  RunGroup,
  RunHandle,
  RunRecord,
  RunRef,
  Startable,
  StartedRun,
  StartOptions,
  StoredDefinition,
  Submitted,
  WorkerRecord,
  WorkflowContract,
} from '../core/index.ts'
import type { InputOf } from '../operations/inputs.ts'
import type { Health, Me, OutputOf, Worked } from '../operations/outputs.ts'
import type { CallName } from '../operations/routes.ts'
import { type BatchCalls, batchesOf } from './batches.ts'
import { RemoteBuilds } from './builds.ts'
import { type CallOptions, Connection, type ConnectOptions } from './connection.ts'
import { notSupported } from './errors.ts'
import { type LiveEvents, type LiveOptions, liveEvents } from './events.ts'
import { named } from './filter.ts'
import { RemoteRetention } from './retention.ts'
import { RemoteRun, RemoteStartedRun } from './run.ts'
import { RemoteSchedules } from './schedules.ts'
import { groupsOf, refuseActivity, startOf } from './starts.ts'

/** The calls of `Client` that a server offers, too. */
type SharedCalls = Pick<
  Client,
  | ('start' | 'startMany' | 'execute' | 'signalWithStart' | 'updateWithStart' | 'resolve' | 'reject')
  | ('get' | 'list' | 'count' | 'definitions' | 'definitionNames' | 'submit' | 'workers' | 'queues')
>

/** What an engine and a client of a server both have, so that code can take either. */
export interface PawlClient extends SharedCalls {
  readonly builds: Pick<Builds, 'list' | 'checks' | 'rollOut' | 'retire'>
  readonly schedules: Pick<Schedules, 'set' | 'get' | 'list'>
  readonly batches: BatchCalls
  readonly retention: RetentionCalls
  batch(filter: RunFilter, options: BatchOptions): Batch
  workUntilIdle(options?: InputOf<'workers.work'>): Promise<Worked>
  export(filter?: RunFilter): AsyncGenerator<string>
  close(): Promise<void>
}

/** Starts and watches runs on a server. `connect` makes one. */
export class RemoteClient implements PawlClient, AsyncDisposable {
  /** Builds that keep the runs they started, and how new runs are shared among them. */
  readonly builds: RemoteBuilds
  /** Batches that are previewed first. */
  readonly batches: BatchCalls
  /** Which runs are deleted after they have ended. */
  readonly retention: RetentionCalls
  /** Runs that start by the clock. */
  readonly schedules: Pick<Schedules, 'set' | 'get' | 'list'>
  readonly #server: Connection

  /** @internal */
  constructor(server: Connection) {
    this.#server = server
    this.builds = new RemoteBuilds(server)
    this.batches = batchesOf(server)
    this.retention = new RemoteRetention(server)
    this.schedules = new RemoteSchedules(server)
  }

  /** The address of the server. */
  get url(): string {
    return this.#server.url
  }

  /** Calls an operation of the HTTP API by its name. */
  call<N extends CallName>(operation: N, input: InputOf<N>, options: CallOptions = {}): Promise<OutputOf<N>> {
    return this.#server.call(operation, input, options)
  }

  /** Starts a run of a workflow, or an activity on its own. When this resolves, the run is durable. */
  async start<In, Out>(workflow: Startable<In, Out>, ...args: Args<In, StartOptions>): Promise<StartedRun<Out>> {
    const [input, options = {}] = args
    const started = await this.call('runs.start', { ...(await startOf(workflow, input, options)), input })
    return new RemoteStartedRun(this.#server, started, options.idempotencyKey === undefined)
  }

  /** Starts a run and waits for its result. */
  async execute<In, Out>(workflow: Startable<In, Out>, ...args: Args<In, StartOptions>): Promise<Out> {
    return (await this.start(workflow, ...args)).result()
  }

  /** Starts several runs of a workflow. */
  async startMany<In, Out>(
    workflow: Startable<In, Out>,
    runs: readonly Begin<NoInfer<In>>[],
  ): Promise<StartedRun<Out>[]> {
    const begun = await Promise.all(
      runs.map(async ({ input, ...options }) => {
        const { workflow: _, ...start } = await startOf(workflow, input, options as StartOptions)
        return { ...start, input }
      }),
    )
    const started: StartedRun<Out>[] = []
    for (const group of groupsOf(begun)) {
      const { items } = await this.call('runs.startMany', { workflow: runNameOf(workflow), runs: group })
      for (const [index, each] of items.entries()) {
        started.push(new RemoteStartedRun<Out>(this.#server, each, group[index]?.idempotencyKey === undefined))
      }
    }
    return started
  }

  /** Signals the run of a workflow id, in one write with its start if none is in progress. */
  async signalWithStart<In, Out, P>(
    workflow: WorkflowContract<In, Out>,
    request: Begin<NoInfer<In>> & { readonly signal: Signal<P>; readonly messageId?: string } & Given<
        'payload',
        NoInfer<P>
      >,
  ): Promise<StartedRun<Out>> {
    refuseActivity(workflow, 'signalWithStart')
    const { signal, payload, messageId, input, ...options } = request
    await checkPayload(signal, payload)
    const start = await startOf(workflow, input, options as StartOptions)
    const message = { signal: signal.name, payload, ...(messageId !== undefined && { messageId }) }
    const started = await this.call('runs.signalWithStart', { ...start, input, ...message })
    return new RemoteStartedRun(this.#server, started, start.idempotencyKey === undefined)
  }

  /** Sends an update to the run of a workflow id and waits for its answer; starts the run if none is in progress. */
  async updateWithStart<In, Out, P, U>(
    workflow: WorkflowContract<In, Out>,
    request: Begin<NoInfer<In>> & { readonly update: Update<P, U>; readonly messageId?: string } & Given<
        'payload',
        NoInfer<P>
      >,
  ): Promise<{ readonly run: StartedRun<Out>; readonly result: U }> {
    refuseActivity(workflow, 'updateWithStart')
    const { update, payload, messageId = this.#server.newId(), input, ...options } = request
    const start = await startOf(workflow, input, options as StartOptions)
    const message = { payload, messageId }
    const wait = limits.longPollMs
    const call = { ...start, input, ...message, update: update.name, wait }
    const answer = await this.#server.call('runs.updateWithStart', call, { waitMs: wait })
    const run = new RemoteStartedRun<Out>(this.#server, answer, start.idempotencyKey === undefined)
    const result = 'why' in answer ? await run.awaitUpdate(update.name, message) : answer.result
    return { run, result: result as U }
  }

  /** Settles a `ctx.webhook`, or completes a step by its `ctx.completionToken`. */
  async resolve(token: string, payload?: unknown): Promise<void> {
    await this.call('completions.resolve', { token, payload })
  }

  /** Fails the wait for a `ctx.webhook`, or the step. The step is not retried. */
  async reject(token: string, reason: string): Promise<void> {
    await this.call('completions.reject', { token, reason })
  }

  get(run: RunRef): RunHandle<unknown>
  get<Out>(workflow: Startable<never, Out>, run: RunRef): RunHandle<Out>
  get(first: RunRef | Startable<never, unknown>, second?: RunRef): RunHandle<unknown> {
    return new RemoteRun(this.#server, second ?? (first as RunRef))
  }

  /** Runs, newest first. */
  list(filter: RunFilter = {}, page: PageOptions = {}): Promise<Page<RunRecord>> {
    return this.call('runs.list', { ...named(filter), ...page })
  }

  async count(filter: RunFilter = {}, options: CountOptions = {}): Promise<number> {
    return (await this.call('runs.count', { ...named(filter), ...options })).count
  }

  /** Counts runs by what they have in common: what they wait for, why they failed, their workflow and so on. */
  async groups(filter: RunFilter, options: GroupOptions): Promise<readonly RunGroup[]> {
    return (await this.call('runs.groups', { ...named(filter), ...options })).items
  }

  /** The operations of a handle, for every run that matches the filter. */
  batch(filter: RunFilter, options: BatchOptions): Batch {
    if (Number.isInteger(options?.limit) && options.limit > 0) return new Batch(this, filter, options)
    throw new PawlError('INPUT_INVALID', 'a batch has no `limit`; expected the maximum number of runs.')
  }

  /** Stores a graph document under its name, for any worker to run. */
  async submit(definition: Parameters<Client['submit']>[0]): Promise<Submitted> {
    const { definitionHash: hash, document = definition } = (definition ?? {}) as {
      readonly definitionHash?: unknown
      readonly document?: unknown
    }
    if (hash !== undefined && document === definition) {
      throw notSupported(
        'submitting a definition in code',
        'Submit a graph document, or open the store in this process.',
      )
    }
    const { name, version, definitionHash } = await this.call('definitions.submit', {
      document: document as Exclude<Json, null | boolean | number>,
    })
    return { is: 'workflow', name, version, definitionHash } as Submitted
  }

  /** Every version of a definition in the store, newest first. */
  async definitions(name: string): Promise<readonly StoredDefinition[]> {
    const none = (error: unknown): { readonly items: readonly StoredDefinition[] } => {
      if (error instanceof PawlError && error.code === 'WORKFLOW_NOT_FOUND') return { items: [] }
      throw error
    }
    return (await this.call('definitions.get', { name }).catch(none)).items
  }

  /** The names of the definitions in the store that any worker can run. */
  async definitionNames(): Promise<readonly string[]> {
    return (await this.call('definitions.list', {})).items
  }

  /** The workers that use the store, and what each can do. */
  async workers(): Promise<readonly WorkerRecord[]> {
    return (await this.call('workers.list', {})).items
  }

  /** What waits for a worker, by queue: those that have waited longest first. */
  async queues(): Promise<readonly QueueRecord[]> {
    return (await this.call('queues.list', {})).items
  }

  /** Has the server work until nothing is due or the time is up. Its engine needs the code of the runs. */
  workUntilIdle(options: InputOf<'workers.work'> = {}): Promise<Worked> {
    const waitMs = milliseconds(options.for ?? limits.untilIdleMs, 'for')
    return this.#server.call('workers.work', options, { waitMs })
  }

  /** Whole runs, to be archived or to be replayed in a test: one JSON text for each run. */
  export(filter: RunFilter = {}): AsyncGenerator<string> {
    return this.#server.lines('runs.export', named(filter))
  }

  /**
   * The events of `live.run` or `live.runs` as they happen. If the connection breaks, it is opened again and continues
   * after the last event.
   */
  live<N extends keyof LiveEvents>(
    stream: N,
    input: InputOf<N>,
    options: LiveOptions = {},
  ): AsyncGenerator<LiveEvents[N]> {
    return liveEvents(this.#server, stream, input, options)
  }

  /** How the server and its store are. */
  health(): Promise<Health> {
    return this.call('health.get', {})
  }

  /** What the token of this client may do. */
  me(): Promise<Me> {
    return this.call('me.get', {})
  }

  /** Ends the calls in progress. */
  async close(): Promise<void> {
    this.#server.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

/**
 * A client of the server at this address. Nothing is sent before the first call.
 *
 * ```ts
 * const pawl = connect('http://127.0.0.1:7295', { token })
 * const run = await pawl.start(order, { id: 'A1' })
 * console.log(await run.result())
 * ```
 */
export function connect(url: string, options: ConnectOptions = {}): RemoteClient {
  return new RemoteClient(new Connection(url, options))
}
