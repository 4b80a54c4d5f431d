// What a worker remembers about leases beside the runs it holds: offers to new runs, and runs it released. An answer of
// the store may come late: the lease it grants may have been taken, used and released in the meantime.
import { limits } from '../base/limits.ts'
import type { Lease } from '../stores/store.ts'

/** What this worker did under a lease before the same lease was granted to it again. */
export interface EarlierWork {
  /** The lease was granted before, and turns may have been written under it since. */
  readonly wasGranted: boolean
  /** How often step bodies were running when the run was lost. */
  readonly cutOff: number
}

interface Leased {
  readonly runId: string
  readonly lease: Lease
}

export class LeaseBook {
  /** Leases offered to new runs, until the answer to their creation is in. */
  readonly #offers = new Map<number, 'open' | 'taken'>()
  readonly #released = new Set<string>()
  /** How often runs were lost while step bodies ran. No lease outlives its session. */
  readonly #cutOff = new Map<string, number>()

  offer(nonce: number): void {
    this.#offers.set(nonce, 'open')
    // Most creations are answered at once. Those that never are must not pile up.
    const [oldest] = this.#offers.keys()
    if (this.#offers.size > limits.offersMax && oldest !== undefined) this.#offers.delete(oldest)
  }

  /** A creation was answered. False if a reconciling claim has brought the same lease before. */
  accept(nonce: number): boolean {
    const isTaken = this.#offers.get(nonce) === 'taken'
    this.#offers.delete(nonce)
    return !isTaken
  }

  /** A run is held under this lease now. Returns what was done under it before. */
  take(leased: Leased, wasGranted: boolean): EarlierWork {
    const { nonce } = leased.lease
    if (this.#offers.has(nonce)) this.#offers.set(nonce, 'taken')
    return { wasGranted, cutOff: this.#cutOff.get(keyOf(leased)) ?? 0 }
  }

  /** A claim is about to be sent. Only runs released from now on can overtake its answer. */
  claiming(): void {
    this.#released.clear()
  }

  release(leased: Leased): void {
    this.#released.add(keyOf(leased))
  }

  wasReleased(leased: Leased): boolean {
    return this.#released.has(keyOf(leased))
  }

  /** Step bodies were cut off. If the run comes back under the same lease, each of them has lost an attempt. */
  cutOff(leased: Leased): void {
    const key = keyOf(leased)
    this.#cutOff.set(key, (this.#cutOff.get(key) ?? 0) + 1)
  }

  /** The session is over, and all its leases with it. */
  clear(): void {
    this.#offers.clear()
    this.#cutOff.clear()
  }
}

// By its nonce: epochs begin anew when a run was deleted and another one has its id.
function keyOf({ runId, lease: { epoch, nonce } }: Leased): string {
  return `${runId} ${epoch} ${nonce}`
}
