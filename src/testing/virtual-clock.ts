// Time that passes only when a test says so. Timers fire in the order of their instants, and between two of
// them everything that can run without time passing has run.
import { drained } from '../deciders/function/barrier.ts'
import type { Instant } from '../kernel/event.ts'
import type { Clock } from '../runtime/clock.ts'

interface Timer {
  readonly at: Instant
  /** Timers of the same instant fire in the order they were set. */
  readonly order: number
  readonly fire: () => void
}

const START: Instant = 1_800_000_000_000

/** Deep chains of promises and ticks feed each other; a few rounds let both queues run empty. */
const DRAIN_ROUNDS = 3

export class VirtualClock implements Clock {
  #now: Instant
  #order = 0
  #timers: Timer[] = []
  readonly #start: Instant

  constructor(start: Instant = START) {
    this.#start = start
    this.#now = start
  }

  now(): Instant {
    return this.#now
  }

  monotonic(): number {
    return this.#now - this.#start
  }

  after(ms: number, fire: () => void): () => void {
    const at = this.#now + Math.max(0, Math.ceil(ms))
    const timer: Timer = { at, order: this.#order++, fire }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((each) => each !== timer)
    }
  }

  async breathe(): Promise<void> {}

  /** How many timers are set. */
  get pending(): number {
    return this.#timers.length
  }

  /** When the next timer fires. */
  next(): Instant | undefined {
    return this.#earliest()?.at
  }

  /** Lets `ms` pass, stopping at every timer on the way, including those set on the way. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms
    await settle()
    for (let timer = this.#earliest(); timer && timer.at <= until; timer = this.#earliest()) {
      this.#now = Math.max(this.#now, timer.at)
      this.#timers = this.#timers.filter((each) => each !== timer)
      timer.fire()
      await settle()
    }
    this.#now = Math.max(this.#now, until)
    await settle()
  }

  /** Jumps to an instant without firing anything, also backwards, as a machine's clock does when corrected. */
  set(instant: Instant): void {
    this.#now = instant
  }

  #earliest(): Timer | undefined {
    return this.#timers.reduce<Timer | undefined>(
      (first, each) => (first && !isBefore(each, first) ? first : each),
      undefined,
    )
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

async function settle(): Promise<void> {
  for (let round = 0; round < DRAIN_ROUNDS; round++) await drained()
}
