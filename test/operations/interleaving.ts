// Orders the store calls of several processes by a seed. A call waits twice: before the store carries it out, and before
// its caller gets the answer. Which of the waiting calls goes on next is drawn, so every order can come up.
import type { Clock } from '../../src/core/runtime/clock.ts'
import type { SeededRandom } from '../../src/testing/seeded-random.ts'
import type { SimulatedProcess } from '../../src/testing/simulated-process.ts'

interface Waiting {
  readonly process: string
  readonly since: number
  readonly go: () => void
}

/** No call waits longer, so that no worker loses its lease because an answer is missing. */
const waitMsMax = 100

export class Interleaving {
  readonly #clock: Clock
  readonly #random: SeededRandom
  readonly #weights = new Map<string, number>()
  #waiting: Waiting[] = []
  #calm = false
  /** Hears that a call waits. */
  onWait: () => void = () => {}

  constructor(clock: Clock, random: SeededRandom) {
    this.#clock = clock
    this.#random = random
  }

  get size(): number {
    return this.#waiting.length
  }

  /** When the call that waits longest must go on. */
  get deadline(): number | undefined {
    const [oldest] = this.#waiting
    return oldest && oldest.since + waitMsMax
  }

  /** Around a store call of this process. */
  async around<T>(process: SimulatedProcess, call: () => Promise<T>): Promise<T> {
    await this.#wait(process.name)
    try {
      return await call()
    } finally {
      await this.#wait(process.name)
    }
  }

  /** Lets one of the waiting calls go on: the one that has waited longest if it must, else any. */
  release(): void {
    const next = (this.deadline ?? Infinity) <= this.#clock.now() ? this.#waiting[0] : this.#draw()
    this.#waiting = this.#waiting.filter((each) => each !== next)
    next?.go()
  }

  #draw(): Waiting | undefined {
    const total = this.#waiting.reduce((sum, each) => sum + this.#weightOf(each), 0)
    let left = this.#random.fraction() * total
    const chosen = this.#waiting.find((each) => (left -= this.#weightOf(each)) < 0)
    return chosen ?? this.#waiting.at(-1)
  }

  /** From now on no call waits. */
  calm(): void {
    this.#calm = true
    for (const { go } of this.#waiting.splice(0)) go()
  }

  #wait(process: string): Promise<void> {
    if (this.#calm) return Promise.resolve()
    return new Promise((go) => {
      this.#waiting.push({ process, since: this.#clock.now(), go })
      this.onWait()
    })
  }

  // Some processes are much slower than others: an order in which one stands still while another does a lot would
  // hardly ever come up if all were alike.
  #weightOf({ process }: Waiting): number {
    const known = this.#weights.get(process)
    if (known !== undefined) return known
    const weight = this.#random.pick([1, 1, 8, 40])
    this.#weights.set(process, weight)
    return weight
  }
}
