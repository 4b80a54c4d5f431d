// What a worker remembers about leases beside the runs it holds: offers to new runs, and runs it let go of. Answers of
// the store come late, and what they give may have been taken, worked on and let go of in the meantime.
import { limits } from '../base/limits.ts'
import type { Again } from './host.ts'

interface Leased {
  readonly runId: string
  readonly epoch: number
}

export class LeaseBook {
  /** Leases offered to new runs, until the answer to their creation is in. */
  readonly #offers = new Map<number, 'open' | 'taken'>()
  readonly #letGo = new Set<string>()
  /** How often runs were lost with step bodies under way. No lease outlives its session. */
  readonly #cutOff = new Map<string, number>()

  offer(nonce: number): void {
    this.#offers.set(nonce, 'open')
    // Most are answered at once. Those that never are must not pile up.
    const [oldest] = this.#offers.keys()
    if (this.#offers.size > limits.offersMax && oldest !== undefined) this.#offers.delete(oldest)
  }

  /** A creation was answered. False if a claim that looked for lost answers was faster. */
  accept(nonce: number): boolean {
    const again = this.#offers.get(nonce) === 'taken'
    this.#offers.delete(nonce)
    return !again
  }

  /** A lease is taken up; says what was done under it before. */
  take({ runId, epoch }: Leased, nonce: number, isOld: boolean): Again {
    if (this.#offers.has(nonce)) this.#offers.set(nonce, 'taken')
    return { isOld, cutOff: this.#cutOff.get(keyOf({ runId, epoch })) ?? 0 }
  }

  /** A claim is sent: only what is let go of from now on can overtake its answer. */
  claims(): void {
    this.#letGo.clear()
  }

  letGo({ runId, epoch }: Leased): void {
    this.#letGo.add(keyOf({ runId, epoch }))
  }

  wasLetGo(leased: Leased): boolean {
    return this.#letGo.has(keyOf(leased))
  }

  /** Bodies were begun and cut off. If the run comes back under the same lease, that was a failed attempt of each. */
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

function keyOf({ runId, epoch }: Leased): string {
  return `${runId} ${epoch}`
}
