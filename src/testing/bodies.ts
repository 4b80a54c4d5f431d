// Step bodies that run in a test. A body may wait for real things, such as a request to a local server, and then virtual
// time stands still for it; or for virtual time, and then it must not.
import { AsyncLocalStorage } from 'node:async_hooks'
import { type Clock, systemClock } from '../core/runtime/clock.ts'

interface Body {
  readonly of: Bodies
  /** Since when, in real time, it has had the chance to end. */
  since: number
  /** How many sleeps of virtual time it waits for. */
  asleep: number
}

/** The body that the code which is running belongs to. */
const current = new AsyncLocalStorage<Body>()

export class Bodies {
  readonly #patienceMs: number
  readonly #running = new Set<Body>()
  #dead = false

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
    const running: Body = { of: this, since: systemClock.monotonic(), asleep: 0 }
    const result = current.run(running, body)
    if (!isThenable(result)) return result
    this.#running.add(running)
    return Promise.resolve(result).finally(() => this.#running.delete(running))
  }

  /** Has the body that calls this sleep; answers undefined if nobody's body does. */
  static sleep(clock: Clock, ms: number): Promise<void> | undefined {
    const body = current.getStore()
    if (!body) return undefined
    // Its process was killed: it does not get any further.
    if (body.of.#dead) return new Promise(() => {})
    body.asleep++
    return new Promise((resolve) => {
      clock.after(ms, () => {
        body.asleep--
        body.since = systemClock.monotonic()
        if (!body.of.#dead) resolve()
      })
    })
  }

  /** Their process was killed: nobody waits for them. */
  kill(): void {
    this.#dead = true
    this.#running.clear()
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function'
}
