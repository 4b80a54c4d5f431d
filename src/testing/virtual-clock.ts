// A clock that moves only when a test moves it. Timers fire in the order of their instants; before each, everything
// that can run without time has run.
import type { Instant } from '../core/base/time.ts'
import { type Clock, systemClock } from '../core/runtime/clock.ts'

interface Timer {
  readonly at: Instant
  /** Timers of the same instant fire in the order they were set. */
  readonly order: number
  readonly fire: () => void
  /** Time does not stop at this timer: it fires once time has passed it, perhaps much later. */
  readonly background?: true
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
    return this.#set({ at: this.#at(ms), order: this.#order++, fire })
  }

  /** The same time, for periodic checks: time does not stop at these timers. */
  get background(): Clock {
    return {
      now: () => this.now(),
      monotonic: () => this.monotonic(),
      after: (ms, fire) => this.#set({ at: this.#at(ms), order: this.#order++, fire, background: true }),
      breathe: () => this.breathe(),
    }
  }

  #at(ms: number): Instant {
    return this.#now + Math.max(0, Math.ceil(ms))
  }

  #set(timer: Timer): () => void {
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((each) => each !== timer)
    }
  }

  async breathe(): Promise<void> {}

  /** The number of timers that are set. */
  get pending(): number {
    return this.#timers.length
  }

  /** When the next timer fires, not counting background timers. */
  next(): Instant | undefined {
    return this.#earliest()?.at
  }

  /** Lets `ms` pass and fires every timer that is due meanwhile, including new ones. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms
    await settle()
    let standing = 0
    for (let timer = this.#earliest(); timer && timer.at <= until; timer = this.#earliest()) {
      standing = timer.at > this.#now ? 0 : standing + 1
      if (standing > FIRES_PER_INSTANT_MAX) throw new Error('livelock: timers fire and time stands still')
      this.#now = Math.max(this.#now, timer.at)
      this.#timers = this.#timers.filter((each) => each !== timer)
      timer.fire()
      await settle()
      await this.#lookAround()
    }
    this.#now = Math.max(this.#now, until)
    await settle()
    await this.#lookAround()
  }

  // Fires each background timer once, however late. Timers that they set fire the next time.
  async #lookAround(): Promise<void> {
    const passed = this.#timers.filter(({ background, at }) => background && at <= this.#now)
    if (passed.length === 0) return
    this.#timers = this.#timers.filter((each) => !passed.includes(each))
    for (const { fire } of passed) fire()
    await settle()
  }

  /** Jumps to an instant, also backwards, without firing timers, as when a machine's clock is corrected. */
  set(instant: Instant): void {
    this.#now = instant
  }

  #earliest(): Timer | undefined {
    let first: Timer | undefined
    for (const each of this.#timers) if (!each.background && (!first || isBefore(each, first))) first = each
    return first
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

// Waits for one round of the event loop, which begins only when the queues of promises and ticks are empty.
function settle(): Promise<void> {
  return systemClock.breathe()
}
