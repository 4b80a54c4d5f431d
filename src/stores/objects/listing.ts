// Lists of any length, page by page.
import { limits } from '../../core/base/limits.ts'
import type { Bucket, Listing } from './bucket.ts'

/** Yields the pages of all objects whose keys begin with `prefix` and come after the key `after`. */
export async function* pages(bucket: Bucket, prefix: string, after?: string): AsyncGenerator<readonly Listing[]> {
  for (let last = after; ; ) {
    const page = await bucket.list(prefix, last === undefined ? {} : { after: last })
    if (page.length > 0) yield page
    if (page.length < limits.objectListPage) return
    last = page.at(-1)?.key
  }
}

export async function listAll(bucket: Bucket, prefix: string): Promise<Listing[]> {
  const found: Listing[] = []
  for await (const page of pages(bucket, prefix)) found.push(...page)
  return found
}
