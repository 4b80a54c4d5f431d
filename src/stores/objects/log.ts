// Reads the log: objects of known numbers, or whatever others have added behind a position.
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import type { Bucket } from './bucket.ts'
import { decodeEntry, type LogEntry } from './format.ts'
import type { Freshness } from './freshness.ts'
import { LOG, logKey, numberIn } from './layout.ts'
import type { WriteBackoff } from './write-backoff.ts'

const READS_AT_ONCE = 32

/** So many objects are read, one after the other or a few at once, before a list tells how many there are. */
const READ_WITHOUT_LIST = 6

/** Objects of the log in the order of `numbers`, read ahead. */
export async function* readLog(
  bucket: Bucket,
  numbers: readonly number[],
): AsyncGenerator<{ n: number; body: string | undefined }> {
  for (let from = 0; from < numbers.length; from += READS_AT_ONCE) {
    const some = numbers.slice(from, from + READS_AT_ONCE)
    const bodies = await Promise.all(some.map((n) => bucket.get(logKey(n))))
    for (const [index, n] of some.entries()) yield { n, body: bodies[index] }
  }
}

/** The numbers behind `position`, up to `last`. */
export function numbersUpTo(position: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - position) }, (_, index) => position + 1 + index)
}

export function damaged(missing: string): PawlError {
  return new PawlError(
    'STORE_UNSUITABLE',
    `${missing} is missing although later objects are there. Run \`pawl doctor\`, and restore it from a backup or a version of the bucket.`,
  )
}

/** What a follower follows for. */
export interface FollowerOptions {
  readonly bucket: Bucket
  readonly freshness: Freshness
  readonly backoff: WriteBackoff
  readonly position: () => number
  readonly refresh: () => Promise<void>
  readonly apply: (entry: LogEntry) => void
}

export class Follower {
  readonly #of: FollowerOptions

  constructor(of: FollowerOptions) {
    this.#of = of
  }

  /**
   * Reads all that was durable when this was called, and no more than it takes to know that: the log may grow faster
   * than it can be read. It looks `ahead` objects ahead at first, and asks for a list if there are many.
   */
  async follow(ahead: number): Promise<void> {
    const { freshness, backoff, refresh } = this.#of
    for (let width = ahead, read = 0; read < READ_WITHOUT_LIST; ) {
      if (!freshness.holds) await refresh()
      const asked = freshness.moment()
      const bodies = await this.#next(width)
      // An answer that took too long to come may be about a number that was swept away and used once more.
      if (!freshness.holds) continue
      backoff.read(freshness.moment().monotonic - asked.monotonic)
      for (const body of bodies) this.#apply(body)
      if (bodies.length < width) return freshness.renew(asked)
      read += width
      width = read === 1 ? 1 : width * 2
    }
    await this.#followList()
  }

  // The objects behind this position, as far as they are there, at most so many.
  async #next(count: number): Promise<string[]> {
    const { bucket, position } = this.#of
    const found: string[] = []
    for await (const { body } of readLog(bucket, numbersUpTo(position(), position() + count))) {
      if (body === undefined) break
      found.push(body)
    }
    return found
  }

  // The goal is fixed before reading.
  async #followList(): Promise<void> {
    const { bucket, freshness, refresh, position } = this.#of
    for (;;) {
      if (!freshness.holds) await refresh()
      const asked = freshness.moment()
      const page = await bucket.list(LOG, { after: logKey(position()) })
      const goal = numberIn(page.at(-1)?.key ?? logKey(position()))
      for await (const { n, body } of readLog(bucket, numbersUpTo(position(), goal))) {
        if (!freshness.holds) break
        if (body === undefined) throw damaged(logKey(n))
        this.#apply(body)
      }
      if (!freshness.holds || page.length === limits.objectListPage) continue
      return freshness.renew(asked)
    }
  }

  #apply(body: string): void {
    const { apply, position } = this.#of
    apply(decodeEntry(logKey(position() + 1), body))
  }
}
