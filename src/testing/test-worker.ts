// A worker of a test: a simulated process in virtual time that can be killed.
import type { Registry } from '../core/definitions/registry.ts'
import type { Clock } from '../core/runtime/clock.ts'
import type { Store } from '../core/stores/store.ts'
import type { WorkerOptions } from '../core/worker/options.ts'
import type { Worker } from '../core/worker/worker.ts'
import { Engine, type EngineWorld, type OpenOptions } from '../engine.ts'
import { Bodies } from './bodies.ts'
import { SeededRandom } from './seeded-random.ts'
import { SimulatedProcess } from './simulated-process.ts'
import type { VirtualClock } from './virtual-clock.ts'

export interface TestWorld {
  readonly time: VirtualClock
  readonly seed: number
  readonly registry: Registry
  readonly store: Store
  readonly options: Pick<OpenOptions, 'listeners' | 'logger' | 'build' | 'interceptors'>
  readonly patienceMs: number
  readonly world: Pick<EngineWorld, 'alwaysReplay' | 'strict' | 'alone'>
}

export class TestWorker {
  readonly options: WorkerOptions
  readonly worker: Worker
  readonly bodies: Bodies
  /** Whether its session is open and lists what it serves. */
  isReady = false
  /** Whether it was drained; then no worker replaces it after a crash. */
  isStopped = false
  readonly #process: SimulatedProcess
  readonly #timers = new Set<() => void>()

  constructor(name: string, shared: TestWorld, options: WorkerOptions) {
    const { time, seed, registry, store, patienceMs, world } = shared
    const { listeners, logger, build, interceptors } = shared.options
    this.options = options
    this.bodies = new Bodies(patienceMs)
    this.#process = new SimulatedProcess(name, this.#world(time))
    const opened = {
      ...(build !== undefined && { build }),
      ...(listeners && { listeners }),
      ...(logger && { logger }),
      ...(interceptors && { interceptors }),
    }
    const engine = new Engine(this.#process.guard(store), registry, opened, {
      ...world,
      clock: this.#process.clock,
      random: new SeededRandom(seed).fork(name),
      aroundBodies: [(call, next) => this.bodies.around(() => next(call))],
    })
    this.worker = engine.work({ id: name, ...options, signals: false })
    engine.on('worker.changed', ({ status }) => {
      if (status !== 'active') this.isStopped = true
    })
    void this.worker.ready.then(() => {
      this.isReady = true
    })
  }

  kill(): void {
    this.#process.kill()
    this.bodies.kill()
    for (const cancel of this.#timers) cancel()
  }

  // Collects the timers, so that `kill` can cancel them: virtual time must not stop for a dead process.
  #world(time: VirtualClock): Clock {
    const after: Clock['after'] = (ms, fire) => {
      const cancel = time.after(ms, () => {
        this.#timers.delete(cancel)
        fire()
      })
      this.#timers.add(cancel)
      return () => {
        this.#timers.delete(cancel)
        cancel()
      }
    }
    return {
      now: () => time.now(),
      monotonic: () => time.monotonic(),
      breathe: () => time.breathe(),
      after,
    }
  }
}
