// Everybody in this process who waits for a run to end. Ends that happen here are passed on at once; others are
// looked up when the store hints at them, and, because hints may be lost, now and then without one.
import { limits } from '../base/limits.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Hint, RunSnapshot, Store } from '../stores/store.ts'

/** The text of the turn that ended a run. */
export type Ended = string

interface Waiter {
  /** The newest look there was when it came. What that one saw may be from before. */
  readonly after: number
  readonly resolve: (ended: Ended) => void
  readonly reject: (error: unknown) => void
}

const REMEMBERED = 10_000
const REMEMBERED_LENGTH = 4_096
/** Long enough for whoever started the run to ask how it ended, and short enough that nobody has begun it again. */
const REMEMBERED_MS = 1_000

export class Results {
  readonly #store: Store
  readonly #clock: Clock
  readonly #waiters = new Map<string, Set<Waiter>>()
  /** Runs begun here, and how they ended once they have. Bounded: what is forgotten is looked up. */
  readonly #local = new Map<string, { readonly body: Ended; readonly at: number } | undefined>()
  readonly #deaf: () => void
  #nextPoll: (() => void) | undefined
  #pause: number = limits.resultPollMsMin
  /** What everybody who comes later is told. */
  #closed: Error | undefined
  #looking = false
  #looks = 0
  #lookAgain = false

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
    this.#deaf = store.wake((hint) => this.#hear(hint))
  }

  /** Whether anybody waits. */
  get awaited(): boolean {
    return this.#waiters.size > 0
  }

  /** This run is held in this process; its end will be told. */
  expect(runId: string): void {
    this.#local.set(runId, undefined)
    for (const [oldest] of this.#local) {
      if (this.#local.size <= REMEMBERED) return
      this.#local.delete(oldest)
    }
  }

  /** It is held here no more, and has not ended: its end may happen anywhere. */
  letGo(runId: string): void {
    if (this.#local.get(runId) === undefined) this.#local.delete(runId)
  }

  ended(runId: string, body: Ended): void {
    if (this.#local.has(runId)) this.#remember(runId, body)
    this.#settle(runId, body)
  }

  // A large end is looked up again if somebody asks for it.
  #remember(runId: string, body: Ended): void {
    if (body.length > REMEMBERED_LENGTH) this.#local.delete(runId)
    else this.#local.set(runId, { body, at: this.#clock.monotonic() })
  }

  /** It has begun again: how it ended before is not how it ends. */
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
      signal?.addEventListener('abort', () => this.#leave(runId, waiter, signal.reason), {
        once: true,
      })
      if (!this.#local.has(runId)) void this.#look()
      this.#schedule()
    })
  }

  close(error: Error): void {
    this.#closed = error
    this.#deaf()
    this.#nextPoll?.()
    for (const waiters of this.#waiters.values()) for (const each of waiters) each.reject(error)
    this.#waiters.clear()
  }

  #hear(hint: Hint): void {
    if (this.#waiters.size === 0) return
    if (hint.type === 'changed' || (hint.type === 'ended' && this.#awaitsElsewhere(hint.runId))) {
      void this.#look()
    }
  }

  #awaitsElsewhere(runId: string): boolean {
    return this.#waiters.has(runId) && !this.#local.has(runId)
  }

  #leave(runId: string, waiter: Waiter, reason: unknown): void {
    const waiters = this.#waiters.get(runId)
    if (!waiters?.delete(waiter)) return
    if (waiters.size === 0) this.#waiters.delete(runId)
    waiter.reject(reason)
  }

  #schedule(): void {
    if (this.#nextPoll) return
    // A store that pushes is only doubted now and then.
    const least = this.#store.traits.push ? limits.resultPollMsMax : limits.resultPollMsMin
    this.#pause = Math.min(Math.max(this.#pause, least), limits.resultPollMsMax)
    this.#nextPoll = this.#clock.after(this.#pause, () => {
      this.#nextPoll = undefined
      this.#pause *= 2
      void this.#look()
      if (this.#waiters.size > 0) this.#schedule()
    })
  }

  // One look at a time; what is asked for meanwhile is one more look.
  async #look(): Promise<void> {
    this.#lookAgain = true
    if (this.#looking) return
    this.#looking = true
    while (this.#lookAgain) {
      this.#lookAgain = false
      await this.#lookOnce().catch((error: unknown) => this.#doubt(error))
    }
    this.#looking = false
    if (this.#waiters.size === 0) this.#rest()
  }

  async #lookOnce(): Promise<void> {
    const runIds = [...this.#waiters.keys()]
    for (let from = 0; from < runIds.length; from += limits.batchElements) {
      const asks = runIds
        .slice(from, from + limits.batchElements)
        .map((runId) => ({ type: 'run', runId }) as const)
      const look = ++this.#looks
      const loaded = await this.#store.load(asks)
      for (const [index, each] of loaded.entries()) {
        const runId = asks[index]?.runId
        if (each.type === 'run' && runId !== undefined) this.#seen(runId, each.run, look)
      }
    }
  }

  #seen(runId: string, run: RunSnapshot | undefined, look: number): void {
    if (run?.last !== undefined) this.#settle(runId, run.last, look)
    else if (!run) {
      for (const waiter of this.#dismiss(runId, look)) waiter.reject(new RunMissing(runId))
    }
  }

  // A look that failed said nothing about any run. The next poll tries again.
  #doubt(_error: unknown): void {
    this.#schedule()
  }

  #settle(runId: string, body: Ended, look = Number.POSITIVE_INFINITY): void {
    for (const waiter of this.#dismiss(runId, look)) waiter.resolve(body)
    if (this.#waiters.size === 0) this.#rest()
  }

  // Whoever came after the look began asks about what it may not have seen: a run may have begun again in between.
  #dismiss(runId: string, look: number): Waiter[] {
    const waiters = this.#waiters.get(runId) ?? new Set<Waiter>()
    const told = [...waiters].filter(({ after }) => after < look)
    for (const waiter of told) waiters.delete(waiter)
    if (waiters.size === 0) this.#waiters.delete(runId)
    return told
  }

  #rest(): void {
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
