// Frees runs whose worker has died, as every worker does: without one, nothing else would.
import { limits } from '../../core/base/limits.ts'
import { LateSessions } from '../../core/index.ts'
import type { ClaimRequest } from '../../core/stores/driver.ts'
import type { MovePorts } from './ports.ts'

export class Releaser {
  readonly #ports: MovePorts
  readonly #late: LateSessions
  readonly #session: number
  #beat = 0
  #renewedAt = 0
  #looking: Promise<void> | undefined

  constructor(ports: MovePorts) {
    this.#ports = ports
    this.#late = new LateSessions(ports.clock)
    this.#session = ports.random.integer()
  }

  /** Looks for sessions of workers that have died, and frees those that were silent long enough. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async close(): Promise<void> {
    await this.#looking
    if (this.#beat > 0) await this.#renew({ close: true })
  }

  async #look(): Promise<void> {
    const { clock, from } = this.#ports
    const isOld = clock.monotonic() - this.#renewedAt > limits.leaseMs / limits.leaseRenewalsPerLife
    if (this.#beat === 0 || isOld) await this.#renew({})
    const claimed = await from.send((store) => store.claim(this.#request()))
    if (claimed.dead) this.#beat = 0
    else this.#late.learn(claimed.late)
  }

  async #renew(more: { readonly close?: true }): Promise<void> {
    const { clock, from } = this.#ports
    const beat = ++this.#beat
    const session = { session: this.#session, worker: 'a move', beat, ttlMs: limits.leaseMs, tasks: [], about: '{}' }
    await from.send((store) => store.renew({ ...session, ...more }))
    this.#renewedAt = clock.monotonic()
  }

  #request(): ClaimRequest {
    return {
      ...{ session: this.#session, silent: this.#late.silent, nonce: this.#ports.random.integer(), build: '' },
      ...{ queues: [], workflows: [], activities: [], runs: 0, suspects: 0, tasks: 0, held: [], heldTasks: [] },
    }
  }
}
