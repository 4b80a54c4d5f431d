// Time that passes only when a test says so. Timers fire in the order of their instants, and between two of
// them everything that can run without time passing has run.
import type { Instant } from '../kernel/event.ts'
import { type Clock, systemClock } from '../runtime/clock.ts'

interface Timer {
  readonly at: Instant
  /** Timers of the same instant fire in the order they were set. */
  readonly order: number
  readonly fire: () => void
}

/** More timers than this at one instant are a loop that will not end. */
const FIRES_PER_INSTANT_MAX = 10_000

const START: Instant = 1_800_000_000_000

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
    let standing = 0
    for (let timer = this.#earliest(); timer && timer.at <= until; timer = this.#earliest()) {
      standing = timer.at > this.#now ? 0 : standing + 1
      if (standing > FIRES_PER_INSTANT_MAX)
        throw new Error('livelock: timers fire and time stands still')
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

// Promises and ticks feed each other in deep chains. The loop goes round only when both queues have run empty.
function settle(): Promise<void> {
  return systemClock.breathe()
}
