// `/metrics`: what Prometheus reads. It needs a token that may read, or a listed address.
import type { Engine } from '../engine.ts'
import type { MetricsSnapshot } from '../metrics/meter.ts'
import { type Metrics, metrics } from '../metrics/metrics.ts'
import { METRICS_TYPE } from '../metrics/text.ts'
import type { HttpAnswer, HttpRequest } from './http.ts'

export const METRICS_PATH = '/metrics'

export interface ScrapeOptions {
  /** Addresses that need no token. */
  readonly addresses: readonly string[]
  /** Metrics of the processes in which the code runs. */
  readonly others: (() => Promise<readonly MetricsSnapshot[]>) | undefined
  readonly openStreams: () => number
}

/** The servers of an engine share its metrics: a program may make one for each request. */
const shared = new WeakMap<Engine, { readonly metrics: Metrics; users: number }>()

function metricsOf(engine: Engine): Metrics {
  const known = shared.get(engine) ?? { metrics: metrics(engine), users: 0 }
  known.users++
  shared.set(engine, known)
  return known.metrics
}

function release(engine: Engine): void {
  const known = shared.get(engine)
  if (!known || --known.users > 0) return
  shared.delete(engine)
  known.metrics.close()
}

export class Scrape {
  readonly #engines: readonly Engine[]
  readonly #metrics: ReadonlyMap<string, Metrics>
  readonly #options: ScrapeOptions

  constructor(engines: Readonly<Record<string, Engine>>, options: ScrapeOptions) {
    this.#metrics = new Map(Object.entries(engines).map(([namespace, engine]) => [namespace, metricsOf(engine)]))
    this.#engines = Object.values(engines)
    this.#options = options
  }

  /** True if the request needs no token. */
  isListed({ address }: HttpRequest): boolean {
    const known = address?.replace(/^::ffff:/, '')
    return known !== undefined && this.#options.addresses.includes(known)
  }

  /** The metrics of a namespace; without one, of all. */
  async answer(namespace?: string): Promise<HttpAnswer> {
    const chosen = [...this.#metrics].filter(([name]) => namespace === undefined || name === namespace)
    const [first, ...rest] = chosen.map(([, each]) => each)
    // Other processes belong to the only namespace that a command serves.
    const others = [
      ...(await Promise.all(rest.map((each) => each.snapshot()))),
      ...((await this.#options.others?.()) ?? []),
    ]
    first?.setStreams(this.#options.openStreams())
    return { status: 200, headers: { 'content-type': METRICS_TYPE }, body: (await first?.text(others)) ?? '' }
  }

  close(): void {
    for (const engine of this.#engines) release(engine)
  }
}
