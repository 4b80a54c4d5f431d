// What waits for a replica: wishes to be judged and written, and readers who want to know what others wrote.
import { limits } from '../../core/base/limits.ts'
import type { Judged, Wish } from './wish.ts'

export interface Settle<Out> {
  readonly resolve: (out: Out) => void
  readonly reject: (error: unknown) => void
}

export interface Pending extends Settle<never> {
  readonly wish: Wish<unknown>
}

export class WriteQueue {
  /** Those that cannot wait go first. */
  #urgent: Pending[] = []
  #wishes: Pending[] = []
  #readers: Settle<void>[] = []
  /** Called when somebody comes who should not wait for a pause to end. */
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

  /** As many wishes as one object may carry. */
  take(): Pending[] {
    const all = [...this.#urgent, ...this.#wishes]
    let bytes = 0
    let count = 0
    for (const { wish } of all) {
      bytes += wish.bytes ?? 0
      if (count === limits.objectWishes || (count > 0 && bytes > limits.objectBytes)) break
      count++
    }
    const left = all.slice(count)
    this.#urgent = left.filter(({ wish }) => wish.urgent)
    this.#wishes = left.filter(({ wish }) => !wish.urgent)
    return all.slice(0, count)
  }

  /** What was taken is to be tried again, before all that came later. */
  putBack(batch: readonly Pending[]): void {
    this.#urgent.unshift(...batch.filter(({ wish }) => wish.urgent))
    this.#wishes.unshift(...batch.filter(({ wish }) => !wish.urgent))
  }

  /** Answers the readers who wait now when `look` has seen the end of the log, or could not. */
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

  /** As `serve`, if the attempt succeeds: whoever has added an object to the log has seen its end. Else they go on waiting. */
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

/** Tells each of a batch what came of it. */
export function answer(batch: readonly Pending[], outs: readonly Judged[]): void {
  for (const [index, { resolve, reject }] of batch.entries()) {
    const out = outs[index]
    if (out && 'value' in out) resolve(out.value as never)
    else reject(out?.error)
  }
}
