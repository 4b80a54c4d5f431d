// When a writer lets others write. Whoever creates object n is the first to know that n + 1 is next: the others have to
// read n before they can try. So a process that always has something to write would win every number, and nobody who
// loses can tell it so. Therefore a writer pauses after a number of wins in a row, for as long as a loser needs to read
// and to write. The number doubles while nobody uses the pause, and falls to its least when somebody does.
import { limits } from '../../kernel/limits.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Random } from '../../runtime/random.ts'

/** How much the newest measurement counts. */
const NEWEST = 0.25

/** How long a loser stands back, as shares of a chance: what is urgent gets ahead of it, and so does who lost more often. */
const BACK_MIN = 0.25
const BACK_SPREAD = 2

export class Pacing {
  readonly #clock: Clock
  readonly #random: Random
  #writeMs: number | undefined
  #readMs: number | undefined
  /** Wins since others last had a chance, and after how many the next pause is. */
  #wins = 0
  #winsMax: number = limits.objectWinsMax
  #wonAt = Number.NEGATIVE_INFINITY
  #losses = 0
  /** Until when this writer stands back, because it has lost and others have waited longer. */
  #backUntil = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, random: Random) {
    this.#clock = clock
    this.#random = random
  }

  /** What a loser needs before its next write arrives: to read what it lost to, and to write. */
  get chanceMs(): number {
    const writeMs = this.#writeMs ?? 0
    return writeMs + (this.#readMs ?? writeMs)
  }

  /** How long to wait before the next write; 0 if not at all. */
  get pauseMs(): number {
    const until = this.#wins < this.#winsMax ? this.#backUntil : this.#wonAt + this.chanceMs
    return Math.max(0, until - this.#clock.monotonic())
  }

  wrote(ms: number): void {
    this.#writeMs = smoothed(this.#writeMs, ms)
  }

  read(ms: number): void {
    this.#readMs = smoothed(this.#readMs, ms)
  }

  /** An object was created here. `sentAt` is when its first request was sent. */
  won(sentAt: number): void {
    if (sentAt - this.#wonAt >= this.chanceMs) {
      // Others had their chance before it and did not take it.
      if (this.#wins > 0) this.#winsMax = Math.min(this.#winsMax * 2, limits.objectWinsMax)
      this.#wins = 0
    }
    this.#wins++
    this.#losses = 0
    this.#wonAt = this.#clock.monotonic()
  }

  /** Others wrote while this process had something to write. */
  met(): void {
    this.#wins = 0
    this.#winsMax = limits.objectWinsMin
  }

  /** Somebody else created the number that was tried here. All who lost would try the next one at the same moment. */
  lost(): void {
    this.met()
    this.#losses++
    const share = BACK_MIN + (BACK_SPREAD * this.#random.fraction()) / this.#losses
    this.#backUntil = this.#clock.monotonic() + this.chanceMs * share
  }
}

function smoothed(before: number | undefined, ms: number): number {
  return before === undefined ? ms : before + (ms - before) * NEWEST
}
