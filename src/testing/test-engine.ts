// An engine for users' tests: its time is virtual, its randomness comes from a seed, and its worker can be killed.
// Time stands still unless the test moves it, or waits for a result: then it jumps to whatever is due next.
import type { AnyActivity } from '../definitions/activity.ts'
import type { AnyActivityContract, InputOf } from '../definitions/contract.ts'
import { Engine, type OpenOptions, registryOf, type StoreUrl } from '../engine.ts'
import { type Duration, milliseconds } from '../kernel/duration.ts'
import type { Instant } from '../kernel/event.ts'
import { limits } from '../kernel/limits.ts'
import { type Clock, systemClock } from '../runtime/clock.ts'
import { encoded } from '../stores/encoded.ts'
import { openStore } from '../stores/open.ts'
import type { Store } from '../stores/store.ts'
import { wrapped } from '../stores/wrapped.ts'
import { MortalProcess } from './process.ts'
import { SeededRandom } from './seeded-random.ts'
import { VirtualClock } from './virtual-clock.ts'

export interface TestOptions
  extends Pick<OpenOptions, 'workflows' | 'activities' | 'listeners' | 'logger' | 'codecs'> {
  /** 'memory:' */
  readonly store?: StoreUrl
  readonly seed?: number
  /** Waiting for a result lets time jump. true */
  readonly skipTime?: boolean
  /** Every turn replays from the start, so that code which cannot be replayed is found at once. true */
  readonly alwaysReplay?: boolean
}

export interface TestClock {
  now(): number
  /** Lets time pass, and everything happen that is due on the way. */
  advance(duration: Duration): Promise<void>
  set(time: Date): Promise<void>
}

export interface Stub<out In> {
  readonly calls: readonly In[]
  restore(): void
}

export async function testEngine(options: TestOptions = {}): Promise<TestEngine> {
  const clock = new VirtualClock()
  const raw = await openStore(options.store ?? 'memory:', clock)
  const { codecs = [] } = options
  // Around the store here, and not in the engine: what a codec is at counts as a call under way.
  return new TestEngine(codecs.length === 0 ? raw : encoded(raw, codecs), clock, options)
}

type Handler = AnyActivity['handler']

export class TestEngine extends Engine {
  readonly seed: number
  readonly clock: TestClock
  readonly #time: VirtualClock
  readonly #calls: CallCounter
  readonly #options: TestOptions
  readonly #stubs = new Map<string, Handler>()
  #worker: { process: MortalProcess; engine: Engine } | undefined
  #workers = 0
  #closed = false

  constructor(raw: Store, time: VirtualClock, options: TestOptions) {
    const calls = new CallCounter(raw)
    const seed = options.seed ?? 1
    const { workflows = [], activities = [] } = options
    // Waiting for a result is not a matter of virtual time: it is what lets virtual time pass.
    const world = { clock: clientClock(time), random: new SeededRandom(seed) }
    super(calls.store, registryOf({ workflows, activities }), {}, world)
    this.seed = seed
    this.#time = time
    this.#calls = calls
    this.#options = options
    this.clock = {
      now: () => time.now(),
      advance: (duration) => this.#advanceTo(time.now() + milliseconds(duration, 'advance')),
      set: (when) => this.#advanceTo(when.getTime()),
    }
    this.#startWorker()
    // A look at the store that the end of the engine overtakes finds it closed.
    if (options.skipTime ?? true) this.#skip().catch((error: unknown) => this.#unlessClosed(error))
  }

  /** Answers for an activity, here only. */
  stub<A extends AnyActivityContract>(activity: A, handler: A['~handler']): Stub<InputOf<A>> {
    const calls: InputOf<A>[] = []
    const answer = async (input: never, context: never): Promise<unknown> => {
      calls.push(input)
      return (handler as unknown as Handler)(input, context)
    }
    this.#stubs.set(activity.name, answer as Handler)
    return { calls, restore: () => void this.#stubs.delete(activity.name) }
  }

  /** Resolves when no run can move before time does. */
  async idle(): Promise<void> {
    for (let quiet = 0; quiet < 3; ) {
      await systemClock.breathe()
      quiet = (await this.#isQuiet()) ? quiet + 1 : 0
    }
  }

  /** Lets time pass while no worker is there, and starts one again. */
  async away(duration: Duration): Promise<void> {
    await this.idle()
    await this.#kill()
    await this.#time.advance(milliseconds(duration, 'away'))
    this.#startWorker()
    await this.idle()
  }

  /** Ends the worker as `kill -9` would, lets its lease end, and starts another. */
  async crash(): Promise<void> {
    await this.#kill()
    this.#startWorker()
    await this.idle()
  }

  async #kill(): Promise<void> {
    this.#worker?.process.kill()
    const [loaded] = await this.#calls.inner.load([{ type: 'sessions' }])
    for (const { session, worker } of loaded?.type === 'sessions' ? loaded.sessions : []) {
      const beat = {
        session,
        worker,
        beat: 2,
        ttlMs: 0,
        tasks: [],
        about: '',
        close: true,
      } as const
      await this.#calls.inner.renew(beat)
    }
  }

  /**
   * Kills the worker when it writes its nth turn from now, before or after the store has it, and starts another. The
   * answer says whether that has happened.
   */
  crashAtTurn(n: number, when: 'before' | 'after'): () => boolean {
    let turns = 0
    let isMet = false
    this.#calls.around = async (method, call) => {
      if (method !== 'commit' || isMet || ++turns !== n) return call()
      isMet = true
      // What a dead process asked for has no answer; the store may have it all the same.
      if (when === 'after') await call()
      void this.crash()
      return new Promise(() => {})
    }
    return () => isMet
  }

  override async close(): Promise<void> {
    this.#closed = true
    this.#worker?.process.kill()
    await super.close()
  }

  #unlessClosed(error: unknown): void {
    if (!this.#closed) throw error
  }

  #startWorker(): void {
    const process = new MortalProcess(`test-worker-${++this.#workers}`, this.#time)
    const {
      workflows = [],
      activities = [],
      alwaysReplay = true,
      listeners,
      logger,
    } = this.#options
    const stubbed = activities.map((each) => this.#stubbed(each))
    const registry = registryOf({ workflows, activities: stubbed })
    const random = new SeededRandom(this.seed).fork(process.name)
    const options = { build: 'test', ...(listeners && { listeners }), ...(logger && { logger }) }
    const engine = new Engine(process.guard(this.#calls.store), registry, options, {
      clock: process.clock,
      random,
      alwaysReplay,
    })
    engine.work({ id: process.name, signals: false })
    this.#worker = { process, engine }
  }

  #stubbed(activity: AnyActivity): AnyActivity {
    const handler: Handler = (input, context) =>
      (this.#stubs.get(activity.name) ?? activity.handler)(input, context)
    return { ...activity, handler }
  }

  async #advanceTo(until: Instant): Promise<void> {
    await this.idle()
    for (
      let next = this.#time.next();
      next !== undefined && next <= until;
      next = this.#time.next()
    ) {
      await this.#time.advance(Math.max(0, next - this.#time.now()))
      await this.idle()
    }
    await this.#time.advance(Math.max(0, until - this.#time.now()))
    await this.idle()
  }

  // Jumps only as far as something of a run is due: a run that waits for a signal does not make time race.
  async #skip(): Promise<void> {
    while (!this.#closed) {
      await systemClock.breathe()
      if (!this.results.awaited || this.#closed) continue
      await this.idle()
      const due = await this.#nextDue()
      if (due !== undefined && this.results.awaited && !this.#closed) await this.#advanceTo(due)
    }
  }

  async #isQuiet(): Promise<boolean> {
    if (this.#calls.underWay > 0 || this.#bodiesRunning > 0) return false
    const now = this.#time.now()
    for (const run of await this.#unfinished()) {
      if (run.session === undefined && run.wakeAt !== undefined && run.wakeAt <= now) return false
    }
    return true
  }

  get #bodiesRunning(): number {
    return this.#worker?.engine.stepsRunning ?? 0
  }

  async #nextDue(): Promise<Instant | undefined> {
    const runs = await this.#unfinished()
    if (runs.length === 0) return undefined
    const held = runs.some((run) => run.session !== undefined)
    const times = runs.map((run) => (run.session === undefined ? run.wakeAt : undefined))
    const due = Math.min(...times.map((time) => time ?? Number.POSITIVE_INFINITY))
    const timer = held ? (this.#time.next() ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY
    const next = Math.min(due, timer)
    return Number.isFinite(next) ? next : undefined
  }

  async #unfinished() {
    const statuses = ['pending', 'running', 'waiting', 'compensating'] as const
    const { runs } = await this.#calls.inner.list({ statuses, limit: limits.listPageMax })
    return runs
  }
}

/** Knows how many calls the store has not answered. */
class CallCounter {
  readonly inner: Store
  readonly store: Store
  underWay = 0
  /** Stands between the worker and the store. */
  around: (method: string, call: () => Promise<unknown>) => Promise<unknown> = (_, call) => call()

  constructor(inner: Store) {
    this.inner = inner
    this.store = wrapped(inner, (method, call) => (...args) => {
      type Out = Awaited<ReturnType<typeof call>>
      return this.around(method, () => this.#count(call(...args))) as Promise<Out>
    })
  }

  async #count<T>(answer: Promise<T>): Promise<T> {
    this.underWay++
    try {
      return await answer
    } finally {
      this.underWay--
    }
  }
}

// The client's own waiting is real: in virtual time its polls would keep time from ever standing still.
function clientClock(time: VirtualClock): Clock {
  return { ...systemClock, now: () => time.now() }
}
