// What the store requires of object storage: whole objects, conditional creation, and lists in the order of the keys.
// The storage must be strongly consistent: every client reads and lists a written object at once.
//
// After a method throws, its effect is unknown: a write may have happened, or may still happen.

import type { Instant } from '../../core/base/time.ts'

export interface Bucket {
  /** Names the bucket in errors and in the output of `pawl doctor`. */
  readonly name: string

  /** The time by the storage's own clock, as closely as this process knows it. */
  now(): Instant

  /** Creates an object if the key is free. `exists` is certain: this call has not created the object. */
  create(key: string, body: string): Promise<'created' | 'exists'>

  /** Writes an object, and replaces an existing one. */
  put(key: string, body: string): Promise<void>

  /** Returns the object's text, or only the bytes of `range`; `undefined` if there is no such object. */
  get(key: string, range?: ByteRange): Promise<string | undefined>

  /**
   * Lists the objects whose keys begin with `prefix` and come after the key `after`, in the order of the keys' bytes.
   */
  list(prefix: string, page?: ListPage): Promise<readonly Listing[]>

  /** Deletes these objects; missing ones are ignored. */
  delete(keys: readonly string[]): Promise<void>

  close(): Promise<void>
}

export interface ByteRange {
  readonly from: number
  /** The first byte behind the range. */
  readonly to: number
}

export interface ListPage {
  readonly after?: string
  /** The maximum number of objects; default 1,000. */
  readonly limit?: number
}

export interface Listing {
  readonly key: string
  readonly bytes: number
  readonly modifiedAt: Instant
}

/** Calls `work` for each item, at most `atOnce` at the same time. */
export async function forEach<T>(items: Iterable<T>, atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const left = items[Symbol.iterator]()
  const lane = async (): Promise<void> => {
    for (let next = left.next(); !next.done; next = left.next()) await work(next.value)
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
}
