// The running step bodies of a test. While a body waits for something real, such as a request to a local server,
// virtual time stands still. While it waits for virtual time, virtual time must move.
import { AsyncLocalStorage } from 'node:async_hooks'
import { type Clock, systemClock } from '../core/runtime/clock.ts'

interface Body {
  readonly of: Bodies
  /** The real time at which it began, or last woke from a sleep. */
  since: number
  /** The number of its sleeps in virtual time. */
  asleep: number
}

/** The body of the running code. */
const current = new AsyncLocalStorage<Body>()

export class Bodies {
  readonly #patienceMs: number
  readonly #running = new Set<Body>()
  #dead = false

  /** A body that runs longer than `patienceMs` of real time is assumed to wait for virtual time. */
  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs
  }

  /** True if no body can end before virtual time moves. */
  get atRest(): boolean {
    const now = systemClock.monotonic()
    for (const { asleep, since } of this.#running) if (asleep === 0 && now - since < this.#patienceMs) return false
    return true
  }

  /** Runs a body. A synchronous result is returned as it is, so that it takes no extra turn of the event loop. */
  around(body: () => unknown): unknown {
    const running: Body = { of: this, since: systemClock.monotonic(), asleep: 0 }
    const result = current.run(running, body)
    if (!isThenable(result)) return result
    this.#running.add(running)
    return Promise.resolve(result).finally(() => this.#running.delete(running))
  }

  /** Lets the calling body sleep in virtual time; returns undefined if no body calls it. */
  static sleep(clock: Clock, ms: number): Promise<void> | undefined {
    const body = current.getStore()
    if (!body) return undefined
    // The body's process was killed, so the body never continues.
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

  /** Drops the bodies of a killed process, so that virtual time no longer waits for them. */
  kill(): void {
    this.#dead = true
    this.#running.clear()
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function'
}
