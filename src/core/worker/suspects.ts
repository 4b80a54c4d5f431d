// When a worker tries suspects: runs whose last holder died. One of them may have killed it, so that as little as
// possible runs beside them; but a crash usually has nothing to do with any of them, and then all should continue soon.
//
// An idle worker takes a group of those that lost one holder. If it is alive a moment later, the next group may be
// twice as large, although the first is still held. Runs that lost two holders come one at a time, each for a moment;
// those that lost more stay alone until they have made progress. A busy worker takes nothing new for a while, to become
// idle; if it does not, it tries suspects beside everything else, and holds back again only much later.
import { limits } from '../base/limits.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Claimed } from '../stores/store.ts'

export class Suspects {
  readonly #clock: Clock
  readonly #isIdle: () => boolean
  /** Suspects wait to be tried. */
  #areWaiting = false
  #together: number = limits.suspectsTogether
  /** Groups that were tried since the last time none waited. */
  #tried = 0
  /** The worker was idle when it sent its last claim. */
  #wasIdle = false
  /** Everything this worker holds are suspects. */
  #isTrying = false
  #probationUntil = Number.NEGATIVE_INFINITY
  #holdingBackSince: number | undefined
  /** Until then suspects are tried beside other work. */
  #mixedUntil = Number.NEGATIVE_INFINITY
  #lockedUntil = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, isIdle: () => boolean) {
    this.#clock = clock
    this.#isIdle = isIdle
  }

  /** Suspects wait, or were started a moment ago: start nothing beside them. */
  get comeFirst(): boolean {
    return this.#areWaiting || this.#isOnProbation(this.#clock.monotonic())
  }

  /** Suspects wait, and a claim might bring them. */
  get mayBeTaken(): boolean {
    return this.#areWaiting && this.#clock.monotonic() >= this.#lockedUntil
  }

  /** Whether a claim must bring nothing now. */
  get holdsBack(): boolean {
    const now = this.#clock.monotonic()
    if (this.#isIdle()) return false
    if (this.#isOnProbation(now)) return true
    return this.#holdingBackSince !== undefined && now - this.#holdingBackSince <= limits.holdBackMsMax
  }

  /** How many suspects the next claim may bring: none if they would run beside other work. */
  take(): number {
    const now = this.#clock.monotonic()
    this.#wasIdle = this.#isIdle()
    if (this.#wasIdle) return this.#together
    if (!this.#areWaiting || this.holdsBack) return 0
    if (this.#holdingBackSince !== undefined) {
      // The worker did not become idle, and suspects must not wait for ever.
      this.#holdingBackSince = undefined
      this.#mixedUntil = now + limits.holdBackPauseMs
    }
    return this.#isTrying || now < this.#mixedUntil ? this.#together : 0
  }

  /** How long to wait for the next try. */
  get pauseMs(): number {
    const left = this.#probationUntil - this.#clock.monotonic()
    return left > 0 ? left : limits.probationMs
  }

  /** Learns from a claim that asked for so many suspects. Returns whether it brought any. */
  learn({ runs, suspects }: Claimed, asked: number): boolean {
    const now = this.#clock.monotonic()
    // Suspects wait, but none came: another worker has locked them.
    this.#lockedUntil = suspects && asked > 0 && runs.length === 0 ? now + limits.probationMs : now
    const lost = runs.reduce((most, { deliveries }) => Math.max(most, deliveries - 1), 0)
    if (lost > 0) this.#begin(lost, now)
    else if (runs.length > 0) this.#isTrying = false
    this.#areWaiting = suspects === true
    if (!this.#areWaiting) {
      this.#holdingBackSince = undefined
      if (lost === 0) {
        this.#tried = 0
        this.#together = limits.suspectsTogether
      }
    } else if (!this.#isTrying && !this.#isIdle() && now >= this.#mixedUntil) {
      this.#holdingBackSince ??= now
    }
    return lost > 0
  }

  // The group before this one did no harm, if there was one.
  #begin(lost: number, now: number): void {
    const { suspectsTogether, suspectsTogetherMax, soloDeaths } = limits
    this.#tried++
    this.#together = Math.min(suspectsTogether * 2 ** Math.min(this.#tried, 16), suspectsTogetherMax)
    this.#isTrying ||= this.#wasIdle
    this.#holdingBackSince = undefined
    const probationMs = lost >= soloDeaths ? limits.graveProbationMs : limits.probationMs
    this.#probationUntil = now + probationMs
  }

  #isOnProbation(now: number): boolean {
    return now < this.#probationUntil
  }
}
