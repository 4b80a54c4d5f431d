// Limits of rates: a bucket per token or address, which fills at a steady rate and empties by one per request.
import { limits } from '../core/base/limits.ts'
import type { Clock } from '../core/runtime/clock.ts'

export class Rate {
  readonly #buckets = new Map<string, { left: number; at: number }>()
  readonly #clock: Clock
  readonly #perMs: number
  readonly #burst: number

  constructor(clock: Clock, { perSecond, burst }: { readonly perSecond: number; readonly burst: number }) {
    this.#clock = clock
    this.#perMs = perSecond / 1_000
    this.#burst = burst
  }

  /** Takes one from the bucket. Returns 0, or how many milliseconds it is empty. */
  take(key: string): number {
    const bucket = this.#filled(key)
    if (bucket.left < 1) return Math.ceil((1 - bucket.left) / this.#perMs)
    bucket.left--
    return 0
  }

  /** True if the bucket is empty; takes nothing. */
  isEmpty(key: string): boolean {
    return this.#buckets.has(key) && this.#filled(key).left < 1
  }

  #filled(key: string): { left: number; at: number } {
    const now = this.#clock.monotonic()
    const bucket = this.#buckets.get(key) ?? { left: this.#burst, at: now }
    bucket.left = Math.min(this.#burst, bucket.left + (now - bucket.at) * this.#perMs)
    bucket.at = now
    // The oldest is forgotten: it gets a full bucket if it comes again.
    if (!this.#buckets.has(key) && this.#buckets.size >= limits.countersKept) {
      const [oldest] = this.#buckets.keys()
      this.#buckets.delete(oldest ?? key)
    }
    this.#buckets.set(key, bucket)
    return bucket
  }
}
