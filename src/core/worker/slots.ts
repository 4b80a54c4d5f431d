// Bounds how many step bodies run at once in this process. Who finds no free slot waits in line.

export class Slots {
  readonly limit: number
  #taken = 0
  readonly #line: (() => void)[] = []

  constructor(limit: number) {
    this.limit = limit
  }

  get free(): number {
    return Math.max(0, this.limit - this.#taken - this.#line.length)
  }

  get busy(): number {
    return this.#taken + this.#line.length
  }

  /** Calls `begin` as soon as there is room; what it returns is waited for before the slot is free again. */
  run(begin: () => Promise<void>): void {
    if (this.#taken >= this.limit) this.#line.push(() => this.#start(begin))
    else this.#start(begin)
  }

  #start(begin: () => Promise<void>): void {
    this.#taken++
    void begin().finally(() => {
      this.#taken--
      this.#line.shift()?.()
    })
  }
}
