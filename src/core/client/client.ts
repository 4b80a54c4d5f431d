// What programs use to start and watch runs. It needs a store, and no worker.

import { defined } from '../base/defined.ts'
import { checkOptions } from '../base/described.ts'
import { PawlError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { encode, type Json } from '../base/value.ts'
import type { Catalogue, StoredDefinition } from '../catalogue/catalogue.ts'
import type { RunRef, Signal, Update } from '../definitions/context.ts'
import type { Args, Given, Startable, WorkflowContract } from '../definitions/contract.ts'
import type { ParseGraph } from '../definitions/graph-document.ts'
import { checkPayload } from '../definitions/messages.ts'
import { runNameOf, startedAs } from '../definitions/own-workflows.ts'
import type { AnyWorkflow } from '../definitions/workflow.ts'
import { encodeMessage } from '../kernel/codec.ts'
import type { Message } from '../kernel/message.ts'
import { persistent, type Send } from '../runtime/availability.ts'
import { type Clock, sleep } from '../runtime/clock.ts'
import { type Random, uuidV7 } from '../runtime/random.ts'
import type { ClaimedRun, Created, NewRun, Reuse, SqlClient, Store } from '../stores/store.ts'
import { engineClosed, otherReuse, refuseActivity } from './errors.ts'
import {
  type CountOptions,
  countOptions,
  type GroupOptions,
  groupQueryOf,
  type Page,
  type PageOptions,
  pageOf,
  queryOf,
  type RunFilter,
  type RunGroup,
} from './filter.ts'
import { Handle, StartedHandle } from './handle.ts'
import { hasTaken } from './history.ts'
import { checkRef, signalId, updateId } from './ids.ts'
import { around, type Interceptor, interceptedHandle, type StartCall, startThrough } from './interceptors.ts'
import { type Known, newRun } from './new-run.ts'
import { type QueueRecord, queuesOf } from './queues.ts'
import { Results } from './results.ts'
import type { HandleHost, RunHandle, StartedRun } from './run-handle.ts'
import { type RunRecord, recordOf } from './run-record.ts'
import {
  type Begin,
  checkStarts,
  commonTransaction,
  refuseTransaction,
  type StartOptions,
  startRequests,
} from './start-options.ts'
import { StreamWatch } from './stream-watch.ts'
import { type Submitted, submitted } from './submitting.ts'
import { settleByToken } from './tokens.ts'
import { callerOf } from './tracing.ts'
import { Waits } from './waits.ts'
import { type WorkerRecord, workerOf } from './workers.ts'

/** @internal */
export interface ClientPorts {
  readonly store: Store
  /** Sends calls to the store, each repeated until it answers or patience ends. */
  readonly send: Send<Store>
  readonly clock: Clock
  /** The clock that limits of waits are measured with, if it is another. */
  readonly waitClock?: Clock | undefined
  readonly random: Random
  /** The workers of the same process: one of them may take a new run in the write that creates it. */
  readonly workers: {
    offer(run: NewRun): NewRun['eager']
    /** `wasGranted` says that an earlier try had created the run, which may have been worked on since. */
    accept(run: ClaimedRun, wasGranted: boolean): void
  }
  readonly catalogue: Catalogue
  /** Parses definitions that are submitted as data; it knows the activities of this process. */
  readonly parseGraph: (document: Json) => ReturnType<ParseGraph>
  /** What a start does if its workflow id has a run already, unless the start has `reuse`. */
  readonly reuse?: Reuse | undefined
  readonly interceptors?: readonly Interceptor[] | undefined
  /** Answers a query by the code of the run. */
  readonly queryRun: HandleHost['queryRun']
  readonly endUnclaimed: HandleHost['endUnclaimed']
}

/**
 * How a client sends calls to its store: repeated while the store is unavailable, refused once the engine is closed.
 *
 * @internal
 */
export function untilClosed(
  store: Store,
  { clock, random }: Pick<ClientPorts, 'clock' | 'random'>,
  closed: AbortSignal,
): Send<Store> {
  const patienceMs = limits.storePatienceMs
  const givenUp = (error: PawlError): Error => (closed.aborted ? engineClosed(error) : error)
  const send = persistent(store, { clock, random, patienceMs, signal: closed, givenUp })
  return (call) => (closed.aborted ? Promise.reject(engineClosed()) : send(call))
}

/** Starts and watches runs. `open` gives one that can also work: an `Engine`. */
export class Client {
  /** @internal */
  readonly results: Results
  /** The readers of streams. @internal */
  readonly streamWatch: StreamWatch
  /** The calls that wait for runs. @internal */
  readonly waits: Waits
  readonly #ports: ClientPorts
  /** What handles, and everything built on a client, use of it. @internal */
  readonly host: HandleHost
  readonly #aroundStarts: NonNullable<Interceptor['start']>[]
  readonly #aroundCalls: NonNullable<Interceptor['client']>[]

  /** @internal */
  constructor(ports: ClientPorts) {
    this.#ports = ports
    this.#aroundStarts = around('start', ports.interceptors)
    this.#aroundCalls = around('client', ports.interceptors)
    this.results = new Results(ports.store, ports.clock)
    this.waits = new Waits(ports.waitClock ?? ports.clock)
    const load: HandleHost['load'] = (asks) => this.#ports.send((store) => store.load(asks))
    this.streamWatch = new StreamWatch({ load, wake: (listener) => ports.store.wake(listener) }, ports.clock)
    this.host = {
      load,
      streams: this.streamWatch,
      post: async (runId, message, wakes) => {
        const post = {
          runId,
          message: { id: message.id, body: encodeMessage(message) },
          ...wakes,
        }
        const [posted] = await this.#ports.send((store) => store.post([post]))
        return posted ?? { outcome: 'missing' }
      },
      wait: (runId, signal) => this.results.wait(runId, signal),
      waits: this.waits,
      newId: () => uuidV7(ports.clock, ports.random),
      newTurnId: () => ports.random.integer(),
      create: async (run) => {
        const [created] = await this.#ports.send((store) => store.create([run]))
        this.results.forget(run.runId)
        return created ?? { outcome: 'refused', runId: run.runId }
      },
      queryRun: ports.queryRun,
      pause: (ms, signal) => sleep(ports.clock, ms, signal),
      endUnclaimed: (given) => this.#ports.send(() => ports.endUnclaimed(given)),
      known: async (name) => ({
        submitted: await ports.catalogue.isRunnable(name),
        rollOut: await ports.catalogue.rollOut(),
      }),
    }
  }

  /**
   * Stores a definition under its name. A graph given as data (JSON, or text in JSON or YAML) is checked first, and any
   * worker can run it; of code, only the hash is stored. Submitting the same definition again changes nothing; a
   * changed one becomes the next version.
   */
  submit(definition: AnyWorkflow | Json): Promise<Submitted> {
    const { catalogue, parseGraph } = this.#ports
    return submitted(catalogue, definition, parseGraph)
  }

  /** Every version of a definition in the store, newest first. */
  definitions(name: string): Promise<readonly StoredDefinition[]> {
    return this.#ports.catalogue.versions(name)
  }

  /** The names of the definitions in the store that any worker can run. */
  definitionNames(): Promise<readonly string[]> {
    return this.#ports.catalogue.names()
  }

  /** The workers that use the store, and what each can do. */
  async workers(): Promise<readonly WorkerRecord[]> {
    const [loaded] = await this.host.load([{ type: 'sessions' }])
    const { now, sessions } = loaded?.type === 'sessions' ? loaded : { now: 0, sessions: [] }
    return sessions.map((session) => workerOf(session, now))
  }

  /** What waits for a worker, by queue: those that have waited longest first. */
  queues(): Promise<readonly QueueRecord[]> {
    return queuesOf((asks) => this.host.load(asks))
  }

  /** Starts a run of a workflow, or an activity on its own. When this resolves, the run is durable. */
  async start<In, Out>(workflow: Startable<In, Out>, ...args: Args<In, StartOptions>): Promise<StartedRun<Out>> {
    const [input, options = {}] = args
    return this.#starting('start', workflow, input, options, async (call) => {
      const run = await this.#newRun(workflow, call.input, call.options)
      const isOwn = call.options.idempotencyKey === undefined
      return this.#started<Out>(run, await this.#begin(run, call.options.transaction), isOwn)
    })
  }

  async #starting<Out>(
    operation: StartCall['operation'],
    workflow: Startable<never, Out>,
    input: unknown,
    options: StartOptions,
    start: (call: StartCall) => Promise<StartedHandle<Out>>,
  ): Promise<StartedHandle<Out>> {
    const made = { operation, workflow: workflow?.name, input, options }
    if (this.#aroundStarts.length === 0) return start(made)
    const call = { ...made, workflow: runNameOf(workflow) }
    const each = async ([one = call]: readonly StartCall[]) => [await start(one)]
    const [run] = await startThrough(this.#aroundStarts, [call], each)
    return run as StartedHandle<Out>
  }

  /** Starts a run and waits for its result. */
  async execute<In, Out>(workflow: Startable<In, Out>, ...args: Args<In, StartOptions>): Promise<Out> {
    const [, options] = args
    refuseTransaction(options ?? {}, 'execute waits for the result')
    return (await this.start(workflow, ...args)).result()
  }

  async startMany<In, Out>(
    workflow: Startable<In, Out>,
    runs: readonly Begin<NoInfer<In>>[],
  ): Promise<StartedRun<Out>[]> {
    checkStarts(runs)
    const operation = 'startMany'
    const calls = runs.map(({ input, ...options }): StartCall => {
      return { operation, workflow: runNameOf(workflow), input, options: options as StartOptions }
    })
    const started = await startThrough(this.#aroundStarts, calls, (made) => this.#startAll<Out>(workflow, made))
    return [...started]
  }

  async #startAll<Out>(workflow: Startable<never, Out>, calls: readonly StartCall[]): Promise<StartedHandle<Out>[]> {
    const transaction = commonTransaction(calls.map(({ options }) => options))
    const fresh = await Promise.all(calls.map(({ input, options }) => this.#newRun(workflow, input, options)))
    const created = transaction
      ? await this.#createIn(transaction, fresh)
      : await this.#ports.send((store) => store.create(fresh))
    return fresh.map((run, index) =>
      this.#started(run, created[index], calls[index]?.options.idempotencyKey === undefined),
    )
  }

  /** Signals the run of a workflow id, in one write with its start if none is in progress. */
  async signalWithStart<In, Out, P>(
    workflow: WorkflowContract<In, Out>,
    request: Begin<NoInfer<In>> & {
      readonly signal: Signal<P>
      readonly messageId?: string
    } & Given<'payload', NoInfer<P>>,
  ): Promise<StartedRun<Out>> {
    refuseActivity(workflow, 'signalWithStart')
    checkOptions(startRequests.signal, request, { of: 'signalWithStart' })
    const { signal, payload: given, messageId, input, ...options } = request
    const { name } = signal
    await checkPayload(signal, given)
    const payload = encode(given, `the payload of signal '${name}'`)
    const id = messageId === undefined ? this.host.newId() : signalId(messageId)
    const message = { type: 'signal', id, name, payload } as const
    return this.#starting('signalWithStart', workflow, input, options as StartOptions, (call) =>
      this.startWith<Out>(workflow, call.input, call.options, message),
    )
  }

  /** Sends an update to the run of a workflow id and waits for its answer; starts the run if none is in progress. */
  async updateWithStart<In, Out, P, U>(
    workflow: WorkflowContract<In, Out>,
    request: Begin<NoInfer<In>> & {
      readonly update: Update<P, U>
      readonly messageId?: string
    } & Given<'payload', NoInfer<P>>,
  ): Promise<{ readonly run: StartedRun<Out>; readonly result: U }> {
    refuseActivity(workflow, 'updateWithStart')
    checkOptions(startRequests.update, request, { of: 'updateWithStart' })
    const { update, payload: given, messageId, input, ...options } = request
    refuseTransaction(options as StartOptions, 'updateWithStart waits for the answer')
    const { name } = update
    const payload = encode(given, `the payload of update '${name}'`)
    const own = messageId ?? this.host.newId()
    const id = updateId(own)
    const message = { type: 'update', id, name, payload } as const
    const run = await this.#starting('updateWithStart', workflow, input, options as StartOptions, (call) =>
      this.startWith<Out>(workflow, call.input, call.options, message),
    )
    return { run, result: (await run.awaitUpdate(own)) as U }
  }

  /**
   * Settles a `ctx.webhook`, or completes a step by its `ctx.completionToken`. Sending the same answer again changes
   * nothing; a different one is refused.
   */
  resolve(token: string, payload?: unknown): Promise<void> {
    const value = encode(payload, 'what the token is resolved with')
    return settleByToken(this.host, token, { ok: true, value })
  }

  /** Fails the wait for a `ctx.webhook`, or the step. The step is not retried. */
  async reject(token: string, reason: string): Promise<void> {
    if (typeof reason === 'string') return settleByToken(this.host, token, { ok: false, reason })
    throw new PawlError('INPUT_INVALID', 'reject takes a token and a reason, which is a string.')
  }

  get(run: RunRef): RunHandle<unknown>
  get<Out>(workflow: Startable<never, Out>, run: RunRef): RunHandle<Out>
  get(first: RunRef | Startable<never, unknown>, second?: RunRef): RunHandle<unknown> {
    const ref = second ?? (first as RunRef)
    checkRef(ref)
    return interceptedHandle(new Handle(this.host, ref), ref, this.#aroundCalls)
  }

  /** Runs, newest first. */
  async list(filter: RunFilter = {}, page: PageOptions = {}): Promise<Page<RunRecord>> {
    const query = { ...queryOf(filter), ...pageOf(page) }
    const listed = await this.#ports.send((store) => store.list(query))
    return defined({ items: listed.runs.map(recordOf), cursor: listed.cursor })
  }

  /** Counts runs. With `atMost`, stops there: of many runs, that is much faster. */
  async count(filter: RunFilter = {}, options: CountOptions = {}): Promise<number> {
    checkOptions(countOptions, options, { of: 'count' })
    const { atMost: countMost } = options
    const query = { ...queryOf(filter), limit: 1, count: true, ...(countMost && { countMost }) } as const
    return (await this.#ports.send((store) => store.list(query))).count ?? 0
  }

  /** Counts runs by what they have in common: what they wait for, why they failed, their workflow and so on. */
  async groups(filter: RunFilter, options: GroupOptions): Promise<readonly RunGroup[]> {
    const query = groupQueryOf(filter, options)
    const { groups = [] } = await this.#ports.send((store) => store.list(query))
    return groups.map(({ oldest, ...group }) => ({ ...group, oldest: new Date(oldest) }))
  }

  /** Starts a run and sends it a message in one write, so that no run is without its first message. @internal */
  async startWith<Out>(
    workflow: Startable<never, Out>,
    input: unknown,
    options: StartOptions,
    message: Message,
  ): Promise<StartedHandle<Out>> {
    const reuse = options.reuse ?? (options.workflowId === undefined ? 'allow' : 'returnExisting')
    const run = {
      ...(await this.#newRun(workflow, input, { ...options, reuse })),
      message: { id: message.id, body: encodeMessage({ ...message, ...callerOf(options) }) },
    }
    const created = await this.#begin(run, options.transaction)
    if (created?.outcome === 'existing' && created.posted === 'closed') {
      // An earlier try may have delivered the message before the run ended, and its answer was lost.
      const told = await hasTaken((asks) => this.host.load(asks), created.runId, message.id)
      const text = `run ${created.runId} has ended, so it receives no more messages.`
      if (!told) throw new PawlError('RUN_ENDED', text)
    }
    return this.#started(run, created, options.idempotencyKey === undefined)
  }

  async #begin(run: NewRun, transaction?: SqlClient): Promise<Created | undefined> {
    if (transaction) return (await this.#createIn(transaction, [run]))[0]
    const eager = this.#offer(run)
    const [created] = await this.#ports.send((store) => store.create([{ ...run, ...(eager && { eager }) }]))
    return created
  }

  #createIn(client: SqlClient, runs: readonly NewRun[]): Promise<readonly Created[]> {
    const { store } = this.#ports
    if (store.createIn) return store.createIn(client, runs)
    const text = `a start can join a transaction only on Postgres, and this store is '${store.traits.name}'.`
    throw new PawlError('NOT_SUPPORTED', text)
  }

  // An existing run with the id of this start was created by an earlier try, whose answer was lost.
  #started<Out>(run: NewRun, created: Created | undefined, isOwn: boolean): StartedHandle<Out> {
    const { runId, workflowId } = run
    switch (created?.outcome) {
      case 'created':
      case 'existing': {
        // Another run may have had this id, and been deleted since.
        if (created.outcome === 'created') this.results.forget(runId)
        if (created.run) {
          this.results.expect(runId)
          this.#ports.workers.accept(created.run, created.outcome === 'existing')
        }
        const found = created.outcome === 'created' ? runId : created.runId
        const isNew = created.outcome === 'created' || (isOwn && found === runId)
        const alongside = created.outcome === 'created' ? created.alongside : undefined
        const handle = new StartedHandle<Out>(this.host, found, defined({ workflowId, isNew, alongside }))
        return interceptedHandle(handle, found, this.#aroundCalls)
      }
      case 'conflict':
        throw new PawlError(
          'RUN_ALREADY_EXISTS',
          `run ${runId} was started before with another input. An idempotency key stands for one input: use a new key for a new one.`,
          { details: { runId } },
        )
      case 'refused':
        throw new PawlError(
          'RUN_ALREADY_EXISTS',
          `workflow id '${workflowId}' belongs to run ${created.runId}, and reuse: '${run.reuse}' forbids another. Use another id, or ${otherReuse(run.reuse)}.`,
          { details: { runId: created.runId } },
        )
      default:
        throw new PawlError('STORE_UNAVAILABLE', 'the store gave no answer to a start')
    }
  }

  #offer(run: NewRun): NewRun['eager'] {
    if (run.startAt !== undefined || run.delayMs !== undefined) return undefined
    return this.#ports.workers.offer(run)
  }

  #newRun<In>(workflow: Startable<In, unknown> & Known, given: unknown, options: StartOptions): Promise<NewRun> {
    const { clock, random } = this.#ports
    const newId = (): string => uuidV7(clock, random)
    return newRun(startedAs(workflow), given, options, { newId, reuse: this.#ports.reuse })
  }
}
