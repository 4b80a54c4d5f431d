// A worker's line to its store: what it sends is sent again until there is an answer. While the store cannot be used it
// tells people so: once when that has lasted for a moment, or at once if it will not pass by itself, then rarely, and
// when it is over. A store that answers now and then, because one of its connections still works, is not over it.
import { PawlError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { type Persistence, persist } from '../runtime/availability.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Random } from '../runtime/random.ts'
import type { Store } from '../stores/store.ts'

/** The worker stopped before the store answered. What was sent may have been written. */
export class NoAnswer extends Error {
  constructor(cause: unknown) {
    super('the worker stopped before its store answered', { cause })
  }
}

export interface LinePorts {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

export class StoreLine {
  readonly #worker: string
  readonly #ports: LinePorts
  readonly #how: Persistence
  #since: number | undefined
  /** Since when it has answered every time. */
  #goodSince: number | undefined
  #toldAt: number | undefined

  constructor(worker: string, ports: LinePorts, signal: AbortSignal) {
    this.#worker = worker
    this.#ports = ports
    const { clock, random } = ports
    // A worker has all the time its lease gives it; the session stops it when that is over.
    const patienceMs = Number.POSITIVE_INFINITY
    const givenUp = (error: unknown): Error => new NoAnswer(error)
    this.#how = { clock, random, patienceMs, signal, watch: this, givenUp }
  }

  send<T>(call: (store: Store) => Promise<T>): Promise<T> {
    return persist(() => call(this.#ports.store), this.#how)
  }

  /** The session is over: everything held under it was stopped. */
  died(runs: number, tasks: number): void {
    this.#ports.logger.log(
      'warn',
      `worker ${this.#worker} lost its session and stopped what it held: ${runs} runs, ${tasks} tasks. Workers claim them again`,
    )
  }

  failed(error: unknown): void {
    const now = this.#ports.clock.monotonic()
    this.#since ??= now
    this.#goodSince = undefined
    const next =
      this.#toldAt === undefined
        ? this.#since + (mayPass(error) ? limits.outageToldAfterMs : 0)
        : this.#toldAt + limits.outageToldEveryMs
    if (now < next) return
    this.#toldAt = now
    const text = error instanceof Error ? error.message : String(error)
    const level = mayPass(error) ? 'warn' : 'error'
    this.#ports.logger.log(
      level,
      `worker ${this.#worker} cannot use its store and keeps trying; no run fails because of it: ${text}`,
    )
  }

  answered(): void {
    if (this.#since === undefined) return
    const now = this.#ports.clock.monotonic()
    this.#goodSince ??= now
    if (now - this.#goodSince < limits.outageOverAfterMs) return
    const seconds = Math.round((this.#goodSince - this.#since) / 100) / 10
    if (this.#toldAt !== undefined)
      this.#ports.logger.log(
        'info',
        `worker ${this.#worker} can use its store again, after ${seconds} s`,
      )
    this.#since = undefined
    this.#goodSince = undefined
    this.#toldAt = undefined
  }
}

function mayPass(error: unknown): boolean {
  return !(error instanceof PawlError) || error.code === 'STORE_UNAVAILABLE'
}
