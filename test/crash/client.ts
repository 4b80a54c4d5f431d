// The client of a crash test: starts runs at an even pace in every way there is, signals some of them, and keeps a
// note of everything it was told is safe.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Engine, PawlError, type RunHandle } from '../../src/index.ts'
import type { SeededRandom } from '../../src/testing/seeded-random.ts'
import { contracts, go, type Name, type Sum } from './definitions.ts'

const names = Object.keys(contracts) as Name[]
const batchMax = 8
/** The share of runs whose result the client waits for, as callers do. */
const awaited = 0.05

export class CrashClient {
  readonly started = new Map<string, number>()
  readonly signals = new Map<string, string[]>()
  readonly violations: string[] = []
  readonly failures: string[] = []
  operations = 0
  /** Signals that came too late: an honest answer, but no acknowledgement. */
  tooLate = 0
  readonly #engine: Engine
  readonly #random: SeededRandom
  readonly #underWay = new Set<Promise<unknown>>()
  #asked = 0

  constructor(engine: Engine, random: SeededRandom) {
    this.#engine = engine
    this.#random = random
  }

  get succeeded(): number {
    return this.operations - this.failures.length
  }

  /** Starts runs until told to stop, in step with how many are wanted by now. */
  async work(wanted: () => number, over: () => boolean): Promise<void> {
    while (!over()) {
      if (this.#asked < wanted()) this.#keep(this.#start())
      await sleep(this.#asked < wanted() ? 1 : 10)
    }
    await Promise.all(this.#underWay)
  }

  #keep(promise: Promise<unknown>): void {
    this.#underWay.add(promise)
    void promise.finally(() => this.#underWay.delete(promise))
  }

  async #start(): Promise<void> {
    const random = this.#random
    const name = random.pick(names)
    const n = 1 + random.below(1_000)
    switch (random.below(3)) {
      case 0: {
        const count = 2 + random.below(batchMax)
        this.#asked += count
        const inputs = Array.from({ length: count }, (_, index) => n + index)
        const runs = await this.#try(() =>
          this.#engine.startMany(
            contracts[name],
            inputs.map((input) => ({ input })),
          ),
        )
        if (!runs) this.#asked -= count
        for (const [index, run] of (runs ?? []).entries()) this.#promised(name, run, n + index)
        return
      }
      case 1:
        this.#asked++
        return this.#startOnce(name, n, `key ${random.integer()}`)
      default: {
        this.#asked++
        const run = await this.#try(() => this.#engine.start(contracts[name], n))
        if (run) this.#promised(name, run, n)
        else this.#asked--
      }
    }
  }

  // The same key twice at once, as from a caller that lost patience: one run.
  async #startOnce(name: Name, n: number, idempotencyKey: string): Promise<void> {
    const start = () => this.#engine.start(contracts[name], n, { idempotencyKey })
    const [one, two] = await Promise.all([this.#try(start), this.#try(start)])
    const run = one ?? two
    if (one && two && one.runId !== two.runId)
      this.violations.push(`INV9: key '${idempotencyKey}' started ${one.runId} and ${two.runId}`)
    if (run) this.#promised(name, run, n)
    else this.#asked--
  }

  #promised(name: Name, run: RunHandle<Sum>, n: number): void {
    this.started.set(run.runId, n)
    if (name === 'patient') for (let k = this.#random.below(3); k > 0; k--) this.#signal(run)
    if (this.#random.chance(awaited)) this.#keep(this.#try(() => run.result()))
  }

  #signal(run: RunHandle<Sum>): void {
    const messageId = `m${this.#random.integer()}`
    const pause = this.#random.below(300)
    const send = async (): Promise<void> => {
      await sleep(pause)
      try {
        await run.signal(go, 1, { messageId })
      } catch (error) {
        if (!(error instanceof PawlError) || error.code !== 'RUN_ENDED') throw error
        this.tooLate++
        return
      }
      const kept = this.signals.get(run.runId) ?? []
      this.signals.set(run.runId, [...kept, `signal:${messageId}`])
    }
    this.#keep(this.#try(send))
  }

  async #try<T>(operation: () => Promise<T>): Promise<T | undefined> {
    this.operations++
    try {
      return await operation()
    } catch (error) {
      this.failures.push(String(error))
      return undefined
    }
  }
}
