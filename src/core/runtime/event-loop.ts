// How late this process is: the time that its event loop was blocked.
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'

const RESOLUTION_MS = 20

/** Delays in seconds since the last reading, and their number and sum since the beginning. */
export interface LoopDelays {
  readonly median: number
  readonly p99: number
  readonly max: number
  readonly count: number
  readonly sum: number
}

export class EventLoop {
  readonly #delays: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  #count = 0
  #sum = 0

  constructor() {
    this.#delays.enable()
  }

  read(): LoopDelays {
    const { count, mean, max } = this.#delays
    const seconds = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e9 - RESOLUTION_MS / 1e3) || 0
    const [median, p99] = [this.#delays.percentile(50), this.#delays.percentile(99)]
    this.#count += count
    this.#sum += count === 0 ? 0 : count * seconds(mean)
    this.#delays.reset()
    const read = count === 0 ? [0, 0, 0] : [median, p99, max].map(seconds)
    const [low = 0, high = 0, most = 0] = read
    return { median: low, p99: high, max: most, count: this.#count, sum: this.#sum }
  }

  stop(): void {
    this.#delays.disable()
  }
}
