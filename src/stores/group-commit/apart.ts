// A row that another transaction has locked delays its own run, and none that travels in the same batch.
import { limits } from '../../core/base/limits.ts'
import { RowsLocked } from '../../core/stores/driver.ts'

interface ApartPorts<Each> {
  key(each: Each): string
  send(each: Each): Promise<void>
  /** Called for an element that could not be sent. */
  fail(each: Each, error: unknown): void
}

/** Sends elements whose rows were locked, each alone and in the order of its key, until the store takes them. */
export class Apart<Each> {
  readonly #ports: ApartPorts<Each>
  readonly #waiting = new Map<string, Each[]>()
  /** Keys whose elements are not being sent. */
  readonly #idle: string[] = []
  #senders = 0

  constructor(ports: ApartPorts<Each>) {
    this.#ports = ports
  }

  /** True if a new element of this key must wait behind others. */
  has(key: string): boolean {
    return this.#waiting.has(key)
  }

  add(each: Each): void {
    const key = this.#ports.key(each)
    const queue = this.#waiting.get(key)
    if (queue) {
      queue.push(each)
      return
    }
    this.#waiting.set(key, [each])
    this.#idle.push(key)
    if (this.#senders < limits.lockedAtOnce) void this.#sendAll()
  }

  async #sendAll(): Promise<void> {
    this.#senders++
    for (let key = this.#idle.shift(); key !== undefined; key = this.#idle.shift()) {
      const queue = this.#waiting.get(key) ?? []
      for (let each = queue.shift(); each !== undefined; each = queue.shift()) await this.#send(each)
      this.#waiting.delete(key)
    }
    this.#senders--
  }

  // The store waits a while at each try; after several, the caller is told.
  async #send(each: Each): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#ports.send(each)
      } catch (error) {
        if (!(error instanceof RowsLocked) || tries === limits.lockedTries) return this.#ports.fail(each, error)
      }
    }
  }
}
