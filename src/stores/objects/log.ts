// Reads the log: objects of known numbers, or those that other processes have added after a position.
import type { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import type { Bucket } from './bucket.ts'
import { damagedObject } from './errors.ts'
import { decodeEntry, type LogEntry } from './format.ts'
import type { Freshness } from './freshness.ts'
import { LOG, logKey, numberIn } from './layout.ts'
import type { WriteBackoff } from './write-backoff.ts'

const READS_AT_ONCE = 32

/** After reading this many objects without reaching the end of the log, the follower lists the log instead. */
const READ_WITHOUT_LIST = 6

/** Yields objects of the log in the order of `numbers`, reading ahead. */
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

/** The numbers after `position`, up to `last`. */
export function numbersUpTo(position: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - position) }, (_, index) => position + 1 + index)
}

export function damaged(missing: string): PawlError {
  return damagedObject(missing, 'is missing, but later objects exist')
}

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
   * Reads every object that was durable at the time of the call. It reads no further than needed to know that it has,
   * because the log may grow faster than this process reads. It begins with `ahead` objects at a time, and lists the
   * log if there are many.
   */
  async follow(ahead: number): Promise<void> {
    const { freshness, backoff, refresh } = this.#of
    for (let width = ahead, read = 0; read < READ_WITHOUT_LIST; ) {
      if (!freshness.holds) await refresh()
      const asked = freshness.moment()
      const bodies = await this.#next(width)
      // The answer took so long that a sweep may have deleted this number, and another process used it again.
      if (!freshness.holds) continue
      backoff.read(freshness.moment().monotonic - asked.monotonic)
      for (const body of bodies) this.#apply(body)
      if (bodies.length < width) return freshness.renew(asked)
      read += width
      width = read === 1 ? 1 : width * 2
    }
    await this.#followList()
  }

  // Returns up to `count` objects after the position, and stops at the first missing one.
  async #next(count: number): Promise<string[]> {
    const { bucket, position } = this.#of
    const found: string[] = []
    for await (const { body } of readLog(bucket, numbersUpTo(position(), position() + count))) {
      if (body === undefined) break
      found.push(body)
    }
    return found
  }

  // Reads up to the end of one list. The goal is fixed first, so that a growing log cannot keep this going for ever.
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
