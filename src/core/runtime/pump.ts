// The one loop behind everything that collects work and does it in batches: group commit, the transactions of SQLite,
// and the log of an object store. While one batch is in progress the next collects, so an idle system adds no delay and
// a busy one pays for a durable write once per batch.

export interface PumpParts {
  /** True while something waits. */
  readonly hasWork: () => boolean
  /** Does the next batch. Must not throw. */
  readonly step: () => Promise<void>
}

export class Pump {
  readonly #parts: PumpParts
  #isRunning = false
  /** Called when nothing waits any more. */
  #onIdle: (() => void)[] = []

  constructor(parts: PumpParts) {
    this.#parts = parts
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    if (this.#isRunning) await new Promise<void>((resolve) => this.#onIdle.push(resolve))
  }

  /** Something waits. The first batch begins after everything else that this moment adds. */
  start(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    queueMicrotask(() => process.nextTick(() => void this.#run()))
  }

  async #run(): Promise<void> {
    const { hasWork, step } = this.#parts
    while (hasWork()) await step()
    this.#isRunning = false
    for (const resolve of this.#onIdle.splice(0)) resolve()
  }
}

export interface BatchBounds<Item> {
  readonly elements: number
  readonly bytes?: number
  readonly bytesOf?: (item: Item) => number
}

/** How many items at the front make one batch: at least one, and within the bounds. */
export function batchOf<Item>(
  items: Iterable<Item>,
  { elements, bytes: most = Number.POSITIVE_INFINITY, bytesOf = () => 0 }: BatchBounds<Item>,
): number {
  let count = 0
  let bytes = 0
  for (const item of items) {
    bytes += bytesOf(item)
    if (count === elements || (count > 0 && bytes > most)) break
    count++
  }
  return count
}
