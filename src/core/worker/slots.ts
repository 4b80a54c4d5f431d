// Bounds how many step bodies run at once in this process. Further ones wait in line.

export class Slots {
  readonly limit: number
  #taken = 0
  readonly #line: (() => Promise<void>)[] = []

  constructor(limit: number) {
    this.limit = limit
  }

  get free(): number {
    return Math.max(0, this.limit - this.#taken - this.#line.length)
  }

  get busy(): number {
    return this.#taken + this.#line.length
  }

  /** Calls `body` as soon as a slot is free. The slot is taken until the promise it returns is settled. */
  run(body: () => Promise<void>): void {
    if (this.#taken >= this.limit) this.#line.push(body)
    else void this.#run(body)
  }

  async #run(body: () => Promise<void>): Promise<void> {
    this.#taken++
    try {
      await body()
    } finally {
      this.#taken--
      const next = this.#line.shift()
      if (next) void this.#run(next)
    }
  }
}
