// Puts the parts together: a store, a client on it, and workers in this process when asked for.

import { parseGraph } from './addons/documents/parse.ts'
import { Schedules } from './addons/schedules/schedules.ts'
import { SCHEDULES_QUEUE, schedule } from './addons/schedules/workflow.ts'
import { checkOptions, choice, type Described, fn, option, text } from './core/base/described.ts'
import { milliseconds } from './core/base/duration.ts'
import { isUnreadable, whyUnreadable } from './core/base/envelope.ts'
import { PawlError } from './core/base/errors.ts'
import { limits } from './core/base/limits.ts'
import { checkId, checkName } from './core/base/names.ts'
import type { Json } from './core/base/value.ts'
import { visibleJson } from './core/base/visible.ts'
import { Catalogue } from './core/catalogue/catalogue.ts'
import { activityClient } from './core/client/activity-client.ts'
import { Client, type ClientPorts } from './core/client/client.ts'
import { LIVE, queryOf, type RunFilter, runFilter } from './core/client/filter.ts'
import {
  aroundActivities,
  checkInterceptors,
  type Interceptor,
} from './core/client/interceptors.ts'
import { runHistories } from './core/client/run-histories.ts'
import type { Submitted } from './core/client/submitting.ts'
import type { AnyActivity } from './core/definitions/activity.ts'
import { Registry } from './core/definitions/registry.ts'
import type { AnyWorkflow } from './core/definitions/workflow.ts'
import type { Status } from './core/kernel/run.ts'
import { persist } from './core/runtime/availability.ts'
import { type Clock, systemClock } from './core/runtime/clock.ts'
import { consoleLogger, type Logger } from './core/runtime/logger.ts'
import { nodeProblem } from './core/runtime/node-version.ts'
import { type Random, systemRandom, uuidV7 } from './core/runtime/random.ts'
import { onShutdown } from './core/runtime/shutdown.ts'
import { coalesced } from './core/stores/coalesced.ts'
import { type Codec, Codecs, checkCodecs } from './core/stores/codec.ts'
import { encoded } from './core/stores/encoded.ts'
import { observed } from './core/stores/observed.ts'
import {
  REUSES,
  type RecordOperation,
  type RecordOutcome,
  type Reuse,
  type Store,
} from './core/stores/store.ts'
import type { Announcement, Listener } from './core/telemetry/announcement.ts'
import { Bus } from './core/telemetry/bus.ts'
import { Deciders } from './core/worker/deciders.ts'
import { type WorkerOptions, workerOptions } from './core/worker/options.ts'
import { inquire, judge, type RecordedRun, type Verdict } from './core/worker/rehearsal.ts'
import { endUnclaimed } from './core/worker/unclaimed.ts'
import { Worker } from './core/worker/worker.ts'
import type { WorkerPorts } from './core/worker/worker-settings.ts'
import { openPatiently, type StoreOptions } from './stores/open.ts'

export type { WorkerOptions } from './core/worker/options.ts'

export const openOptions = {
  workflows: option<readonly AnyWorkflow[]>(
    'The workflows it has code for.',
    'a list of workflows',
    Array.isArray,
  ),
  activities: option<readonly AnyActivity[]>(
    'The activities it has code for.',
    'a list of activities',
    Array.isArray,
  ),
  /** The name of this build of your code. By default it changes with the text of the workflows. */
  build: text('The name of this build of your code.', {
    otherwise: 'it changes with the text of the workflows',
  }),
  listeners: option<readonly Listener[]>(
    'They hear what happens.',
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
  /** What bodies go through on their way to the store, in this order. All that use the store need them. */
  codecs: option<readonly Codec[]>(
    'What bodies go through on their way to the store, in this order.',
    'a list of codecs',
    Array.isArray,
  ),
  /** What becomes of a start if its workflow id has a run already, unless the start says so itself. 'allow' */
  reuse: choice<Reuse>(
    'What becomes of a start if its workflow id has a run already, unless it says so itself.',
    REUSES,
    { otherwise: "'allow'" },
  ),
  /** Stand around step bodies, starts and calls on runs; the first is the outermost. */
  interceptors: option<readonly Interceptor[]>(
    'Stand around step bodies, starts and calls on runs; the first is the outermost.',
    'a list of objects with `activity`, `start` or `client`',
    (value) => Array.isArray(value) && value.every((each) => typeof each === 'object' && each),
  ),
  /** Where the s3 store gets its credentials; by default from the environment, then from the profile file. */
  credentials: fn<NonNullable<StoreOptions['credentials']>>(
    'Where the s3 store gets its credentials.',
    { otherwise: 'from the environment, then from the profile file' },
  ),
} as const
/** The code an engine has, and what it uses. */
export interface OpenOptions extends Described<typeof openOptions> {}

/** What the world is to an engine. Tests hand in their own. @internal */
export interface EngineWorld {
  readonly clock: Clock
  readonly random: Random
  readonly alwaysReplay?: boolean
  /** By which time limits of waits are measured, if that is another. */
  readonly waitClock?: Clock
  /** No other process has this store: no hint is lost, and nobody need fear for a lease. */
  readonly alone?: boolean
  /** A run that leaves something undone when it completes has failed. */
  readonly strict?: boolean
  /** Stand around step bodies, inside those of the user. */
  readonly aroundBodies?: WorkerPorts['aroundBodies']
}

/** Where runs are kept, such as `sqlite:./pawl.db` or `postgres://host/database`. */
export type StoreUrl =
  `${'memory' | 'sqlite' | 'postgres' | 'postgresql' | 's3' | 'file'}:${string}`
type KnownUrl<Url extends string> = string extends Url ? Url : Url extends StoreUrl ? Url : StoreUrl

/**
 * Opens a store. A literal URL is checked by the compiler; any other, here. A store that is unavailable is waited for
 * as long as other calls wait, 30 s.
 */
export async function open<const Url extends string>(
  store: KnownUrl<Url>,
  options: OpenOptions = {},
): Promise<Engine> {
  refuseOldNode()
  checkOptions(openOptions, options, { of: 'open' })
  const registry = registryOf(options)
  const world = { clock: systemClock, random: systemRandom }
  checkCodecs(options.codecs ?? [])
  checkInterceptors(options.interceptors ?? [])
  const ports = { ...world, logger: options.logger ?? consoleLogger }
  return new Engine(await openPatiently(store, ports, options), registry, options, world)
}

// An old Node would take runs, and fail them for what it lacks.
function refuseOldNode(): void {
  const problem = nodeProblem()
  if (problem !== undefined) throw new PawlError('NOT_SUPPORTED', problem)
}

/** All code an engine has: the user's, and pawl's own. @internal */
export function registryOf({ workflows = [], activities = [] }: OpenOptions): Registry {
  return new Registry(workflows, activities, [schedule])
}

/** A run as it is stored: its newest generation. */
export interface ExportedRun extends RecordedRun {
  readonly pawl: number
  readonly status: Status
}

/** A run under way, and whether the code here would go on with it. */
export type CheckedRun = Verdict & {
  readonly runId: string
  readonly workflowId: string
  readonly name: string
  readonly status: Status
  /** Another build, which keeps the run: the code here gets it only when that is retired. */
  readonly keptBy?: string
}

/** A client that can also work: what `open` gives. */
export class Engine extends Client implements AsyncDisposable {
  /** Runs that start by the clock. */
  readonly schedules: Schedules
  readonly #store: Store
  readonly #registry: Registry
  readonly #catalogue: Catalogue
  readonly #deciders: Deciders
  readonly #options: OpenOptions
  readonly #world: EngineWorld
  readonly #bus: Bus
  readonly #workers: Worker[]
  readonly #forget: (() => void)[] = []
  readonly #ended: AbortController
  #closed: Promise<void> | undefined

  /** @internal */
  constructor(raw: Store, registry: Registry, options: OpenOptions, world: EngineWorld) {
    const bus = new Bus(options.listeners)
    const own = withCodecs(raw, options)
    const store = coalesced(observed(own, bus, world.clock), () => world.clock.breathe())
    const workers: Worker[] = []
    const catalogue = catalogueOf(store, world)
    const deciders = new Deciders(registry, parseGraph, catalogue)
    const ended = new AbortController()
    const { reuse, interceptors } = options
    const parts = { catalogue, deciders, closed: ended.signal, reuse, interceptors }
    super(clientPorts(store, registry, world, workers, parts))
    this.schedules = new Schedules(this, () => world.clock.now())
    this.#ended = ended
    this.#store = store
    this.#catalogue = catalogue
    this.#deciders = deciders
    this.#registry = registry
    this.#options = options
    this.#world = world
    this.#bus = bus
    this.#workers = workers
  }

  /** Makes this process a worker. */
  work(options: WorkerOptions = {}): Worker {
    if (this.#closed) throw new PawlError('WORKER_STOPPED', 'this engine is closed.')
    const {
      clock,
      random,
      alwaysReplay = false,
      alone = false,
      strict = false,
      aroundBodies = [],
    } = this.#world
    const ports = {
      store: this.#store,
      catalogue: this.#catalogue,
      deciders: this.#deciders,
      registry: this.#registry,
      clock,
      random,
      logger: this.#options.logger ?? consoleLogger,
      bus: this.#bus,
      aroundBodies: [...aroundActivities(this.#options.interceptors), ...aroundBodies],
      clientFor: (key: string) => activityClient(this, key),
      onEnded: (runId: string, body: string) => this.results.ended(runId, body),
      onLetGo: (runId: string) => this.results.letGo(runId),
    }
    const code = this.#code
    const build = buildOf(code, this.#options)
    const pollMs = alone ? Number.POSITIVE_INFINITY : limits.idlePollMs
    const settings = {
      ...settingsOf(options, clock, random),
      ...(alone && { leaseMs: limits.durationMsMax }),
      ...{ build, code, alwaysReplay, strict, pollMs },
    }
    const worker = new Worker(ports, settings)
    this.#workers.push(worker)
    if (options.signals ?? true) this.#forget.push(onShutdown(() => worker.drain()))
    return worker
  }

  // The workers of this process need not find out by themselves.
  override async submit(definition: AnyWorkflow | Json): Promise<Submitted> {
    const submitted = await super.submit(definition)
    await Promise.all(this.#workers.map((worker) => worker.look()))
    return submitted
  }

  /**
   * Replays every run under way with the code this engine has, and says which would go on and which would not. Nothing is
   * written, and no step is run.
   */
  async *check(filter: Pick<RunFilter, 'workflow'> = {}): AsyncGenerator<CheckedRun> {
    checkOptions({ workflow: runFilter.workflow }, filter, { of: 'check' })
    const { workflow } = filter
    const names = queryOf(workflow === undefined ? {} : { workflow })
    const { retired } = await this.#catalogue.rollOut()
    const open = new Set([...retired, this.#code])
    for await (const { run, turns } of runHistories(this.#store, { ...names, statuses: LIVE })) {
      const { head, status, pin } = run
      const { runId, workflowId, name } = head
      const verdict = await judge(this.#deciders, this.#world.clock, { head, turns })
      const kept = pin === undefined || open.has(pin) ? {} : { keptBy: pin }
      yield { runId, workflowId, name, status, ...kept, ...verdict }
    }
  }

  /** Whole runs, to be kept or to be replayed in a test: one JSON text a run. */
  async *export(filter: RunFilter = {}): AsyncGenerator<string> {
    for await (const { run, turns } of runHistories(this.#store, queryOf(filter))) {
      const { input, extras = '' } = run.head
      // A copy that says only why something could not be read is no copy.
      const lost = [input, extras, ...turns.map(({ body }) => body)].find(isUnreadable)
      if (lost !== undefined) throw whyUnreadable(lost)
      const exported: ExportedRun = { pawl: 1, status: run.status, head: run.head, turns }
      yield visibleJson(JSON.stringify(exported))
    }
  }

  /** Its build, as people name it. */
  get #code(): string {
    return checkName(this.#options.build ?? this.#registry.fingerprint, 'the build')
  }

  /** Step bodies under way in the workers of this engine. */
  get stepsRunning(): number {
    return this.#workers.reduce((sum, worker) => sum + worker.stepsRunning, 0)
  }

  on<T extends Announcement['type']>(
    type: T,
    listener: (announcement: Announcement & { readonly type: T }) => void,
  ): () => void {
    return this.#bus.add((announcement) => {
      if (announcement.type === type) listener(announcement as Announcement & { readonly type: T })
    })
  }

  /** Drains the workers of this engine and lets go of the store. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.drain()))
    this.results.close(new PawlError('WORKER_STOPPED', 'this engine was closed.'))
    for (const forget of this.#forget) forget()
    this.#ended.abort()
    await this.#store.close()
  }
}

function withCodecs(store: Store, { codecs = [], logger = consoleLogger }: OpenOptions): Store {
  return codecs.length === 0 ? store : encoded(store, codecs, (text) => logger.log('error', text))
}

// A worker with other codecs or keys is another build: what one could not read, the next may be able to.
function buildOf(name: string, { codecs = [] }: OpenOptions): string {
  return codecs.length === 0 ? name : `${name}+${new Codecs(codecs).fingerprint}`
}

interface EngineParts {
  readonly catalogue: Catalogue
  readonly deciders: Deciders
  readonly closed: AbortSignal
  readonly reuse: Reuse | undefined
  readonly interceptors: readonly Interceptor[] | undefined
}

function clientPorts(
  store: Store,
  registry: Registry,
  world: EngineWorld,
  workers: readonly Worker[],
  { catalogue, deciders, closed, reuse, interceptors }: EngineParts,
): ClientPorts {
  const { clock, random, waitClock } = world
  const { knownActivities } = registry
  const activities = knownActivities?.size === 0 ? undefined : knownActivities
  return {
    waitClock,
    store,
    clock,
    random,
    catalogue,
    closed,
    parseGraph: (document) => parseGraph(document, { activities }),
    reuse,
    interceptors,
    endUnclaimed: (given) => endUnclaimed(given, (turns) => store.commit(turns), random.integer()),
    inquire: (question) => inquire(deciders, clock, question),
    eager: {
      offer: (run) => {
        for (const worker of workers) {
          const offer = worker.offer(run)
          if (offer) return offer
        }
        return undefined
      },
      accept: (run, isOld) => {
        for (const worker of workers) worker.accept(run, isOld)
      },
    },
  }
}

function catalogueOf(store: Store, { clock, random }: EngineWorld): Catalogue {
  const send = (operations: readonly RecordOperation[]): Promise<readonly RecordOutcome[]> => {
    const patienceMs = limits.storePatienceMs
    return persist(() => store.records(operations), { clock, random, patienceMs })
  }
  return new Catalogue({ records: send, writeId: () => random.integer() }, () => clock.now())
}

function settingsOf(options: WorkerOptions, clock: Clock, random: Random) {
  checkOptions(workerOptions, options, { of: 'work' })
  const { concurrency, queues = ['default'], warm = limits.warmExecutions } = options
  const both =
    typeof concurrency === 'number'
      ? { workflows: concurrency, activities: concurrency }
      : concurrency
  if (queues.length === 0)
    throw new PawlError('INPUT_INVALID', 'queues is empty: the worker would do nothing.')
  return {
    id:
      options.id === undefined
        ? `worker-${uuidV7(clock, random).slice(-12)}`
        : checkId(options.id, 'the id of a worker'),
    queues: [
      ...queues.map((queue) => checkName(queue, 'the name of a queue')),
      ...((options.schedules ?? true) ? [SCHEDULES_QUEUE] : []),
    ],
    workflows: both?.workflows ?? limits.workflowsPerWorker,
    activities: both?.activities ?? limits.activitiesPerWorker,
    leaseMs: between(
      'lease',
      milliseconds(options.lease ?? limits.leaseMs, 'lease'),
      limits.leaseMsMin,
      limits.leaseMsMax,
    ),
    graceMs: milliseconds(options.grace ?? limits.graceMs, 'grace'),
    warm,
    pin: options.pin ?? false,
  }
}

function between(name: string, value: number, low: number, high: number): number {
  if (Number.isInteger(value) && value >= low && value <= high) return value
  throw new PawlError(
    'INPUT_INVALID',
    `${name} is ${value}; expected a whole number from ${low} to ${high}.`,
  )
}
