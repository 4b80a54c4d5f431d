// A worker's calls to its store, each repeated until there is an answer. While the store cannot be used, the log says
// so: once when that has lasted for a moment, or at once if it will not pass by itself, then rarely, and when it is
// over. An outage is not over while the store answers only some calls, because one of its connections still works.
import { PawlError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { persistent, type Send } from '../runtime/availability.ts'
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

interface Engine {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

export class StoreLine {
  readonly #worker: string
  readonly #engine: Engine
  /** Sends a call to the store until it answers. */
  readonly send: Send<Store>
  /** Since when the store cannot be used. */
  #since: number | undefined
  /** Since when the store has answered every call. */
  #goodSince: number | undefined
  /** When the log was told last. */
  #toldAt: number | undefined

  constructor(worker: string, engine: Engine, signal: AbortSignal) {
    this.#worker = worker
    this.#engine = engine
    const { store, clock, random } = engine
    // A worker repeats its calls for as long as it has its lease; without it, the session stops the worker.
    const patienceMs = Number.POSITIVE_INFINITY
    const givenUp = (error: unknown): Error => new NoAnswer(error)
    this.send = persistent(store, { clock, random, patienceMs, signal, watch: this, givenUp })
  }

  /** The session is over: everything held under it was stopped. */
  died(runs: number, tasks: number): void {
    this.#engine.logger.log(
      'warn',
      `worker ${this.#worker} lost its session and stopped what it held: ${runs} runs, ${tasks} tasks. Workers claim them again`,
    )
  }

  failed(error: unknown): void {
    const now = this.#engine.clock.monotonic()
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
    this.#engine.logger.log(
      level,
      `worker ${this.#worker} cannot use its store and keeps trying; no run fails because of it: ${text}`,
    )
  }

  answered(): void {
    if (this.#since === undefined) return
    const now = this.#engine.clock.monotonic()
    this.#goodSince ??= now
    if (now - this.#goodSince < limits.outageOverAfterMs) return
    const seconds = Math.round((this.#goodSince - this.#since) / 100) / 10
    if (this.#toldAt !== undefined)
      this.#engine.logger.log('info', `worker ${this.#worker} can use its store again, after ${seconds} s`)
    this.#since = undefined
    this.#goodSince = undefined
    this.#toldAt = undefined
  }
}

function mayPass(error: unknown): boolean {
  return !(error instanceof PawlError) || error.code === 'STORE_UNAVAILABLE'
}
