// When a writer waits so that other processes can write. The process that creates object n is the first to know that
// n + 1 is next, because the others must read n before they can try. So a process that always has something to write
// would win every number, and the losers cannot tell it. Therefore a writer pauses after several wins in a row, for as
// long as a loser needs to read and write. The allowed wins double while no process uses the pause, and fall to the
// minimum when one does.
import { limits } from '../../core/base/limits.ts'
import type { Clock } from '../../core/runtime/clock.ts'
import type { Random } from '../../core/runtime/random.ts'

/** The number of request durations that are remembered. */
const REMEMBERED = 8

/**
 * How long a loser waits, as a share of `chanceMs`: at least BACK_MIN, so that urgent writes go first, and a random
 * part of BACK_SPREAD that shrinks with each loss, so that a process that lost more often goes first.
 */
const BACK_MIN = 0.25
const BACK_SPREAD = 2

export class WriteBackoff {
  readonly #clock: Clock
  readonly #random: Random
  readonly #writes: number[] = []
  readonly #reads: number[] = []
  /** Wins since the last pause long enough for others, and the number of wins that triggers the next pause. */
  #wins = 0
  #winsMax: number = limits.objectWinsMax
  #wonAt = Number.NEGATIVE_INFINITY
  #losses = 0
  /** After a loss, this process does not write before this time. */
  #backUntil = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, random: Random) {
    this.#clock = clock
    this.#random = random
  }

  /** The time a loser needs until its next write arrives: reading the object it lost to, and writing. */
  get chanceMs(): number {
    const writeMs = typical(this.#writes) ?? 0
    return Math.min(limits.objectPauseMsMax, writeMs + (typical(this.#reads) ?? writeMs))
  }

  /** How long to wait before the next write; 0 if it may begin now. */
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
      // The gap before this write was long enough for other processes, and none has used it.
      if (this.#wins > 0) this.#winsMax = Math.min(this.#winsMax * 2, limits.objectWinsMax)
      this.#wins = 0
    }
    this.#wins++
    this.#losses = 0
    this.#wonAt = this.#clock.monotonic()
  }

  /** Called when this process had something to write and read another process's object. */
  met(): void {
    this.#wins = 0
    this.#winsMax = limits.objectWinsMin
  }

  /** Another process created this number. Waits at random, because all losers would try the next number at once. */
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
