// Simulates a deployment in one thread: several workers and a client around one store, in virtual time, with faults and
// crashes drawn from one seed. The same seed gives the same trace, line by line.

import { digest } from '../core/base/digest.ts'
import { failureOf } from '../core/base/failure.ts'
import type { AnyActivity } from '../core/definitions/activity.ts'
import { Registry } from '../core/definitions/registry.ts'
import type { AnyWorkflow } from '../core/definitions/workflow.ts'
import { sleep } from '../core/runtime/clock.ts'
import type { Logger } from '../core/runtime/logger.ts'
import type { Tables } from '../core/stores/rules/tables.ts'
import { Engine } from '../engine.ts'
import type { Faults } from './faulty-store.ts'
import { type IncidentRates, Incidents, noIncidents } from './incidents.ts'
import { Ledger } from './ledger.ts'
import { SeededRandom } from './seeded-random.ts'
import type { SharedStore, SharedWorld } from './shared-store.ts'
import { SimulatedProcess } from './simulated-process.ts'
import { VirtualClock } from './virtual-clock.ts'

/** What the definitions of a simulated process see of the simulation. */
export interface SimulatedWorld {
  readonly process: SimulatedProcess
  readonly ledger: Ledger
  readonly seed: number
  /** Whether the last renewal of this process's session is still valid. */
  sessionAlive(): boolean
  /** Whether the worker of this process serves a queue. */
  serves(queue: string): boolean
  /** Whether the simulation kills no process. */
  readonly calm: boolean
}

/** The world for replays after the simulation: definitions can be opened, but no body runs. */
export function worldOfReplays(clock: VirtualClock, ledger: Ledger, seed: number): SimulatedWorld {
  const process = new SimulatedProcess('replay', clock)
  return { process, ledger, seed, sessionAlive: () => true, serves: () => true, calm: true }
}

export interface Definitions {
  readonly workflows: readonly AnyWorkflow[]
  readonly activities: readonly AnyActivity[]
}

export interface SimulationOptions {
  readonly seed: number
  readonly workers: number
  readonly faults: Faults
  /** Crashes and freezes per second of virtual time, for all workers together. */
  readonly crashesPerSecond: number
  readonly freezesPerSecond: number
  readonly incidents?: IncidentRates
  readonly store: (world: SharedWorld) => SharedStore
  readonly alwaysReplay: boolean
  /** The number of suspended executions that each worker keeps in memory. */
  readonly warm?: number
  readonly leaseMs: number
  /** All workers serve the first queue; some of them serve the others as well. */
  readonly queues: readonly string[]
  readonly definitions: (world: SimulatedWorld) => Definitions
  /** What the client does. Its network has the same faults as those of the workers. */
  readonly program: (client: Engine, world: ProgramWorld) => Promise<void>
}

/** What the simulated client can use besides its engine. */
export interface ProgramWorld {
  readonly random: SeededRandom
  readonly ledger: Ledger
  /** Lets virtual time pass. */
  pause(ms: number): Promise<void>
}

export interface SimulationEnd {
  /** The rows in the store. */
  readonly tables: Tables
  readonly ledger: Ledger
  readonly traceHash: string
  readonly crashes: number
  /** Whether every run ended before virtual time ran out. */
  readonly settled: boolean
}

const VIRTUAL_MS_MAX = 30 * 60_000
const silent: Logger = { log() {} }

export class Simulation {
  readonly clock = new VirtualClock()
  readonly #shared: SharedStore
  readonly ledger: Ledger
  readonly #options: SimulationOptions
  readonly #random: SeededRandom
  readonly #chaos: SeededRandom
  #workers: SimulatedProcess[] = []
  /** The queues that the worker of each process serves. */
  readonly #served = new Map<string, readonly string[]>()
  #spawned = 0
  #crashes = 0
  #calm = false
  readonly #incidents: Incidents

  constructor(options: SimulationOptions) {
    this.#options = options
    this.#random = new SeededRandom(options.seed)
    this.#chaos = this.#random.fork('chaos')
    this.ledger = new Ledger(this.clock)
    const { clock, ledger } = this
    this.#shared = options.store({ clock, ledger, faults: options.faults })
    const rates = options.incidents ?? noIncidents
    this.#incidents = new Incidents(this.#shared, ledger, this.#random.fork('fate'), rates)
  }

  async run(): Promise<SimulationEnd> {
    for (let n = 0; n < this.#options.workers; n++) this.#spawnWorker()
    const process = this.#process('client')
    const client = this.#engine(process)
    const world: ProgramWorld = {
      random: this.#random.fork('program'),
      ledger: this.ledger,
      pause: (ms) => sleep(process.clock, ms),
    }
    let done = false
    let failure: unknown
    const program = this.#options.program(client, world)
    program.then(
      () => (done = true),
      (error: unknown) => {
        done = true
        failure = error
      },
    )
    await this.#advanceUntil(() => done)
    if (failure !== undefined) this.ledger.violate(`the program failed: ${failureOf(failure).message}`)
    this.#calmDown()
    await this.#advanceUntil(() => done && this.#allEnded())
    return {
      tables: this.#shared.tables,
      ledger: this.ledger,
      traceHash: digest(this.ledger.trace.join('\n')),
      crashes: this.#crashes,
      settled: this.#allEnded(),
    }
  }

  // Time jumps from timer to timer; after each, crashes, freezes and incidents are drawn.
  async #advanceUntil(done: () => boolean): Promise<void> {
    const end = this.clock.now() + VIRTUAL_MS_MAX
    await this.clock.advance(0)
    while (!done() && this.clock.now() < end) {
      const next = this.clock.next()
      if (next === undefined) return
      const before = this.clock.now()
      await this.clock.advance(Math.max(0, next - before))
      if (!this.#calm) this.#disturb((this.clock.now() - before) / 1_000)
    }
  }

  #disturb(seconds: number): void {
    const { crashesPerSecond, freezesPerSecond, leaseMs } = this.#options
    const bound = Math.min(seconds, 1)
    this.#incidents.draw(this.clock.now(), bound)
    if (this.#chaos.chance(crashesPerSecond * bound)) this.#crash(this.#chaos.pick(this.#workers))
    if (this.#chaos.chance(freezesPerSecond * bound)) {
      const ms = this.#chaos.below(leaseMs * 3)
      const process = this.#chaos.pick(this.#workers)
      this.ledger.note(`freeze ${process.name} for ${ms} ms`)
      process.freeze(ms)
    }
  }

  #crash(process: SimulatedProcess): void {
    this.ledger.note(`crash ${process.name}`)
    this.#crashes++
    process.kill()
    this.#workers = this.#workers.filter((each) => each !== process)
    this.#spawnWorker()
  }

  #calmDown(): void {
    this.ledger.note('calm')
    this.#calm = true
    this.#shared.calm()
    this.#incidents.calm()
    // A worker that serves all queues.
    this.#spawnWorker()
  }

  #spawnWorker(): void {
    const number = ++this.#spawned
    const process = this.#process(`w${number}`)
    this.#workers.push(process)
    const engine = this.#engine(process)
    const wait = this.#chaos.below(500)
    void sleep(process.clock, wait).then(() => {
      if (process.dead) return
      const { leaseMs, queues } = this.#options
      const served = this.#calm ? queues : queues.slice(0, 1 + (number % queues.length))
      this.#served.set(process.name, served)
      engine.work({
        id: process.name,
        lease: leaseMs,
        concurrency: 8,
        signals: false,
        queues: served,
        ...(this.#options.warm !== undefined && { warm: this.#options.warm }),
      })
    })
  }

  #process(name: string): SimulatedProcess {
    // The clocks of all processes are wrong; only the store's is right.
    const skewMs = this.#random.fork(`skew ${name}`).below(8_000) - 4_000
    return new SimulatedProcess(name, this.clock, skewMs)
  }

  #engine(process: SimulatedProcess): Engine {
    const world: SimulatedWorld = {
      process,
      ledger: this.ledger,
      seed: this.#options.seed,
      sessionAlive: () => this.#sessionAlive(process.name),
      calm: this.#options.crashesPerSecond === 0,
      serves: (queue) => this.#served.get(process.name)?.includes(queue) === true,
    }
    const { workflows, activities } = this.#options.definitions(world)
    const random = this.#random.fork(`process ${process.name}`)
    const store = this.#shared.open(process, this.#random.fork(`network ${process.name}`))
    const { alwaysReplay } = this.#options
    return new Engine(
      store,
      new Registry(workflows, activities),
      { build: 'simulated', logger: silent },
      { clock: process.clock, random, alwaysReplay },
    )
  }

  // Uses the ledger, not the store: a fail-over may have lost the session, and the worker cannot know that yet.
  #sessionAlive(name: string): boolean {
    return this.ledger.isGood(name)
  }

  #allEnded(): boolean {
    const { live, ended } = this.#shared.tables
    return live.size === 0 && [...ended.values()].every((row) => row.outbox.length === 0)
  }
}
