// Opens an engine: a store, a client on it (`start`, `get`, `list` and so on are in core/client/client.ts), and the
// workers of this process.

import { activityClient } from './activity-client.ts'
import { Batch } from './addons/batches/batch.ts'
import { type BatchOptions, checkBatch, checkMigration } from './addons/batches/batch-options.ts'
import { Batches } from './addons/batches/batches.ts'
import { batchWorkflow } from './addons/batches/workflow.ts'
import { Builds } from './addons/builds/builds.ts'
import type { CheckedRun } from './addons/builds/check-report.ts'
import { type Codec, Codecs, checkCodecs } from './addons/codecs/codec.ts'
import { encoded } from './addons/codecs/encoded.ts'
import { parseGraph } from './addons/documents/parse.ts'
import { publishInputSchemas } from './addons/input-schemas/input-schemas.ts'
import { Retention } from './addons/retention/retention.ts'
import { retentionWorkflow } from './addons/retention/workflow.ts'
import { Schedules } from './addons/schedules/schedules.ts'
import { SCHEDULES_QUEUE, schedule } from './addons/schedules/workflow.ts'
import { defined } from './core/base/defined.ts'
import { checkOptions, choice, type Described, fn, option, text } from './core/base/described.ts'
import { isUnreadable, whyUnreadable } from './core/base/envelope.ts'
import { PawlError } from './core/base/errors.ts'
import { limits } from './core/base/limits.ts'
import { checkName } from './core/base/names.ts'
import type { Json } from './core/base/value.ts'
import { visibleJson } from './core/base/visible.ts'
import { Catalogue, type StoredDefinition } from './core/catalogue/catalogue.ts'
import type { Records } from './core/catalogue/records.ts'
import { Client, untilClosed } from './core/client/client.ts'
import { queryOf, type RunFilter, runFilter } from './core/client/filter.ts'
import { historyAsk, type Load, pageIn, turnsOf } from './core/client/history.ts'
import {
  around,
  aroundActivities,
  checkInterceptors,
  type Interceptor,
  type RequestAnswer,
  type RequestCall,
} from './core/client/interceptors.ts'
import type { Submitted } from './core/client/submitting.ts'
import type { AnyActivity } from './core/definitions/activity.ts'
import type { ParseGraph } from './core/definitions/graph-document.ts'
import { through } from './core/definitions/interceptor.ts'
import { Registry } from './core/definitions/registry.ts'
import type { AnyWorkflow } from './core/definitions/workflow.ts'
import type { Status } from './core/kernel/run.ts'
import { LIVE } from './core/kernel/run.ts'
import { type Clock, sleep, systemClock } from './core/runtime/clock.ts'
import { consoleLogger, type Logger } from './core/runtime/logger.ts'
import { nodeProblem } from './core/runtime/node-version.ts'
import { onShutdown } from './core/runtime/process.ts'
import { type Random, systemRandom, uuidV7 } from './core/runtime/random.ts'
import {
  type ListQuery,
  REUSES,
  type RecordOperation,
  type Reuse,
  type RunSnapshot,
  type Store,
  type StoredTurn,
} from './core/stores/store.ts'
import { observed } from './core/stores/wrapped.ts'
import type { Announcement, Listener } from './core/telemetry/announcement.ts'
import { Bus } from './core/telemetry/announcement.ts'
import type { EngineParts } from './core/worker/context.ts'
import { Deciders } from './core/worker/deciders.ts'
import type { WorkerOptions } from './core/worker/options.ts'
import { checkRun, queryRun, type RecordedRun } from './core/worker/replay.ts'
import { endUnclaimed } from './core/worker/unclaimed.ts'
import { Worker, type WorkerLoad } from './core/worker/worker.ts'
import { type WorkerSettings, workerSettings } from './core/worker/worker-settings.ts'
import { LocalWorkers } from './local-workers.ts'
import { coalesced } from './stores/group-commit/coalesced.ts'
import { openPatiently, type StoreOptions } from './stores/open.ts'
import { type UntilIdleOptions, untilIdleOptions, type Worked, workUntilIdle } from './until-idle.ts'

export type { WorkerOptions } from './core/worker/options.ts'
export type { UntilIdleOptions, Worked } from './until-idle.ts'

export const openOptions = {
  workflows: option<readonly AnyWorkflow[]>('The workflows it has code for.', 'a list of workflows', Array.isArray),
  activities: option<readonly AnyActivity[]>('The activities it has code for.', 'a list of activities', Array.isArray),
  /** The name of this build of your code. By default it changes with the text of the workflows. */
  build: text('The name of this build of your code.', {
    otherwise: 'it changes with the text of the workflows',
  }),
  listeners: option<readonly Listener[]>(
    'Functions that are called with every announcement.',
    'a list of functions',
    (value) => Array.isArray(value) && value.every((each) => typeof each === 'function'),
  ),
  /** Where `ctx.log` and pawl's own remarks go. By default standard error. */
  logger: option<Logger>(
    "Where `ctx.log` and pawl's own remarks go.",
    'an object with `log`',
    (value) => typeof (value as { log?: unknown } | null)?.log === 'function',
    { otherwise: 'standard error' },
  ),
  /** Encode bodies on their way to the store, in this order. Every process that uses the store needs them. */
  codecs: option<readonly Codec[]>(
    'Encode bodies on their way to the store, in this order.',
    'a list of codecs',
    Array.isArray,
  ),
  /** What a start does if its workflow id has a run already, unless the start has `reuse`. 'allow' */
  reuse: choice<Reuse>(
    'What a start does if its workflow id has a run already, unless the start has `reuse`.',
    REUSES,
    { otherwise: "'allow'" },
  ),
  /** Wrap step bodies, starts and calls on runs; the first is the outermost. */
  interceptors: option<readonly Interceptor[]>(
    'Wrap step bodies, starts and calls on runs; the first is the outermost.',
    'a list of objects with `activity`, `start`, `client` or `request`',
    (value) => Array.isArray(value) && value.every((each) => typeof each === 'object' && each),
  ),
  /** Where the s3 store gets its credentials; by default from the environment, then from the profile file. */
  credentials: fn<NonNullable<StoreOptions['credentials']>>('Where the s3 store gets its credentials.', {
    otherwise: 'from the environment, then from the profile file',
  }),
} as const
/** The code of an engine, and what it uses. */
export interface OpenOptions extends Described<typeof openOptions> {}

/** Clock, randomness and other settings that tests replace. @internal */
export interface EngineWorld {
  readonly clock: Clock
  readonly random: Random
  readonly alwaysReplay?: boolean
  /** The clock that limits of waits are measured with, if it is another. */
  readonly waitClock?: Clock
  /** No other process uses this store: no hint is lost, and no lease can be taken over. */
  readonly alone?: boolean
  /** A run that leaves something undone when it completes has failed. */
  readonly strict?: boolean
  /** Interceptors of step bodies, inside those of the user. */
  readonly aroundBodies?: EngineParts['aroundBodies']
}

/** Where runs are stored, such as `sqlite:./pawl.db` or `postgres://host/database`. */
export type StoreUrl = `${'memory' | 'sqlite' | 'postgres' | 'postgresql' | 's3' | 'file'}:${string}`
type KnownUrl<Url extends string> = string extends Url ? Url : Url extends StoreUrl ? Url : StoreUrl

/**
 * Opens a store. The compiler checks a literal URL; any other is checked when it is opened. If the store is
 * unavailable, `open` waits for it as long as other calls do: 30 s.
 */
export async function open<const Url extends string>(store: KnownUrl<Url>, options: OpenOptions = {}): Promise<Engine> {
  refuseOldNode()
  checkOptions(openOptions, options, { of: 'open' })
  const registry = registryOf(options)
  const world = { clock: systemClock, random: systemRandom }
  checkCodecs(options.codecs ?? [])
  checkInterceptors(options.interceptors ?? [])
  const ports = { ...world, logger: options.logger ?? consoleLogger }
  return new Engine(await openPatiently(store, ports, options), registry, options, world)
}

// An old Node would claim runs, and fail them because of features it lacks.
function refuseOldNode(): void {
  const problem = nodeProblem()
  if (problem !== undefined) throw new PawlError('NOT_SUPPORTED', problem)
}

/** Workflows of pawl's own. @internal */
export const ownWorkflows: readonly AnyWorkflow[] = [schedule, batchWorkflow, retentionWorkflow]

/** All code of an engine: the user's, and pawl's own. @internal */
export function registryOf({ workflows = [], activities = [] }: OpenOptions): Registry {
  return new Registry(workflows, activities, ownWorkflows)
}

/** A run as it is stored: its newest generation. */
export interface ExportedRun extends RecordedRun {
  readonly pawl: number
  readonly status: Status
}

/**
 * A client that can also work: what `open` returns. It extends `Client`, because as a wrapper it would only repeat
 * every method of the client.
 */
export class Engine extends Client implements AsyncDisposable {
  /** Runs that start by the clock. */
  readonly schedules: Schedules
  /** Builds that keep the runs they started, and how new runs are shared among them. */
  readonly builds: Builds
  /** Operations on many runs, previewed first. */
  readonly batches: Batches
  /** Which runs are deleted after they have ended. */
  readonly retention: Retention
  readonly #store: Store
  readonly #registry: Registry
  readonly #catalogue: Catalogue
  readonly #deciders: Deciders
  readonly #options: OpenOptions
  readonly #world: EngineWorld
  readonly #bus: Bus
  readonly #workers: LocalWorkers
  readonly #ended: AbortController
  #closed: Promise<void> | undefined

  /** @internal */
  constructor(raw: Store, registry: Registry, options: OpenOptions, world: EngineWorld) {
    const { clock, random, waitClock } = world
    const { reuse, interceptors, logger = consoleLogger } = options
    const bus = new Bus(options.listeners)
    const store = coalesced(observed(withCodecs(raw, options), bus, clock), () => clock.breathe())
    const ended = new AbortController()
    const send = untilClosed(store, world, ended.signal)
    const records = (operations: readonly RecordOperation[]) => send((to) => to.records(operations))
    const newWriteId = (): number => random.integer()
    const catalogue = new Catalogue({ records, writeId: newWriteId }, () => clock.now())
    const deciders = new Deciders(registry, parseGraph, catalogue)
    const workers = new LocalWorkers()
    super({
      store,
      send,
      clock,
      waitClock,
      random,
      workers,
      catalogue,
      parseGraph: (document) => parseGraph(document, activitiesOf(registry)),
      reuse,
      interceptors,
      queryRun: (query) => queryRun(deciders, clock, query),
      endUnclaimed: (run) => endUnclaimed(run, { store, bus, clock, logger, turnId: random.integer() }),
    })
    const countRuns = async (pin: string): Promise<number> => {
      return (await send((to) => to.list({ pin, statuses: LIVE, limit: 1, count: true }))).count ?? 0
    }
    this.builds = new Builds({ catalogue, countRuns, now: () => clock.now(), workers: () => this.workers() })
    this.batches = new Batches(this)
    this.retention = new Retention(this, catalogue.records, {
      send,
      monotonic: () => clock.monotonic(),
      rest: (ms) => sleep(clock, ms, ended.signal),
    })
    this.schedules = new Schedules(this, () => clock.now())
    this.#store = store
    this.#registry = registry
    this.#catalogue = catalogue
    this.#deciders = deciders
    this.#options = options
    this.#world = world
    this.#bus = bus
    this.#workers = workers
    this.#ended = ended
  }

  /** Makes this process a worker. */
  work(options: WorkerOptions = {}): Worker {
    if (this.#closed) throw new PawlError('WORKER_STOPPED', 'this engine is closed.')
    const { clock, random, aroundBodies = [] } = this.#world
    const { interceptors, logger = consoleLogger } = this.#options
    const parts = {
      store: this.#store,
      catalogue: this.#catalogue,
      deciders: this.#deciders,
      registry: this.#registry,
      clock,
      random,
      logger,
      bus: this.#bus,
      aroundBodies: [...aroundActivities(interceptors), ...aroundBodies],
      clientFor: (key: string) => activityClient(this, key),
      results: this.results,
    }
    const worker = new Worker(parts, this.#settingsOf(options))
    publishInputSchemas(this.records, this.#registry.workflows.values()).catch(() => {
      // Without them a form takes any JSON; the next worker tries again.
    })
    this.#workers.add(worker, (options.signals ?? true) ? onShutdown(() => worker.drain()) : () => {})
    return worker
  }

  /**
   * Works until nothing is due or the time is up, then releases everything: for functions that serve one call. What is
   * due later, the next call finds.
   */
  async workUntilIdle(options: UntilIdleOptions = {}): Promise<Worked> {
    checkOptions(untilIdleOptions, options, { of: 'workUntilIdle' })
    const { clock } = this.#world
    return workUntilIdle(
      { clock, work: (given) => this.work(given), listen: (listener) => this.#bus.add(listener) },
      options,
    )
  }

  #settingsOf(options: WorkerOptions): WorkerSettings {
    const { clock, random, alwaysReplay = false, alone = false, strict = false } = this.#world
    const code = this.code
    const settings = workerSettings(options, {
      build: buildOf(code, this.#options),
      code,
      alwaysReplay,
      strict,
      pollMs: alone ? Number.POSITIVE_INFINITY : limits.idlePollMs,
      newId: () => `worker-${uuidV7(clock, random).slice(-12)}`,
      schedulesQueue: SCHEDULES_QUEUE,
    })
    return alone ? { ...settings, leaseMs: limits.durationMsMax } : settings
  }

  // The workers of this process need not wait for their next look.
  override async submit(definition: AnyWorkflow | Json): Promise<Submitted> {
    const submitted = await super.submit(definition)
    await this.#workers.look()
    return submitted
  }

  /**
   * Replays every run in progress with the code of this engine, and says which of them would continue. Nothing is
   * written, and no step runs.
   */
  async *check(filter: Pick<RunFilter, 'workflow'> = {}): AsyncGenerator<CheckedRun> {
    checkOptions({ workflow: runFilter.workflow }, filter, { of: 'check' })
    const { workflow } = filter
    const names = queryOf(workflow === undefined ? {} : { workflow })
    const { retired } = await this.#catalogue.rollOut()
    const open = new Set([...retired, this.code])
    for await (const { run, turns } of runHistories(this.#store, { ...names, statuses: LIVE })) {
      const { head, status, pin } = run
      const { runId, workflowId, name } = head
      const verdict = await checkRun(this.#deciders, this.#world.clock, { head, turns })
      const kept = pin === undefined || open.has(pin) ? {} : { keptBy: pin }
      yield { runId, workflowId, name, status, ...kept, ...verdict }
    }
  }

  /** Whole runs, to be archived or to be replayed in a test: one JSON text for each run. */
  async *export(filter: RunFilter = {}): AsyncGenerator<string> {
    for await (const { run, turns } of runHistories(this.#store, queryOf(filter))) {
      const { input, extras = '' } = run.head
      // A body that could not be decoded is an error, because an export without it would not be a copy.
      const lost = [input, extras, ...turns.map(({ body }) => body)].find(isUnreadable)
      if (lost !== undefined) throw whyUnreadable(lost)
      const exported: ExportedRun = { pawl: 1, status: run.status, head: run.head, turns }
      yield visibleJson(JSON.stringify(exported))
    }
  }

  /** The build of this engine, as users name it. @internal */
  get code(): string {
    return checkName(this.#options.build ?? this.#registry.fingerprint, 'the build')
  }

  /** Small shared values of the store. @internal */
  get records(): Records {
    return this.#catalogue.records
  }

  /** The newest version of a definition in the store. @internal */
  newestDefinition(name: string): Promise<StoredDefinition | undefined> {
    return this.#catalogue.newest(name)
  }

  /** The clock and randomness of this engine. @internal */
  get world(): EngineWorld {
    return this.#world
  }

  /** The kind of its store: 'sqlite', 'postgres' and so on. */
  get storeKind(): string {
    return this.#store.traits.name
  }

  /** The operations of a handle, for every run that matches the filter. */
  batch(filter: RunFilter, options: BatchOptions): Batch {
    checkBatch(filter, options)
    return new Batch(this, filter, options, checkMigration)
  }

  /** How busy its workers are. @internal */
  get loads(): readonly WorkerLoad[] {
    return this.#workers.loads
  }

  /** Tells its listeners of something that did not happen in a worker. @internal */
  announce(make: () => Announcement): void {
    this.#bus.announce(make)
  }

  /** Calls the listener with every announcement. @internal */
  listen(listener: Listener): () => void {
    return this.#bus.add(listener)
  }

  /** Carries out a request to a server, through its interceptors. @internal */
  intercepted(call: RequestCall, make: (call: RequestCall) => Promise<RequestAnswer>): Promise<RequestAnswer> {
    return through(around('request', this.#options.interceptors), call, make)
  }

  /** How many step bodies the workers of this engine run. */
  get stepsRunning(): number {
    return this.#workers.stepsRunning
  }

  on<T extends Announcement['type']>(
    type: T,
    listener: (announcement: Announcement & { readonly type: T }) => void,
  ): () => void {
    return this.#bus.add((announcement) => {
      if (announcement.type === type) listener(announcement as Announcement & { readonly type: T })
    })
  }

  /** Drains the workers of this engine and closes the store. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #close(): Promise<void> {
    await this.#workers.drain()
    const closed = new PawlError('WORKER_STOPPED', 'this engine was closed.')
    this.results.close(closed)
    this.streamWatch.close(closed)
    this.#ended.abort()
    await this.#store.close()
  }
}

function withCodecs(store: Store, { codecs = [], logger = consoleLogger }: OpenOptions): Store {
  return codecs.length === 0 ? store : encoded(store, codecs, (text) => logger.log('error', text))
}

// A worker with other codecs or keys is another build, because it may be able to read what this one cannot.
function buildOf(name: string, { codecs = [] }: OpenOptions): string {
  return codecs.length === 0 ? name : `${name}+${new Codecs(codecs).fingerprint}`
}

/** The activities that a submitted graph may use; any, if this process has none. */
function activitiesOf({ knownActivities }: Registry): Parameters<ParseGraph>[1] {
  return { activities: knownActivities?.size === 0 ? undefined : knownActivities }
}

const PAGE_RUNS = 100

/** The runs that match a query, each with all turns of its current generation. */
async function* runHistories(
  store: Store,
  query: Omit<ListQuery, 'limit' | 'cursor'>,
): AsyncGenerator<{ readonly run: RunSnapshot; readonly turns: readonly StoredTurn[] }> {
  const load: Load = (asks) => store.load(asks)
  for (let cursor: string | undefined; ; ) {
    const page = await store.list(defined({ ...query, limit: PAGE_RUNS, cursor }))
    const histories = await load(page.runs.map(({ head }) => historyAsk(head, 0)))
    for (const [index, run] of page.runs.entries()) {
      yield { run, turns: await turnsOf(load, run.head, pageIn(histories[index])) }
    }
    cursor = page.cursor
    if (cursor === undefined) return
  }
}
