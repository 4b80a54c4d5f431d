// An engine for users' tests: its time is virtual, its randomness comes from a seed, and its workers can be killed.
// Time stands still until the test moves it or waits for a run; then it jumps to the next thing that is due.

import { encoded } from '../addons/codecs/encoded.ts'
import { assert } from '../core/base/assert.ts'
import { checkOptions, type Described, duration, flag, given, named, strings, whole } from '../core/base/described.ts'
import { PawlError } from '../core/base/errors.ts'
import type { Instant } from '../core/base/time.ts'
import { type Duration, milliseconds } from '../core/base/time.ts'
import { checkInterceptors } from '../core/client/interceptors.ts'
import type { WaitingCall } from '../core/client/waits.ts'
import type { AnyActivity } from '../core/definitions/activity.ts'
import type { InputOf } from '../core/definitions/contract.ts'
import { type Clock, sleep, systemClock } from '../core/runtime/clock.ts'
import { consoleLogger } from '../core/runtime/logger.ts'
import type { Store } from '../core/stores/store.ts'
import type { WorkerOptions } from '../core/worker/options.ts'
import type { Worker } from '../core/worker/worker.ts'
import { Engine, type EngineWorld, openOptions, ownWorkflows, type StoreUrl } from '../engine.ts'
import { openStore } from '../stores/open.ts'
import { Bodies } from './bodies.ts'
import { CallCounter } from './call-counter.ts'
import { lost } from './faulty-store.ts'
import { SeededRandom } from './seeded-random.ts'
import { type Stubbed, StubbedRegistry } from './stubs.ts'
import { StuckWatch } from './stuck-watch.ts'
import { TestWorker, type TestWorld } from './test-worker.ts'
import { VirtualClock } from './virtual-clock.ts'

const { workflows, activities, listeners, logger, codecs, interceptors } = openOptions

export const testOptions = {
  ...{ workflows, activities, listeners, logger, codecs, interceptors },
  /** 'memory:' */
  store: given<StoreUrl>('The store: `memory:`, `sqlite:` or `file:`.', 'a store URL', {
    otherwise: "`'memory:'`",
  }),
  seed: whole('The seed of all randomness: jitter, ids.', [0, 2 ** 31], { otherwise: '1' }),
  /** The queues that its worker serves; by default `default` and every queue that a definition names. */
  queues: strings('The queues that its worker serves.', 'a list of names', {
    otherwise: '`default`, and every queue that a definition names',
  }),
  build: named('The build of its workers.', 'the build', { otherwise: "`'test'`" }),
  /** Waiting for a run lets time jump. true */
  skipTime: flag('Waiting for a run lets time jump.', { otherwise: 'true' }),
  /** Every turn replays from the start, so that nondeterministic code fails at once. true */
  alwaysReplay: flag('Every turn replays from the start, so that nondeterministic code fails at once.', {
    otherwise: 'true',
  }),
  /** A run fails if it completes without awaiting its steps, or while message handlers run. true */
  strict: flag('A run fails if it completes without awaiting its steps, or while message handlers run.', {
    otherwise: 'true',
  }),
  /** How long, in real time, a step body may take before virtual time moves on without it. 250ms */
  patience: duration('How long, in real time, a step body may take before virtual time moves on without it.', {
    otherwise: '250ms',
  }),
} as const
export interface TestOptions extends Described<typeof testOptions> {}

const PATIENCE_MS = 250

/** After this many rounds of the event loop without a store call, nothing moves. */
const QUIET_ROUNDS = 4

/** More steps than this at one instant are an endless loop. */
const STEPS_PER_INSTANT_MAX = 10_000

/** The client polls often, because the workers are in its own process. */
const CLIENT_POLL_MS = 5

export interface TestClock {
  now(): number
  /** Lets time pass, with everything that is due meanwhile. */
  advance(duration: Duration): Promise<void>
  set(time: Date): Promise<void>
  /** Resolves after this virtual time: for stubs that take some. */
  sleep(duration: Duration): Promise<void>
}

/** Fewer crashes than pause a run because its workers keep dying. */
const CRASHES_MAX = 5

export const disturbances = {
  /** The maximum number of crashes of workers. 5 */
  crashes: whole('The maximum number of crashes of workers.', [0, Number.MAX_SAFE_INTEGER], {
    otherwise: String(CRASHES_MAX),
  }),
  /** Store calls, or their answers, get lost. true */
  faults: flag('Store calls, or their answers, get lost.', { otherwise: 'true' }),
} as const
export interface Disturbances extends Described<typeof disturbances> {}

/** The probability that a call, or its answer, gets lost; and that a worker dies when it writes a turn. */
const LOST = 0.03
const DEADLY = 0.25

export interface Stub<out In> {
  readonly calls: readonly In[]
  restore(): void
}

type Handler = AnyActivity['handler']

export async function testEngine(options: TestOptions = {}): Promise<TestEngine> {
  checkOptions(testOptions, options, { of: 'testEngine' })
  checkInterceptors(options.interceptors ?? [])
  const { store: url = 'memory:', codecs: given = [] } = options
  if (!/^(memory|sqlite|file):/.test(url)) {
    const message = `testEngine cannot use '${url.split(':')[0]}:', because that store has its own clock. Use 'memory:', 'sqlite:' or 'file:'.`
    throw new PawlError('NOT_SUPPORTED', message)
  }
  const clock = new VirtualClock()
  const raw = await openStore(url, clock.background)
  // Codecs wrap the store here, not in the engine, so that their work counts as a call in progress.
  return new TestEngine(given.length === 0 ? raw : encoded(raw, given), clock, options)
}

export class TestEngine extends Engine {
  readonly seed: number
  readonly clock: TestClock
  readonly #time: VirtualClock
  readonly #calls: CallCounter
  readonly #registry: StubbedRegistry
  readonly #world: TestWorld
  /** Whether the test named the queues. */
  readonly #namesQueues: boolean
  readonly #stuck: StuckWatch
  readonly #skips: boolean
  #workers: TestWorker[] = []
  #begun = 0
  #skipping = false
  #closed = false
  #crashing: Promise<void> = Promise.resolve()

  /** @internal */
  constructor(raw: Store, time: VirtualClock, options: TestOptions) {
    const calls = new CallCounter(raw)
    const { seed = 1, patience = PATIENCE_MS, alwaysReplay = true, strict = true } = options
    const registry = new StubbedRegistry(options.workflows ?? [], options.activities ?? [], ownWorkflows)
    // The client waits in real time, because its waiting is what makes virtual time move.
    const world: EngineWorld = {
      clock: clientClock(time),
      random: new SeededRandom(seed),
      waitClock: time,
    }
    const { interceptors } = options
    super(calls.store, registry, interceptors ? { interceptors } : {}, world)
    this.seed = seed
    this.#time = time
    this.#calls = calls
    // Leases do not expire in a test, so workers do not renew them, and must be told to look at their notes.
    calls.onNoted = () => this.#workers.forEach(({ worker }) => worker.checkTasks())
    this.#registry = registry
    this.#namesQueues = options.queues !== undefined
    this.#skips = options.skipTime ?? true
    this.#stuck = new StuckWatch(this, options.logger ?? consoleLogger)
    this.#world = {
      time,
      seed,
      registry,
      store: calls.workerStore,
      options: { ...options, build: options.build ?? 'test' },
      patienceMs: milliseconds(patience, 'patience'),
      world: { alwaysReplay, strict, alone: true },
    }
    this.clock = {
      now: () => time.now(),
      advance: async (duration) => {
        this.#refuseClosed()
        await this.#advanceTo(time.now() + milliseconds(duration, 'advance'))
      },
      set: async (when) => {
        this.#refuseClosed()
        await this.#advanceTo(this.#later(when))
      },
      sleep: async (duration) => this.#sleep(milliseconds(duration, 'sleep')),
    }
    this.waits.isNudged = true
    this.waits.onWait = () => void this.#skip()
    this.work({ queues: options.queues ?? queuesOf(options) })
  }

  /** Adds a worker to the one that every test engine begins with. */
  override work(options: WorkerOptions = {}): Worker {
    this.#refuseClosed()
    const worker = new TestWorker(`test-worker-${++this.#begun}`, this.#world, options)
    this.#workers.push(worker)
    return worker.worker
  }

  /** Replaces an activity, or stands in for a declared one, in every worker of this engine. */
  stub<A extends Stubbed>(activity: A, handler: A['~handler']): Stub<InputOf<A>> {
    if (activity?.is !== 'activity')
      throw refused(
        `engine.stub expects an activity or its contract, but got ${typeof activity}. Write engine.stub(activity, async (input) => …).`,
      )
    const { name, options = {} } = activity
    if (typeof handler !== 'function')
      throw refused(
        `the stub of '${name}' is not a function, but ${typeof handler}. Write engine.stub(activity, async (input) => …).`,
      )
    const calls: InputOf<A>[] = []
    const restore = this.#registry.stub(activity, async (input, context) => {
      // A copy, because the stub may change its input.
      calls.push(structuredClone(input) as InputOf<A>)
      return (handler as unknown as Handler)(input as never, context)
    })
    this.#serve(options.queue)
    return { calls, restore }
  }

  // Serves the queue of a declared activity, which was not known when the engine was opened.
  #serve(queue: string | undefined): void {
    if (queue === undefined || this.#namesQueues) return
    if (!this.#workers.some(({ options }) => options.queues?.includes(queue))) this.work({ queues: [queue] })
  }

  #refuseClosed(): void {
    if (this.#closed) throw new PawlError('WORKER_STOPPED', 'this test engine is closed. Open another one.')
  }

  #later(when: Date): Instant {
    const time = when instanceof Date ? when.getTime() : Number.NaN
    if (time >= this.#time.now()) return time
    const now = new Date(this.#time.now()).toISOString()
    const given = Number.isNaN(time) ? 'no valid Date' : when.toISOString()
    throw refused(`clock.set got ${given}, but virtual time only moves forward. Give it a Date from ${now} on.`)
  }

  /** Resolves when no run can progress until time moves. */
  async idle(): Promise<void> {
    let seen = this.#calls.made
    for (let quiet = 0; quiet < QUIET_ROUNDS && !this.#closed; ) {
      await systemClock.breathe()
      const isQuiet = this.#calls.inProgress === 0 && this.#calls.made === seen
      seen = this.#calls.made
      quiet = isQuiet && this.#workers.every(({ bodies }) => bodies.atRest) ? quiet + 1 : 0
    }
  }

  /** Kills the workers, lets time pass without any, and starts others. */
  async away(duration: Duration): Promise<void> {
    this.#refuseClosed()
    await this.idle()
    const killed = await this.#kill()
    await this.#time.advance(milliseconds(duration, 'away'))
    this.#restart(killed)
    await this.idle()
  }

  /** Kills the workers as `kill -9` would, frees their leases, and starts others. */
  async crash(): Promise<void> {
    this.#refuseClosed()
    this.#restart(await this.#kill())
    await this.idle()
  }

  async #kill(): Promise<readonly TestWorker[]> {
    const killed = this.#workers.filter(({ isStopped }) => !isStopped)
    for (const worker of this.#workers) worker.kill()
    this.#workers = []
    await this.#calls.endSessions()
    return killed
  }

  #restart(killed: readonly TestWorker[]): void {
    for (const { options } of killed) this.work(options)
  }

  /**
   * Kills the workers when one writes the nth turn from now, before or after the store has it, and starts others. The
   * returned function says whether that has happened.
   */
  crashAtTurn(n: number, when: 'before' | 'after'): () => boolean {
    if (!Number.isInteger(n) || n < 1 || !['before', 'after'].includes(when))
      throw refused(
        `crashAtTurn got ${String(n)} and ${String(when)}, but expects the number of a turn, from 1, and 'before' or 'after'.`,
      )
    let turns = 0
    let isMet = false
    this.#calls.around = async (method, call) => {
      if (method !== 'commit' || isMet || ++turns !== n) return call()
      isMet = true
      return this.#dieAt(call, when)
    }
    return () => isMet
  }

  /**
   * From now on, store calls of workers are late, fail or lose their answers, and workers die when they write a turn.
   * The seed decides, so the same seed gives the same faults.
   */
  disturb(options: Disturbances = {}): void {
    checkOptions(disturbances, options, { of: 'disturb' })
    const { crashes = CRASHES_MAX, faults = true } = options
    const random = new SeededRandom(this.seed).fork('disturbances')
    let left = random.below(crashes + 1)
    this.#calls.around = async (method, call) => {
      for (let rounds = random.below(3); rounds > 0; rounds--) await systemClock.breathe()
      if (faults && random.chance(LOST)) throw lost(method, 'did not arrive')
      if (method === 'commit' && left > 0 && random.chance(DEADLY)) {
        left--
        return this.#dieAt(call, random.chance(0.5) ? 'before' : 'after')
      }
      const answer = await call()
      if (faults && random.chance(LOST)) throw lost(method, 'got no answer')
      return answer
    }
  }

  // The dead worker gets no answer, even if the store has carried out the call.
  async #dieAt(call: () => Promise<unknown>, when: 'before' | 'after'): Promise<unknown> {
    if (when === 'after') await call()
    this.#crashing = this.crash().catch((error: unknown) => {
      if (!this.#closed) throw error
    })
    return undefined
  }

  /** Ends the effects of `crashAtTurn` and `disturb`. */
  calm(): void {
    this.#calls.around = (_, call) => call()
  }

  override async close(): Promise<void> {
    this.#closed = true
    for (const worker of this.#workers) worker.kill()
    await this.#crashing
    await super.close()
  }

  // A stub sleeps until virtual time has passed; any other caller makes virtual time pass.
  #sleep(ms: number): Promise<void> {
    return Bodies.sleep(this.#time, ms) ?? this.#advanceTo(this.#time.now() + ms)
  }

  async #advanceTo(until: Instant): Promise<void> {
    await this.idle()
    let standing = 0
    for (let next = this.#time.next(); next !== undefined && next <= until; next = this.#time.next()) {
      standing = next > this.#time.now() ? 0 : standing + 1
      assert(standing < STEPS_PER_INSTANT_MAX, 'time moves on')
      await this.#time.advance(Math.max(0, next - this.#time.now()))
      await this.idle()
    }
    await this.#time.advance(Math.max(0, until - this.#time.now()))
    await this.idle()
  }

  // Jumps from one due time to the next, while a call waits for a run.
  async #skip(): Promise<void> {
    if (this.#skipping) return
    this.#skipping = true
    try {
      while (await this.#isAwaited()) {
        const { calls } = this.waits
        // A call whose run has ended returns before time moves on.
        this.waits.nudge()
        await this.idle()
        if (this.#areReady) await this.#stuck.look(this.waits.calls, this.#skips && this.#time.next() !== undefined)
        if (this.#closed || !this.#areStill(calls)) continue
        const due = this.#skips ? this.#time.next() : undefined
        if (due === undefined) await sleep(systemClock, 1)
        else await this.#advanceTo(due)
      }
    } catch (error) {
      // The waiting calls fail with the error: an unhandled rejection would end the process of the test.
      for (const call of this.waits.calls) call.giveUp(error)
    }
    this.#skipping = false
    // A call may have begun to wait since the last look.
    if (!this.#closed && this.waits.calls.length > 0) void this.#skip()
  }

  /** True if the same calls wait as before. A new call may have what it waits for already. */
  #areStill(calls: readonly WaitingCall[]): boolean {
    const now = this.waits.calls
    return now.length === calls.length && calls.every((call) => now.includes(call))
  }

  // Before all workers are ready, nothing can tell which runs they would take.
  get #areReady(): boolean {
    return this.#workers.length > 0 && this.#workers.every(({ isReady }) => isReady)
  }

  async #isAwaited(): Promise<boolean> {
    await this.idle()
    return !this.#closed && this.waits.calls.length > 0
  }
}

function refused(message: string): PawlError {
  return new PawlError('INPUT_INVALID', message)
}

function queuesOf({ workflows = [], activities = [] }: TestOptions): readonly string[] {
  const named = [...workflows, ...activities].map(({ options }) => options?.queue ?? 'default')
  return [...new Set(['default', ...named])]
}

// The client polls in real time, because polls in virtual time would never let it stand still.
function clientClock(time: VirtualClock): Clock {
  const after: Clock['after'] = (ms, fire) => systemClock.after(Math.min(ms, CLIENT_POLL_MS), fire)
  return { ...systemClock, now: () => time.now(), after }
}
