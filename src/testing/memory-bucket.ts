// SIMULATOR of object storage, in memory, without a network.
import type { Instant } from '../core/base/time.ts'
import type { Clock } from '../core/runtime/clock.ts'
import { compareKeys } from '../core/stores/values.ts'
import type { Bucket, ByteRange, Listing, ListPage } from '../stores/objects/bucket.ts'

interface StoredObject {
  readonly body: Buffer
  readonly modifiedAt: Instant
}

/** The objects. Several `MemoryBucket`s may share them, as several processes share one bucket. */
export class MemoryObjects {
  readonly #objects = new Map<string, StoredObject>()
  readonly #clock: Clock
  /** Called for each new object. */
  onNew: (key: string, body: string) => void = () => {}
  /** The keys in order; computed again after an object was added or removed. */
  #sorted: string[] | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  read(key: string): StoredObject | undefined {
    return this.#objects.get(key)
  }

  write(key: string, body: string | Buffer): void {
    const isNew = !this.#objects.has(key)
    this.#objects.set(key, { body: Buffer.from(body), modifiedAt: this.#clock.now() })
    if (!isNew) return
    this.#sorted = undefined
    this.onNew(key, String(body))
  }

  remove(key: string): void {
    if (this.#objects.delete(key)) this.#sorted = undefined
  }

  list(prefix: string, { after = '', limit = 1_000 }: ListPage = {}): Listing[] {
    this.#sorted ??= [...this.#objects.keys()].sort(compareKeys)
    const found: Listing[] = []
    for (const key of this.#sorted) {
      if (!key.startsWith(prefix) || compareKeys(key, after) <= 0) continue
      const { body, modifiedAt } = this.#objects.get(key) as StoredObject
      found.push({ key, bytes: body.length, modifiedAt })
      if (found.length === limit) break
    }
    return found
  }
}

/** One process's view of the objects. */
export class MemoryBucket implements Bucket {
  readonly name = 'simulated bucket'
  readonly #space: MemoryObjects
  readonly #clock: Clock

  constructor(space: MemoryObjects, clock: Clock) {
    this.#space = space
    this.#clock = clock
  }

  now(): Instant {
    return this.#clock.now()
  }

  async create(key: string, body: string): Promise<'created' | 'exists'> {
    if (this.#space.read(key)) return 'exists'
    this.#space.write(key, body)
    return 'created'
  }

  async put(key: string, body: string): Promise<void> {
    this.#space.write(key, body)
  }

  async get(key: string, range?: ByteRange): Promise<string | undefined> {
    const object = this.#space.read(key)
    const part = range ? object?.body.subarray(range.from, range.to) : object?.body
    return part?.toString('utf8')
  }

  async list(prefix: string, page?: ListPage): Promise<readonly Listing[]> {
    return this.#space.list(prefix, page)
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#space.remove(key)
  }

  async close(): Promise<void> {}
}
