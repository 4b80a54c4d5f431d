// The calls that wait for a replica: writes, and reads that need the end of the log first.

import { limits } from '../../core/base/limits.ts'
import type { Transaction } from '../../core/stores/driver.ts'
import { batchOf } from '../../core/stores/driver.ts'
import type { ArchiveProposal } from './segment.ts'

export interface Settle<Out> {
  readonly resolve: (out: Out) => void
  readonly reject: (error: unknown) => void
}

export interface Pending extends Settle<never> {
  readonly write: PendingWrite<unknown>
}

export class WriteQueue {
  /** Writes that go before all others. */
  #urgent: Pending[] = []
  #writes: Pending[] = []
  #readers: Settle<void>[] = []
  /** Called when a read or an urgent write arrives, because neither waits for a pause of the writer. */
  onHurry: () => void = () => {}

  get isEmpty(): boolean {
    return !this.hasWrites && this.#readers.length === 0
  }

  get hasWrites(): boolean {
    return this.#urgent.length + this.#writes.length > 0
  }

  get hasReaders(): boolean {
    return this.#readers.length > 0
  }

  get isUrgent(): boolean {
    return this.#urgent.length > 0
  }

  add(pending: Pending): void {
    if (!pending.write.urgent) {
      this.#writes.push(pending)
      return
    }
    this.#urgent.push(pending)
    this.onHurry()
  }

  addReader(reader: Settle<void>): void {
    this.#readers.push(reader)
    this.onHurry()
  }

  /** Removes and returns as many writes as fit into one object, the urgent ones first. */
  take(): Pending[] {
    const all = [...this.#urgent, ...this.#writes]
    const count = batchOf(all, {
      elements: limits.objectWritesMax,
      bytes: limits.objectBytes,
      bytesOf: ({ write }) => write.bytes ?? 0,
    })
    const remaining = all.slice(count)
    this.#urgent = remaining.filter(({ write }) => write.urgent)
    this.#writes = remaining.filter(({ write }) => !write.urgent)
    return all.slice(0, count)
  }

  /** Returns a batch to the front of the queue, to be tried again. */
  putBack(batch: readonly Pending[]): void {
    this.#urgent.unshift(...batch.filter(({ write }) => write.urgent))
    this.#writes.unshift(...batch.filter(({ write }) => !write.urgent))
  }

  /** Calls `read`, which reads to the end of the log, and settles the readers that were waiting with its outcome. */
  async serve(read: () => Promise<void>): Promise<void> {
    const readers = this.#readers.splice(0)
    try {
      await read()
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
export function answer(batch: readonly Pending[], outs: readonly Applied[]): void {
  for (const [index, { resolve, reject }] of batch.entries()) {
    const out = outs[index]
    if (out && 'value' in out) resolve(out.value as never)
    else reject(out?.error)
  }
}

/** A write that waits for the replica. It is applied to the newest state, again whenever another process wrote first. */
export interface PendingWrite<Out> {
  readonly apply: (tx: Transaction) => Out
  /** Runs and workflow ids that must be loaded first, even if they ended long ago. */
  readonly runIds?: readonly string[]
  readonly workflowIds?: readonly string[]
  /** True if this answer would be wrong had another process written meanwhile. */
  readonly mayBeStale?: (out: Out) => boolean
  readonly bytes?: number
  /** Goes before all others, and never pauses for other processes. */
  readonly urgent?: true
  /** Written in the same object, if it still fits the archive. */
  readonly archive?: ArchiveProposal
}

/** The answer or error of a write that was applied. */
export type Applied = { readonly value: unknown } | { readonly error: unknown }

export function applyTo(write: PendingWrite<unknown>, tx: Transaction): Applied {
  try {
    return { value: write.apply(tx) }
  } catch (error) {
    return { error }
  }
}

export function isStale(write: PendingWrite<unknown>, out: Applied | undefined): boolean {
  return out !== undefined && 'value' in out && write.mayBeStale?.(out.value) === true
}
