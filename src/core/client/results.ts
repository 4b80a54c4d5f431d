// The callers in this process that wait for runs to end. Runs that end here are reported at once; others are loaded
// when the store hints at their end, and, because hints may be lost, now and then without one.
import { limits } from '../base/limits.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Hint, RunSnapshot, Store } from '../stores/store.ts'
import { movedAway } from './errors.ts'

/** The text of the turn that ended a run. */
export type Ended = string

interface Waiter {
  /** The last look that had begun when this call came. What that look sees may be older than the call. */
  readonly after: number
  readonly resolve: (ended: Ended) => void
  readonly reject: (error: unknown) => void
}

const REMEMBERED = 10_000
const REMEMBERED_LENGTH = 4_096
/** Long enough for the caller that started the run to ask for its result, and too short for the run to begin again. */
const REMEMBERED_MS = 1_000

export class Results {
  readonly #store: Store
  readonly #clock: Clock
  readonly #waiters = new Map<string, Set<Waiter>>()
  /** Runs started here, and how they ended once they have. Bounded: what is forgotten is loaded from the store. */
  readonly #local = new Map<string, { readonly body: Ended; readonly at: number } | undefined>()
  readonly #stopHints: () => void
  #nextPoll: (() => void) | undefined
  #pause: number = limits.resultPollMsMin
  /** The error of every later call. */
  #closed: Error | undefined
  #looking = false
  #looks = 0
  #lookAgain = false

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
    this.#stopHints = store.wake((hint) => this.#hear(hint))
  }

  /** Whether any call waits. */
  get awaited(): boolean {
    return this.#waiters.size > 0
  }

  /** A worker of this process holds this run and will report its end. */
  expect(runId: string): void {
    this.#local.set(runId, undefined)
    for (const [oldest] of this.#local) {
      if (this.#local.size <= REMEMBERED) return
      this.#local.delete(oldest)
    }
  }

  /** The run is not held here any more and has not ended: it may end in any process. */
  released(runId: string): void {
    if (this.#local.get(runId) === undefined) this.#local.delete(runId)
  }

  ended(runId: string, body: Ended): void {
    if (this.#local.has(runId)) this.#remember(runId, body)
    this.#settle(runId, body)
  }

  // A large result is loaded from the store if a caller asks for it.
  #remember(runId: string, body: Ended): void {
    if (body.length > REMEMBERED_LENGTH) this.#local.delete(runId)
    else this.#local.set(runId, { body, at: this.#clock.monotonic() })
  }

  /** The run has begun again, so that its earlier end is not its result. */
  forget(runId: string): void {
    this.#local.delete(runId)
  }

  #recall(runId: string): Ended | undefined {
    const known = this.#local.get(runId)
    if (!known) return undefined
    if (this.#clock.monotonic() - known.at <= REMEMBERED_MS) return known.body
    this.#local.delete(runId)
    return undefined
  }

  wait(runId: string, signal?: AbortSignal): Promise<Ended> {
    if (this.#closed) return Promise.reject(this.#closed)
    const known = this.#recall(runId)
    if (known !== undefined) return Promise.resolve(known)
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const waiter: Waiter = { after: this.#looks, resolve, reject }
      const waiters = this.#waiters.get(runId) ?? new Set()
      this.#waiters.set(runId, waiters.add(waiter))
      signal?.addEventListener('abort', () => this.#giveUp(runId, waiter, signal.reason), {
        once: true,
      })
      if (!this.#local.has(runId)) void this.#look()
      this.#schedule()
    })
  }

  close(error: Error): void {
    this.#closed = error
    this.#stopHints()
    this.#nextPoll?.()
    for (const waiters of this.#waiters.values()) for (const each of waiters) each.reject(error)
    this.#waiters.clear()
  }

  #hear(hint: Hint): void {
    if (this.#waiters.size === 0) return
    if (hint.type === 'changed' || (hint.type === 'ended' && this.#endsElsewhere(hint.runId))) {
      void this.#look()
    }
  }

  #endsElsewhere(runId: string): boolean {
    return this.#waiters.has(runId) && !this.#local.has(runId)
  }

  #giveUp(runId: string, waiter: Waiter, reason: unknown): void {
    const waiters = this.#waiters.get(runId)
    if (!waiters?.delete(waiter)) return
    if (waiters.size === 0) this.#waiters.delete(runId)
    waiter.reject(reason)
  }

  #schedule(): void {
    if (this.#nextPoll) return
    // A store that pushes is polled rarely, in case a hint was lost.
    const least = this.#store.traits.push ? limits.resultPollMsMax : limits.resultPollMsMin
    this.#pause = Math.min(Math.max(this.#pause, least), limits.resultPollMsMax)
    this.#nextPoll = this.#clock.after(this.#pause, () => {
      this.#nextPoll = undefined
      this.#pause *= 2
      void this.#look()
      if (this.#waiters.size > 0) this.#schedule()
    })
  }

  // One look at a time. Calls that come meanwhile need one more look.
  async #look(): Promise<void> {
    this.#lookAgain = true
    if (this.#looking) return
    this.#looking = true
    while (this.#lookAgain) {
      this.#lookAgain = false
      // A look that failed says nothing about any run. The next poll tries again.
      await this.#lookOnce().catch(() => this.#schedule())
    }
    this.#looking = false
    if (this.#waiters.size === 0) this.#stopPolling()
  }

  async #lookOnce(): Promise<void> {
    const runIds = [...this.#waiters.keys()]
    for (let from = 0; from < runIds.length; from += limits.batchElements) {
      const asks = runIds.slice(from, from + limits.batchElements).map((runId) => ({ type: 'run', runId }) as const)
      const look = ++this.#looks
      const loaded = await this.#store.load(asks)
      for (const [index, each] of loaded.entries()) {
        const runId = asks[index]?.runId
        if (each.type === 'run' && runId !== undefined) this.#seen(runId, each.run, look)
      }
    }
  }

  #seen(runId: string, run: RunSnapshot | undefined, look: number): void {
    if (run?.status === 'moved') for (const waiter of this.#take(runId, look)) waiter.reject(movedAway(run))
    else if (run?.last !== undefined) this.#settle(runId, run.last, look)
    else if (!run) {
      for (const waiter of this.#take(runId, look)) waiter.reject(new RunMissing(runId))
    }
  }

  #settle(runId: string, body: Ended, look = Number.POSITIVE_INFINITY): void {
    for (const waiter of this.#take(runId, look)) waiter.resolve(body)
    if (this.#waiters.size === 0) this.#stopPolling()
  }

  // A call that came after the look began is not answered by it: the run may have begun again in between.
  #take(runId: string, look: number): Waiter[] {
    const waiters = this.#waiters.get(runId) ?? new Set<Waiter>()
    const told = [...waiters].filter(({ after }) => after < look)
    for (const waiter of told) waiters.delete(waiter)
    if (waiters.size === 0) this.#waiters.delete(runId)
    return told
  }

  #stopPolling(): void {
    this.#nextPoll?.()
    this.#nextPoll = undefined
    this.#pause = limits.resultPollMsMin
  }
}

export class RunMissing extends Error {
  readonly runId: string
  constructor(runId: string) {
    super(`no run ${runId}`)
    this.runId = runId
  }
}
