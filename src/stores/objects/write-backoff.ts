// When a writer lets others write. Whoever creates object n is the first to know that n + 1 is next: the others have to
// read n before they can try. So a process that always has something to write would win every number, and nobody who
// loses can tell it so. Therefore a writer pauses after a number of wins in a row, for as long as a loser needs to read
// and to write. The number doubles while nobody uses the pause, and falls to its least when somebody does.
import { limits } from '../../core/base/limits.ts'
import type { Clock } from '../../core/runtime/clock.ts'
import type { Random } from '../../core/runtime/random.ts'

/** Requests whose time is remembered. */
const REMEMBERED = 8

/** How long a loser stands back, as shares of a chance: what is urgent gets ahead of it, and so does who lost more often. */
const BACK_MIN = 0.25
const BACK_SPREAD = 2

export class WriteBackoff {
  readonly #clock: Clock
  readonly #random: Random
  readonly #writes: number[] = []
  readonly #reads: number[] = []
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
    const writeMs = typical(this.#writes) ?? 0
    return Math.min(limits.objectPauseMsMax, writeMs + (typical(this.#reads) ?? writeMs))
  }

  /** How long to wait before the next write; 0 if not at all. */
  get pauseMs(): number {
    const until = this.#wins < this.#winsMax ? this.#backUntil : this.#wonAt + this.chanceMs
    return Math.max(0, until - this.#clock.monotonic())
  }

  wrote(ms: number): void {
    remember(this.#writes, ms)
  }

  read(ms: number): void {
    remember(this.#reads, ms)
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

function remember(times: number[], ms: number): void {
  times.push(ms)
  if (times.length > REMEMBERED) times.shift()
}

/** The median: the first request to a server may take a hundred times as long as the next, and says nothing. */
function typical(times: readonly number[]): number | undefined {
  return times.toSorted((a, b) => a - b)[(times.length - 1) >> 1]
}
