// Runs counted by what they have in common.
import type { GroupBy, RunGroup } from './reading.ts'
import { type RunRow, reasonOf, statusOf } from './rules/row.ts'
import { compareKeys } from './values.ts'

export class Groups {
  readonly #by: GroupBy
  readonly #groups = new Map<string, RunGroup>()

  constructor(by: GroupBy, rows: Iterable<RunRow> = []) {
    this.#by = by
    for (const row of rows) this.addRow(row)
  }

  addRow(row: RunRow): void {
    const { name, queue, createdAt: oldest } = row.head
    const key = { name, queue, status: statusOf(row), reason: reasonOf(row), pin: row.pin }[this.#by]
    if (key !== undefined) this.add({ key, count: 1, oldest })
  }

  add({ key, count, oldest }: RunGroup): void {
    const known = this.#groups.get(key)
    const sum = known ? { count: known.count + count, oldest: Math.min(known.oldest, oldest) } : { count, oldest }
    this.#groups.set(key, { key, ...sum })
  }

  /** The largest first; of two with the same number, the one whose key comes first. */
  largest(most: number): RunGroup[] {
    return [...this.#groups.values()].sort((a, b) => b.count - a.count || compareKeys(a.key, b.key)).slice(0, most)
  }
}
