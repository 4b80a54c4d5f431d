// When a worker tries runs whose last holder died. One of them may have killed it, so they are tried with as little
// beside them as possible; but a crash usually has nothing to do with any of them, and then all should go on soon.
//
// Idle, a worker takes a group of those that lost one holder. If it lives a moment later, the next group may be twice as
// large, although the first is still held. Runs that lost two holders come one at a time, each for a moment; those that
// lost more stay alone until they have come to something. A busy worker takes nothing new for a while, to become idle; if
// it does not, it tries suspects beside everything else, and holds back again only much later.
import { limits } from '../base/limits.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Claimed } from '../stores/store.ts'

export class Suspects {
  readonly #clock: Clock
  readonly #isIdle: () => boolean
  /** Some wait to be tried. */
  wait = false
  #together: number = limits.suspectsTogether
  /** Groups that were tried since none waited. */
  #tried = 0
  /** The last claim was sent by an idle worker; all that is held are suspects. */
  #askedIdle = false
  #isTrying = false
  #probationUntil = Number.NEGATIVE_INFINITY
  #quietSince: number | undefined
  #restlessUntil = Number.NEGATIVE_INFINITY
  #lockedUntil = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, isIdle: () => boolean) {
    this.#clock = clock
    this.#isIdle = isIdle
  }

  /** Suspects wait, or were begun a moment ago: nothing is to be begun beside them. */
  get isQuiet(): boolean {
    return this.wait || this.#isOnProbation(this.#clock.monotonic())
  }

  /** Some wait, and might be given to whoever asks. */
  get mayBeTaken(): boolean {
    return this.wait && this.#clock.monotonic() >= this.#lockedUntil
  }

  /** Whether a claim may take nothing now. */
  get holdsBack(): boolean {
    const now = this.#clock.monotonic()
    if (this.#isIdle()) return false
    if (this.#isOnProbation(now)) return true
    return this.#quietSince !== undefined && now - this.#quietSince <= limits.quietMsMax
  }

  /** How many a claim that is about to be sent may take: none, if it would begin them beside other work. */
  take(): number {
    const now = this.#clock.monotonic()
    this.#askedIdle = this.#isIdle()
    if (this.#askedIdle) return this.#together
    if (!this.wait || this.holdsBack) return 0
    if (this.#quietSince !== undefined) {
      // It did not become idle. Nothing waits for ever.
      this.#quietSince = undefined
      this.#restlessUntil = now + limits.restlessMs
    }
    return this.#isTrying || now < this.#restlessUntil ? this.#together : 0
  }

  /** How long to wait for the next try. */
  get pauseMs(): number {
    const left = this.#probationUntil - this.#clock.monotonic()
    return left > 0 ? left : limits.probationMs
  }

  /** Takes note of what a claim that asked for so many brought, and says whether there were any. */
  learn({ runs, suspects }: Claimed, asked: number): boolean {
    const now = this.#clock.monotonic()
    // They are there, and could not be taken: somebody has locked them.
    this.#lockedUntil = suspects && asked > 0 && runs.length === 0 ? now + limits.probationMs : now
    const lost = runs.reduce((most, { deliveries }) => Math.max(most, deliveries - 1), 0)
    if (lost > 0) this.#begin(lost, now)
    else if (runs.length > 0) this.#isTrying = false
    this.wait = suspects === true
    if (!this.wait) {
      this.#quietSince = undefined
      if (lost === 0) {
        this.#tried = 0
        this.#together = limits.suspectsTogether
      }
    } else if (!this.#isTrying && !this.#isIdle() && now >= this.#restlessUntil) {
      this.#quietSince ??= now
    }
    return lost > 0
  }

  // The group before did no harm, if there was one.
  #begin(lost: number, now: number): void {
    const { suspectsTogether, suspectsTogetherMax, graveDeaths } = limits
    this.#tried++
    this.#together = Math.min(
      suspectsTogether * 2 ** Math.min(this.#tried, 16),
      suspectsTogetherMax,
    )
    this.#isTrying ||= this.#askedIdle
    this.#quietSince = undefined
    const probationMs = lost >= graveDeaths ? limits.graveProbationMs : limits.probationMs
    this.#probationUntil = now + probationMs
  }

  #isOnProbation(now: number): boolean {
    return now < this.#probationUntil
  }
}
