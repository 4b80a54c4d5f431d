// Incidents of a simulated deployment besides crashes and a bad network: clocks that jump, outages in which the store
// answers every call with an error, and fail-overs to a copy that lacks the last writes.
import { PawlError } from '../core/base/errors.ts'
import type { Ledger } from './ledger.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { SharedStore } from './shared-store.ts'

/** The rates of incidents, per second of virtual time. */
export interface IncidentRates {
  readonly clockJumps: number
  readonly outages: number
  readonly failOvers: number
}

export const noIncidents: IncidentRates = { clockJumps: 0, outages: 0, failOvers: 0 }

/** Draws the rates of a seed: most seeds have one kind of incident or none, some have all. */
export function incidentRatesOf(random: SeededRandom): IncidentRates {
  return {
    clockJumps: random.pick([0, 0.5, 2]),
    outages: random.pick([0, 0, 0.5]),
    failOvers: random.pick([0, 0, 0.5, 1.5]),
  }
}

const JUMPS_MS = [200, 3_000, 10_000, 60_000, 3_600_000]
/** The maximum age of the copy that a fail-over restores. */
const BEHIND_MS_MAX = 400
const OUTAGE_MS_MAX = 2_500

export class Incidents {
  readonly #store: SharedStore
  readonly #ledger: Ledger
  readonly #random: SeededRandom
  readonly #rates: IncidentRates
  #outageUntil = 0
  #outageOverAt = 0
  #copiedAt = Number.NEGATIVE_INFINITY

  constructor(store: SharedStore, ledger: Ledger, random: SeededRandom, rates: IncidentRates) {
    this.#store = store
    this.#ledger = ledger
    this.#random = random
    this.#rates = rates
  }

  /** Draws whether incidents begin in the `seconds` that have passed. */
  draw(now: number, seconds: number): void {
    const { clockJumps, outages, failOvers } = this.#rates
    if (this.#outageUntil > 0 && now >= this.#outageUntil) this.#endOutage(now)
    if (this.#random.chance(clockJumps * seconds)) this.#setClock()
    // Outages do not follow each other at once, because clients give up after a while.
    const mayBegin = this.#outageUntil === 0 && now - this.#outageOverAt > OUTAGE_MS_MAX
    if (this.#random.chance(outages * seconds) && mayBegin) this.#beginOutage(now)
    if (failOvers > 0) this.#failOver(now, failOvers * seconds)
  }

  /** Ends all incidents and corrects the clock. */
  calm(): void {
    this.#endOutage(0)
    this.#store.clock.correct()
  }

  #setClock(): void {
    const { clock } = this.#store
    const off = this.#random.pick(JUMPS_MS) * (this.#random.chance(0.5) ? 1 : -1)
    // Half of the time a wrong clock is corrected.
    if (clock.offset !== 0 && this.#random.chance(0.5)) clock.set(0)
    else clock.set(clock.offset + off)
    this.#ledger.note(`the store's clock is set ${clock.offset} ms off`)
  }

  #beginOutage(now: number): void {
    this.#outageUntil = now + this.#random.below(OUTAGE_MS_MAX)
    this.#store.trouble = () => errorOf(this.#random)
    this.#ledger.note('outage begins')
  }

  #endOutage(now: number): void {
    this.#outageUntil = 0
    this.#outageOverAt = now
    this.#store.trouble = undefined
    this.#ledger.note('outage ends')
  }

  #failOver(now: number, chance: number): void {
    if (this.#random.chance(chance)) {
      this.#ledger.note('fail-over')
      this.#store.failOver?.()
    } else if (now - this.#copiedAt > BEHIND_MS_MAX) {
      this.#copiedAt = now
      this.#store.copy?.()
    }
  }
}

/** Errors after which the effect of a call is unknown. pawl knows only some of them. */
function errorOf(random: SeededRandom): Error {
  return random.pick([
    new PawlError('STORE_URL_INVALID', 'role "app" is not permitted to log in'),
    new PawlError('STORE_READ_ONLY', 'permission denied for table live'),
    new PawlError('STORE_UNSUITABLE', 'a segment is missing'),
    new Error('function pawl.commit_turns(…) does not exist'),
    new TypeError('cannot read properties of undefined'),
  ])
}
