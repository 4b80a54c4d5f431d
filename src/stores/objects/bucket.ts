// What the store needs of object storage: whole objects, conditional creation, and lists in order of the keys.
// Everything must be strongly consistent: what was written is read and listed at once, by everybody.
//
// A method that throws has said nothing: a write may have happened, or may still happen.
import type { Instant } from '../../core/base/instant.ts'

export interface Bucket {
  /** How people know it. */
  readonly name: string

  /** The storage's own clock, as well as it can be known here. */
  now(): Instant

  /** Creates an object where there is none. `exists` is certain, and says that this call has not created it. */
  create(key: string, body: string): Promise<'created' | 'exists'>

  /** Writes an object, whatever was there. */
  put(key: string, body: string): Promise<void>

  /** The object's text, or only these bytes of it (`to` is the first that is left out); `undefined` if there is none. */
  get(key: string, range?: ByteRange): Promise<string | undefined>

  /** Objects whose keys begin with `prefix`, in the order of their keys' bytes, behind the key `after`. */
  list(prefix: string, page?: ListPage): Promise<readonly Listing[]>

  /** Deletes what is there of these. */
  delete(keys: readonly string[]): Promise<void>

  close(): Promise<void>
}

export interface ByteRange {
  readonly from: number
  readonly to: number
}

export interface ListPage {
  readonly after?: string
  /** At most this many; 1,000 when absent. */
  readonly limit?: number
}

export interface Listing {
  readonly key: string
  readonly bytes: number
  readonly modifiedAt: Instant
}
