// A deployment on virtual time in which the caller of one chosen store call dies, just before or just after the store
// carried it out. Every program makes finitely many calls, so every place where it can die can be tried.

import { sleep } from '../../src/core/runtime/clock.ts'
import { Engine, registryOf } from '../../src/engine.ts'
import { type ActivityContext } from '../../src/index.ts'
import { checkAll } from '../../src/testing/checkers.ts'
import { noFaults } from '../../src/testing/faulty-store.ts'
import { Ledger } from '../../src/testing/ledger.ts'
import { SeededRandom } from '../../src/testing/seeded-random.ts'
import type { SharedStore, SharedWorld } from '../../src/testing/shared-store.ts'
import { SimulatedProcess } from '../../src/testing/simulated-process.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import type { Program, Stage } from './programs.ts'

export interface CrashPoint {
  /** The number of the call, counted over all processes. */
  readonly call: number
  readonly when: 'before' | 'after'
}

export interface Deployment {
  /** Whether the client is a worker too, and takes its runs in the write that creates them. */
  readonly together: boolean
  readonly store: (world: SharedWorld) => SharedStore
  readonly program: Program
}

export interface Story {
  readonly calls: number
  readonly crashes: number
  readonly outcome: string
  readonly violations: readonly string[]
}

const leaseMs = 600
const restartMs = 40
const storyMsMax = 120_000
export function tell(deployment: Deployment, points: readonly CrashPoint[]): Promise<Story> {
  return new CrashPoints(deployment, points).run()
}

class CrashPoints {
  readonly #deployment: Deployment
  readonly #points: readonly CrashPoint[]
  readonly #clock = new VirtualClock()
  readonly #shared: SharedStore
  readonly #ledger = new Ledger(this.#clock)
  /** How to start each process again. */
  readonly #reborn = new Map<SimulatedProcess, () => void>()
  readonly #promised = { runs: new Set<string>(), signals: new Map<string, string[]>() }
  #calls = 0
  #spawned = 0
  #crashes = 0
  #outcome: string | undefined

  constructor(deployment: Deployment, points: readonly CrashPoint[]) {
    this.#deployment = deployment
    this.#points = points
    this.#shared = deployment.store({
      clock: this.#clock,
      ledger: this.#ledger,
      faults: noFaults,
      around: (process, call) => this.#travel(process, call),
    })
  }

  async run(): Promise<Story> {
    this.#spawn('worker', ['default', 'other'])
    this.#spawn('worker', ['default'])
    this.#spawn('client', ['default'])
    const end = this.#clock.now() + storyMsMax
    await this.#clock.advance(0)
    while (!this.#isOver() && this.#clock.now() < end) {
      const next = this.#clock.next()
      if (next === undefined) break
      await this.#clock.advance(Math.max(0, next - this.#clock.now()))
    }
    const violations = checkAll(this.#shared.tables, this.#ledger, this.#promised)
    if (!this.#isOver()) violations.push('liveness: the story never ended')
    return {
      calls: this.#calls,
      crashes: this.#crashes,
      outcome: this.#outcome ?? 'none',
      violations,
    }
  }

  #isOver(): boolean {
    if (this.#outcome === undefined) return false
    const { live, ended } = this.#shared.tables
    return live.size === 0 && [...ended.values()].every((row) => row.outbox.length === 0)
  }

  #spawn(role: 'worker' | 'client', queues: readonly string[]): void {
    const name = `${role}${++this.#spawned}`
    const { together } = this.#deployment
    const process = new SimulatedProcess(name, this.#clock)
    this.#reborn.set(process, () => this.#spawn(role, queues))
    const engine = this.#engine(process)
    const works = role === 'worker' ? !together || queues.includes('other') : together
    const worker = works ? engine.work({ id: name, lease: leaseMs, concurrency: 8, signals: false, queues }) : undefined
    if (role === 'client') void this.#perform(engine, process, worker?.ready)
  }

  // Everything that travels is counted, and at the chosen places its sender dies.
  async #travel<T>(process: SimulatedProcess, call: () => Promise<T>): Promise<T> {
    const number = this.#calls++
    const point = this.#points.find((each) => each.call === number)
    if (point?.when === 'before') {
      this.#kill(process, number)
      return new Promise<T>(() => {})
    }
    const out = await call()
    if (point?.when === 'after') this.#kill(process, number)
    return out
  }

  #kill(process: SimulatedProcess, call: number): void {
    if (process.dead) return
    process.kill()
    this.#crashes++
    this.#ledger.note(`crash ${process.name} at call ${call}`)
    const again = this.#reborn.get(process)
    if (again) this.#clock.after(restartMs, again)
  }

  // A client that dies is started again and performs everything once more.
  async #perform(engine: Engine, process: SimulatedProcess, ready?: Promise<void>): Promise<void> {
    await ready
    const outcome = await this.#deployment.program.perform(engine, this.#stage(process))
    this.#outcome = JSON.stringify(outcome)
  }

  #engine(process: SimulatedProcess): Engine {
    const definitions = this.#deployment.program.definitions(this.#stage(process))
    const random = new SeededRandom(1).fork(process.name)
    return new Engine(
      this.#shared.open(process, random.fork('network')),
      registryOf(definitions),
      { build: 'crash-points', logger: { log() {} } },
      { clock: process.clock, random },
    )
  }

  #stage(process: SimulatedProcess): Stage {
    return {
      process,
      body: (step, generation) => this.#body(process, step, generation),
      promise: (runId, ...signals) => {
        this.#promised.runs.add(runId)
        if (signals.length > 0) this.#promised.signals.set(runId, [...signals])
      },
      violate: (what) => this.#ledger.violate(what),
    }
  }

  async #body(process: SimulatedProcess, step: ActivityContext, generation = 1): Promise<number> {
    const { runId, stepKey: key, attempt, maxAttempts } = step
    const sessionAlive = this.#sessionAlive(process.name)
    const at = { runId, generation, key, attempt, maxAttempts, sessionAlive }
    this.#ledger.executed({ ...at, process: process.name })
    await sleep(process.clock, 5, step.signal)
    return key.length
  }

  #sessionAlive(name: string): boolean {
    const now = this.#clock.now()
    return [...this.#shared.tables.sessions.values()].some(
      (session) => session.worker === name && session.expiresAt > now,
    )
  }
}
