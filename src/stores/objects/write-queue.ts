// The calls that wait for a replica: writes, and reads that need the end of the log first.
import { limits } from '../../core/base/limits.ts'
import { batchOf } from '../../core/stores/driver.ts'
import type { Judged, Wish } from './wish.ts'

export interface Settle<Out> {
  readonly resolve: (out: Out) => void
  readonly reject: (error: unknown) => void
}

export interface Pending extends Settle<never> {
  readonly wish: Wish<unknown>
}

export class WriteQueue {
  /** Writes that go before all others. */
  #urgent: Pending[] = []
  #wishes: Pending[] = []
  #readers: Settle<void>[] = []
  /** Called when a read or an urgent write arrives, because neither waits for a pause of the writer. */
  onHurry: () => void = () => {}

  get isEmpty(): boolean {
    return !this.hasWishes && this.#readers.length === 0
  }

  get hasWishes(): boolean {
    return this.#urgent.length + this.#wishes.length > 0
  }

  get hasReaders(): boolean {
    return this.#readers.length > 0
  }

  get isUrgent(): boolean {
    return this.#urgent.length > 0
  }

  wish(pending: Pending): void {
    if (!pending.wish.urgent) {
      this.#wishes.push(pending)
      return
    }
    this.#urgent.push(pending)
    this.onHurry()
  }

  reader(reader: Settle<void>): void {
    this.#readers.push(reader)
    this.onHurry()
  }

  /** Removes and returns as many writes as fit into one object, the urgent ones first. */
  take(): Pending[] {
    const all = [...this.#urgent, ...this.#wishes]
    const count = batchOf(all, {
      elements: limits.objectWritesMax,
      bytes: limits.objectBytes,
      bytesOf: ({ wish }) => wish.bytes ?? 0,
    })
    const left = all.slice(count)
    this.#urgent = left.filter(({ wish }) => wish.urgent)
    this.#wishes = left.filter(({ wish }) => !wish.urgent)
    return all.slice(0, count)
  }

  /** Returns a batch to the front of the queue, to be tried again. */
  putBack(batch: readonly Pending[]): void {
    this.#urgent.unshift(...batch.filter(({ wish }) => wish.urgent))
    this.#wishes.unshift(...batch.filter(({ wish }) => !wish.urgent))
  }

  /** Calls `look`, which reads to the end of the log, and settles the readers that were waiting with its outcome. */
  async serve(look: () => Promise<void>): Promise<void> {
    const readers = this.#readers.splice(0)
    try {
      await look()
      for (const { resolve } of readers) resolve()
    } catch (error) {
      for (const { reject } of readers) reject(error)
      throw error
    }
  }

  /**
   * Settles the waiting readers if the attempt adds an object to the log, because the writer has then seen its end.
   * Otherwise they keep waiting.
   */
  async serveIf(attempt: () => Promise<boolean>): Promise<boolean> {
    const readers = this.#readers.splice(0)
    let isSeen = false
    try {
      isSeen = await attempt()
      return isSeen
    } finally {
      if (isSeen) for (const { resolve } of readers) resolve()
      else this.#readers.unshift(...readers)
    }
  }
}

/** Settles each write of a batch with its outcome. */
export function answer(batch: readonly Pending[], outs: readonly Judged[]): void {
  for (const [index, { resolve, reject }] of batch.entries()) {
    const out = outs[index]
    if (out && 'value' in out) resolve(out.value as never)
    else reject(out?.error)
  }
}
