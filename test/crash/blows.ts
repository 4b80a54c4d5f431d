// What strikes a deployment, one blow after another, in an order drawn from the seed: kills, stops, a clock that is set,
// fail-overs of the store, and times in which the store refuses everything.
import { setTimeout as sleep } from 'node:timers/promises'
import type { SeededRandom } from '../../src/testing/seeded-random.ts'
import type { SettableClock } from '../support/faketime.ts'
import type { Fleet } from './fleet.ts'

export const kinds = ['kills', 'stops', 'clockJumps', 'failovers', 'outages'] as const
export type Kind = (typeof kinds)[number]
export type Counts = Record<Kind, number>

export interface Targets {
  readonly fleet: Fleet
  readonly leaseMs: number
  readonly clock?: SettableClock
  readonly failOver?: () => Promise<void>
  /** Has the store refuse everything for a while. */
  readonly outage?: () => Promise<void>
}

/** From a correction by seconds to one by an hour, back and forth. */
const jumpsMs = [-3_000, -10_000, -60_000, -3_600_000, 10_000, 3_600_000] as const

export class Blows {
  readonly done: Counts = { kills: 0, stops: 0, clockJumps: 0, failovers: 0, outages: 0 }
  readonly #wanted: Counts
  readonly #targets: Targets
  readonly #random: SeededRandom
  readonly #frozen = new Set<Promise<void>>()
  #jumps: number[] = []
  #offsetMs = 0
  #pausing = { since: 0, ms: Number.POSITIVE_INFINITY }
  #offsetMsMax = 0
  /** When the clock was set forward, in microseconds of the monotonic clock. */
  readonly setForward: number[] = []
  /** When fail-overs began, by the same clock. */
  readonly failedOver: number[] = []

  constructor(wanted: Counts, targets: Targets, random: SeededRandom) {
    this.#wanted = wanted
    this.#targets = targets
    this.#random = random
  }

  get count(): number {
    return sum(this.done)
  }

  get total(): number {
    return sum(this.#wanted)
  }

  async strike(): Promise<void> {
    const kind = this.#draw()
    if (kind === 'clockJumps') this.#jump()
    else if (kind === 'failovers') await this.#failOver()
    else if (kind === 'outages') await this.#outage()
    else if (!(await this.#strikeWorker(kind))) return
    this.done[kind]++
  }

  /** Nothing strikes any more; the clock shows what everybody has been told already, so that what waits is due. */
  async end(): Promise<void> {
    await Promise.all(this.#frozen)
    this.#targets.clock?.set(this.#offsetMsMax)
  }

  #draw(): Kind {
    const left = kinds.flatMap((kind) => {
      // One stop at a time, or nobody is left to take over.
      if (kind === 'stops' && this.#frozen.size > 0) return []
      return Array.from({ length: this.#wanted[kind] - this.done[kind] }, () => kind)
    })
    return left.length === 0 ? 'stops' : this.#random.pick(left)
  }

  async #strikeWorker(kind: 'kills' | 'stops'): Promise<boolean> {
    const { fleet, leaseMs } = this.#targets
    const { ready } = fleet
    if (ready.length === 0 || (kind === 'stops' && this.#frozen.size > 0)) return false
    const worker = this.#random.pick(ready)
    if (kind === 'kills') await fleet.kill(worker)
    else {
      // A stopped worker misses more than its whole lease.
      const pause = fleet.freeze(worker, leaseMs * (1.2 + this.#random.fraction()))
      this.#frozen.add(pause)
      void pause.finally(() => this.#frozen.delete(pause))
    }
    return true
  }

  async #failOver(): Promise<void> {
    this.failedOver.push(Number(process.hrtime.bigint() / 1_000n))
    await this.#targets.failOver?.()
  }

  // A worker that is being started tells its parent that it may not use the store, and ends.
  async #outage(): Promise<void> {
    const { fleet, outage } = this.#targets
    while (fleet.all.some(({ state }) => state === 'starting')) await sleep(20)
    await outage?.()
  }

  // Each of the jumps before one comes again.
  #jump(): void {
    if (this.#jumps.length === 0) this.#jumps = [...jumpsMs]
    const jump = this.#random.pick(this.#jumps)
    this.#jumps = this.#jumps.filter((each) => each !== jump)
    this.#offsetMs += jump
    this.#offsetMsMax = Math.max(this.#offsetMs, this.#offsetMsMax)
    if (jump > 0) this.setForward.push(Number(process.hrtime.bigint() / 1_000n))
    this.#targets.clock?.set(this.#offsetMs)
  }

  async pause(ms: number): Promise<void> {
    const pause = ms * (0.5 + this.#random.fraction())
    this.#pausing = { since: performance.now(), ms: pause }
    await sleep(pause)
  }

  /** How many blows have come, and how much of the pause before the next has passed. */
  get progress(): number {
    const { since, ms } = this.#pausing
    return this.count + Math.min(1, (performance.now() - since) / ms)
  }
}

function sum(counts: Counts): number {
  return kinds.reduce((total, kind) => total + counts[kind], 0)
}
