// Knows how many calls the store of a test has not answered, and how many its workers have made.
import type { Store } from '../core/stores/store.ts'
import { wrapped } from '../core/stores/wrapped.ts'

export class CallCounter {
  readonly #inner: Store
  /** As clients reach it. */
  readonly store: Store
  /** As workers reach it. */
  readonly workerStore: Store
  inProgress = 0
  /** Calls of workers. */
  made = 0
  /** A worker has noted something. */
  onNoted: () => void = () => {}
  /** Stands between workers and the store. */
  around: (method: string, call: () => Promise<unknown>) => Promise<unknown> = (_, call) => call()

  constructor(inner: Store) {
    this.#inner = inner
    this.store = wrapped(
      inner,
      (_method, call) =>
        (...args) =>
          this.#count(() => call(...args)),
    )
    this.workerStore = wrapped(inner, (method, call) => (...args) => {
      type Out = Awaited<ReturnType<typeof call>>
      this.made++
      const answer = this.#count(() => this.around(method, () => call(...args))) as Promise<Out>
      return method === 'note' ? answer.finally(() => this.onNoted()) : answer
    })
  }

  /** Every worker is dead: nobody waits for their leases to end. */
  async endSessions(): Promise<void> {
    const [loaded] = await this.#inner.load([{ type: 'sessions' }])
    for (const { session, worker } of loaded?.type === 'sessions' ? loaded.sessions : []) {
      const last = { beat: 2, ttlMs: 0, tasks: [], about: '', close: true } as const
      await this.#inner.renew({ session, worker, ...last })
    }
  }

  async #count<T>(call: () => Promise<T>): Promise<T> {
    this.inProgress++
    try {
      return await call()
    } finally {
      this.inProgress--
    }
  }
}
