// The metrics of an engine: counts what it announces, and asks its store for queues and workers when they are read.
import { limits } from '../core/base/limits.ts'
import { sleep } from '../core/runtime/clock.ts'
import { EventLoop } from '../core/runtime/event-loop.ts'
import type { Engine } from '../engine.ts'
import { version } from '../operations/version.ts'
import { counting } from './counting.ts'
import { Meter, type MetricsSnapshot, merged } from './meter.ts'
import { metricsText } from './text.ts'

/** Metrics of an engine: `metrics(engine)` makes them. */
export class Metrics {
  readonly #engine: Engine
  readonly #meter = new Meter()
  readonly #loop = new EventLoop()
  readonly #stop: () => void
  /** Asks the store, too: one process for each store is enough, and a server does. */
  readonly #samples: boolean
  #sampledAt: number | undefined
  #sampling: Promise<void> | undefined

  /** @internal */
  constructor(engine: Engine, samples: boolean) {
    this.#engine = engine
    this.#samples = samples
    this.#stop = engine.listen(counting(this.#meter))
    this.#meter.set('pawl_build_info', [version(), engine.code], 1)
  }

  /** The metrics in the text format of Prometheus. `others` are those of other processes. */
  async text(others: readonly MetricsSnapshot[] = []): Promise<string> {
    return metricsText(merged([await this.snapshot(), ...others]))
  }

  /** The metrics as data. @internal */
  async snapshot(): Promise<MetricsSnapshot> {
    this.#readWorkers()
    await this.#sample()
    return this.#meter.snapshot()
  }

  /** How many tasks of a queue waited when the store was asked last; undefined if none, or if that is unknown. */
  depthOf(queue: string): number | undefined {
    return this.#meter.read('pawl_queue_depth', [queue, 'task'])
  }

  /** @internal */
  setStreams(open: number): void {
    this.#meter.set('pawl_live_streams', [], open)
  }

  /** Counts no longer. */
  close(): void {
    this.#stop()
    this.#loop.stop()
  }

  #readWorkers(): void {
    this.#meter.clear('pawl_worker_load_ratio')
    this.#meter.clear('pawl_worker_backpressure')
    for (const { worker, runs, runsMax, steps, stepsMax, status } of this.#engine.loads) {
      if (status === 'stopped') continue
      this.#meter.set('pawl_worker_load_ratio', [worker, 'run'], runs / runsMax)
      this.#meter.set('pawl_worker_load_ratio', [worker, 'step'], steps / stepsMax)
      this.#meter.set('pawl_worker_backpressure', [worker], runs >= runsMax || steps >= stepsMax ? 1 : 0)
    }
  }

  // Any number of scrapes ask the store once in a while. One that does not answer in time leaves its numbers out.
  async #sample(): Promise<void> {
    const { clock } = this.#engine.world
    const now = clock.monotonic()
    if (this.#sampledAt === undefined || now - this.#sampledAt >= limits.metricSampleMs) {
      this.#sampledAt = now
      this.#readLoop()
      if (this.#samples) this.#sampling ??= this.#askStore().finally(() => (this.#sampling = undefined))
    }
    if (!this.#sampling) return
    const answered = new AbortController()
    await Promise.race([this.#sampling, sleep(clock, limits.metricSampleWaitMs, answered.signal)])
    answered.abort()
  }

  async #askStore(): Promise<void> {
    const names = ['pawl_queue_depth', 'pawl_queue_oldest_seconds', 'pawl_workers'] as const
    const forget = (): void => {
      for (const name of names) this.#meter.clear(name)
    }
    try {
      const [queues, sessions] = await this.#engine.host.load([{ type: 'queues' }, { type: 'sessions' }])
      forget()
      for (const { queue, kind, due, oldest } of queues?.type === 'queues' ? queues.queues : []) {
        const now = queues?.type === 'queues' ? queues.now : oldest
        this.#meter.set('pawl_queue_depth', [queue, kind], due)
        this.#meter.set('pawl_queue_oldest_seconds', [queue, kind], Math.max(0, now - oldest) / 1_000)
      }
      if (sessions?.type !== 'sessions') return
      const alive = sessions.sessions.filter(({ expiresAt }) => expiresAt > sessions.now).length
      this.#meter.set('pawl_workers', ['alive'], alive)
      this.#meter.set('pawl_workers', ['silent'], sessions.sessions.length - alive)
    } catch {
      forget()
    }
  }

  #readLoop(): void {
    const name = 'pawl_event_loop_delay_seconds'
    const { median, p99, max, sum, count } = this.#loop.read()
    for (const [quantile, value] of Object.entries({ 0.5: median, 0.99: p99, 1: max, sum, count }))
      this.#meter.set(name, [quantile], value)
  }
}

/**
 * Counts what an engine does, for Prometheus.
 *
 * ```ts
 * const counted = metrics(engine)
 * console.log(await counted.text())
 * ```
 */
export function metrics(engine: Engine): Metrics {
  return new Metrics(engine, true)
}
