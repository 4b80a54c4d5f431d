// Counts the store calls of a test: those in progress, and those that its workers have made.
import type { Store } from '../core/stores/store.ts'
import { wrapped } from '../core/stores/wrapped.ts'

export class CallCounter {
  readonly #inner: Store
  /** The store for clients. */
  readonly store: Store
  /** The store for workers. */
  readonly workerStore: Store
  inProgress = 0
  /** The number of calls that workers have made. */
  made = 0
  /** Called after a worker has written notes. */
  onNoted: () => void = () => {}
  /** Wraps the workers' calls. */
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

  /** Closes all sessions after their workers were killed, so that no test waits for their leases to expire. */
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
