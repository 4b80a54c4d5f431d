// Step bodies that run in a test. A body may wait for real things, such as a request to a local server, and then virtual
// time stands still for it; or for virtual time, and then it must not.
import { AsyncLocalStorage } from 'node:async_hooks'
import { type Clock, systemClock } from '../runtime/clock.ts'

interface Body {
  /** Since when, in real time, it has had the chance to end. */
  since: number
  /** How many sleeps of virtual time it waits for. */
  asleep: number
}

export class Bodies {
  readonly #patienceMs: number
  readonly #running = new Set<Body>()
  readonly #current = new AsyncLocalStorage<Body>()

  /** A body that has neither ended nor slept for so long in real time is taken to wait for virtual time. */
  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs
  }

  /** Whether nobody could end before virtual time passes. */
  get atRest(): boolean {
    const now = systemClock.monotonic()
    for (const { asleep, since } of this.#running)
      if (asleep === 0 && now - since < this.#patienceMs) return false
    return true
  }

  /** Takes no longer than the body itself: one that is done at once is not made to wait. */
  around(body: () => unknown): unknown {
    const running: Body = { since: systemClock.monotonic(), asleep: 0 }
    const result = this.#current.run(running, body)
    if (!(result instanceof Promise)) return result
    this.#running.add(running)
    return result.finally(() => this.#running.delete(running))
  }

  /** Whether the caller is one of them. */
  get isInside(): boolean {
    return this.#current.getStore() !== undefined
  }

  /** Resolves after so much virtual time. */
  sleep(clock: Clock, ms: number): Promise<void> {
    const body = this.#current.getStore()
    if (body) body.asleep++
    return new Promise((resolve) => {
      clock.after(ms, () => {
        if (body) {
          body.asleep--
          body.since = systemClock.monotonic()
        }
        resolve()
      })
    })
  }

  /** Their process was killed: nobody waits for them. */
  forget(): void {
    this.#running.clear()
  }
}
