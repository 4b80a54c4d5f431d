// The session of a worker, which all its leases depend on; one renewal is for all of them. It makes no difference
// whether a renewal fails, throws or hangs: without a confirmed one the worker stops itself before other workers may
// take over.

import { limits } from '../base/limits.ts'
import { type Persistence, persist } from '../runtime/availability.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Random } from '../runtime/random.ts'
import type { Renewed, Store } from '../stores/store.ts'

export interface SessionOptions {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly worker: string
  readonly leaseMs: number
  /** What the worker can do at present. */
  readonly about: () => string
  readonly heldTasks: () => readonly string[]
  readonly onLostTasks: (taskIds: readonly string[]) => void
  /** The session is dead: everything held under it must stop at once. */
  readonly onDeath: () => void
  /** The store's time, the number of the renewal, and when it was sent. */
  readonly onRenewed: (now: number, beat: number, sent: number) => void
  /** Told of renewals that failed, and of those that were answered. */
  readonly watch: NonNullable<Persistence['watch']>
}

export class Session {
  readonly id: number
  #beat = 0
  #dead = false
  #deadline = Number.POSITIVE_INFINITY
  #stopSelf: () => void = () => {}
  #nextRenewal: () => void = () => {}
  readonly #options: SessionOptions

  constructor(options: SessionOptions) {
    this.#options = options
    this.id = options.random.integer()
  }

  /** Read before anything begins: a process that was stopped for a while learns here that its time is over. */
  get alive(): boolean {
    if (!this.#dead && this.#options.clock.monotonic() >= this.#deadline) this.die()
    return !this.#dead
  }

  /** Opens the session. Throws what the store throws. */
  async open(): Promise<void> {
    const sent = this.#options.clock.monotonic()
    this.#beat = 0
    this.#confirm(await this.#send(), sent)
    this.#schedule()
  }

  /**
   * Closes the session, also one that stopped itself: the store releases what is still held under it. Tries again for a
   * moment, because without an answer other workers have to wait until the lease is over.
   */
  async close(): Promise<void> {
    this.#end()
    const { clock, random } = this.#options
    await persist(() => this.#send(true), { clock, random, patienceMs: limits.abortGraceMs })
  }

  /** Ends the session as if the store had said that it is dead. */
  die(): void {
    if (this.#dead) return
    this.#end()
    this.#options.onDeath()
  }

  #end(): void {
    this.#dead = true
    this.#stopSelf()
    this.#nextRenewal()
  }

  // After a failure the next try comes sooner: two tries may fail before the worker has to stop.
  #schedule(failed = false): void {
    if (this.#isForEver) return
    const pause = this.#options.leaseMs / limits.leaseRenewalsPerLife / (failed ? 4 : 1)
    this.#nextRenewal = this.#options.clock.after(pause, () => void this.#renew())
  }

  async #renew(): Promise<void> {
    if (this.#dead) return
    const sent = this.#options.clock.monotonic()
    let failed = false
    try {
      const renewed = await this.#send()
      if (this.#dead) return
      if (!renewed.alive) return this.die()
      this.#confirm(renewed, sent)
      this.#options.watch.answered()
    } catch (error) {
      // Without an answer there is no renewal. The deadline of the last confirmed renewal stands.
      this.#options.watch.failed(error)
      failed = true
    }
    if (!this.#dead) this.#schedule(failed)
  }

  /** A session without an end needs no renewal. */
  get #isForEver(): boolean {
    return this.#options.leaseMs >= limits.durationMsMax
  }

  #send(close = false): Promise<Renewed> {
    const { store, worker, leaseMs, about, heldTasks } = this.#options
    this.#beat++
    return store.renew({
      session: this.id,
      worker,
      beat: this.#beat,
      ttlMs: leaseMs,
      tasks: heldTasks(),
      about: about(),
      ...(close && { close: true }),
    })
  }

  // Measured from before the renewal was sent: for the store, the lease cannot end earlier than that.
  #confirm(renewed: Renewed, sent: number): void {
    const { clock, leaseMs, onLostTasks, onRenewed } = this.#options
    onRenewed(renewed.now, this.#beat, sent)
    if (renewed.lostTasks.length > 0) onLostTasks(renewed.lostTasks)
    this.#stopSelf()
    if (this.#isForEver) return
    this.#deadline = sent + leaseMs * limits.leaseSelfStopShare
    this.#stopSelf = clock.after(this.#deadline - clock.monotonic(), () => this.die())
  }
}
