// Walks through the runs of a store, oldest first, and deletes those that a policy does not keep any more. It works in
// small calls and rests after each, so that the workers of the store hardly notice it.
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import type { Instant } from '../../core/base/time.ts'
import { ENDED } from '../../core/index.ts'
import type { EndedPage, EndedRun, Store } from '../../core/stores/driver.ts'
import { Expiry, type RetentionPolicy } from './options.ts'

/** Calls the store until it answers. */
export type Send = <T>(call: (store: Store) => Promise<T>) => Promise<T>

export interface SweepPorts {
  readonly send: Send
  readonly monotonic: () => number
  readonly rest: (ms: number) => Promise<void>
}

export interface SweepOptions {
  readonly dryRun?: boolean | undefined
  readonly limit?: number | undefined
  /** Where to go on: `next` of an earlier sweep. */
  readonly from?: string | undefined
  /** Ends early, with `next`, when this has aborted or the time is over. */
  readonly signal?: AbortSignal | undefined
  readonly forMs: number
}

/** What a purge has done, or would do. */
export interface PurgeReport {
  /** How many runs were deleted; of a dry run, how many would be. */
  readonly purged: number
  /** The same by workflow. */
  readonly byWorkflow: Readonly<Record<string, number>>
  /** Runs whose time is over and that were left, because the run that started them is in progress. */
  readonly needed: number
}

export interface SweepReport extends PurgeReport {
  /** Absent at the end. */
  readonly next?: string
}

/** A part of a pass, as its run records it. */
export interface PassPart extends Pick<SweepReport, 'purged' | 'needed' | 'next'> {
  /** When the next pass begins; absent if there is no policy any more. */
  readonly everyMs?: number
}

/** What the run of a retention can do. */
export interface Passes {
  sweep(from: string | undefined, signal: AbortSignal): Promise<PassPart>
}

export class Sweep {
  readonly #expiry: Expiry
  readonly #ports: SweepPorts
  readonly #options: SweepOptions
  readonly #byWorkflow = new Map<string, number>()
  #purged = 0
  #needed = 0
  #chunk: number = limits.purgeChunk

  constructor(policy: RetentionPolicy, ports: SweepPorts, options: SweepOptions) {
    this.#expiry = new Expiry(policy)
    this.#ports = ports
    this.#options = options
  }

  async run(): Promise<SweepReport> {
    const { forMs, signal, limit = Number.POSITIVE_INFINITY } = this.#options
    const begun = this.#ports.monotonic()
    const isOver = (): boolean => signal?.aborted === true || this.#ports.monotonic() - begun >= forMs
    let place = this.#options.from
    if (this.#expiry.minAgeMs === Number.POSITIVE_INFINITY) return this.#report(undefined)
    do {
      const page = await this.#page(place)
      const expired = await this.#expiredIn(page)
      // Runs that turn out to be needed do not count.
      for (let at = 0; at < expired.length; ) {
        if (this.#purged >= limit) return this.#report(undefined)
        if (signal?.aborted) return this.#report(place)
        const some = expired.slice(at, at + Math.min(this.#chunk, limit - this.#purged))
        at += some.length
        await this.#purge(some)
      }
      place = page.next?.cursor
    } while (place && !isOver())
    return this.#report(place)
  }

  #page(cursor: string | undefined): Promise<EndedPage> {
    const { minAgeMs } = this.#expiry
    const query = { minAgeMs, limit: limits.purgePage, ...(cursor !== undefined && { cursor }) }
    return this.#ports.send((store) => capable(store).ended(query))
  }

  async #expiredIn({ runs, now, next }: EndedPage): Promise<EndedRun[]> {
    const newer = await this.#countBehind(runs, next?.createdAt)
    // From the newest, so that each run is met with the number of ended runs of its workflow that are newer.
    const expired = runs.toReversed().filter(({ name, status, endedAt }) => {
      const count = newer.get(name) ?? 0
      newer.set(name, count + 1)
      return (
        count >= (this.#expiry.newest(name) ?? Number.POSITIVE_INFINITY) ||
        now - endedAt >= this.#expiry.afterMs(name, status)
      )
    })
    return expired.toReversed()
  }

  /**
   * Ended runs behind a page, by workflow, for those of which only the newest are kept. Counted after the page was read
   * and for each page, so that runs which another purge deletes meanwhile never count.
   */
  async #countBehind(runs: readonly EndedRun[], lastAt: Instant | undefined): Promise<Map<string, number>> {
    const counts = new Map<string, number>()
    if (lastAt === undefined) return counts
    for (const name of new Set(runs.map((run) => run.name))) {
      const newest = this.#expiry.newest(name)
      if (newest === undefined || newest === 0) continue
      const query = { names: [name], statuses: ENDED, createdAfter: lastAt + 1, limit: 0, count: true } as const
      const { count = 0 } = await this.#ports.send((store) => store.list({ ...query, countMost: newest }))
      counts.set(name, count)
    }
    return counts
  }

  async #purge(runs: readonly EndedRun[]): Promise<void> {
    if (this.#options.dryRun) return runs.forEach(({ name }) => this.#note(name, 'purged'))
    const begun = this.#ports.monotonic()
    const outcomes = await this.#ports.send((store) => capable(store).purge(runs))
    const tookMs = this.#ports.monotonic() - begun
    for (const [index, { name }] of runs.entries()) this.#note(name, outcomes[index]?.outcome)
    if (tookMs > limits.purgeMsMax) this.#chunk = Math.max(limits.purgeChunkMin, this.#chunk >> 1)
    else if (tookMs < limits.purgeMsMin) this.#chunk = Math.min(limits.purgeChunkMax, this.#chunk * 2)
    await this.#ports.rest(Math.min(limits.purgeRestMsMax, tookMs * limits.purgeRest))
  }

  #note(name: string, outcome: 'purged' | 'kept' | 'missing' | undefined): void {
    if (outcome === 'kept') this.#needed++
    if (outcome !== 'purged') return
    this.#purged++
    this.#byWorkflow.set(name, (this.#byWorkflow.get(name) ?? 0) + 1)
  }

  #report(next: string | undefined): SweepReport {
    const byWorkflow = Object.fromEntries(this.#byWorkflow)
    return { purged: this.#purged, byWorkflow, needed: this.#needed, ...(next !== undefined && { next }) }
  }
}

/** Throws if the store cannot delete single runs. */
export function capable(store: Store): Required<Pick<Store, 'ended' | 'purge'>> {
  const { ended, purge } = store
  if (ended && purge) return { ended: (query) => ended.call(store, query), purge: (runs) => purge.call(store, runs) }
  throw new PawlError(
    'NOT_SUPPORTED',
    `a store on object storage ('${store.traits.name}') cannot delete single runs. It deletes all that ended before ` +
      'some time: add `retention`, such as `?retention=30d`, to its URL.',
  )
}
