// The audit trail: who changed what, when and why. Entries are kept in the store, in pages that every process fills by
// itself, so that an entry costs one write. The pages are a ring: the oldest are overwritten.
import { limits } from '../core/base/limits.ts'
import type { Page, Records } from '../core/index.ts'
import type { Clock } from '../core/runtime/clock.ts'
import type { AuditEntry } from '../operations/outputs.ts'

interface StoredPage {
  /** The number of the page among all that were ever begun: a page that is overwritten has a higher one. */
  readonly number: number
  readonly entries: readonly StoredEntry[]
}

type StoredEntry = Omit<AuditEntry, 'at'> & { readonly at: number }

interface OpenPage {
  readonly key: string
  readonly number: number
  version: number
  readonly entries: StoredEntry[]
}

/** An entry whose change is in progress. */
export interface OpenEntry {
  /** Resolves when the entry is durable. */
  readonly written: Promise<void>
  /** Adds how the change ended. It is written with the next entry, or soon by itself. */
  end(outcome: string): void
}

const SPACE = 'audit'
const HEAD = 'head'

export class Audit {
  readonly #records: Records
  readonly #clock: Clock
  /** The page that takes entries. */
  #page: OpenPage | undefined
  /** Entries that are on no page yet. */
  readonly #waiting: StoredEntry[] = []
  readonly #pages = new WeakMap<StoredEntry, OpenPage>()
  /** Pages with something that is not written. */
  readonly #changed = new Set<OpenPage>()
  #writing: Promise<void> | undefined
  #next: Promise<void> | undefined

  constructor(records: Records, clock: Clock) {
    this.#records = records
    this.#clock = clock
  }

  add(given: Omit<AuditEntry, 'at' | 'outcome'>): OpenEntry {
    const entry: { -readonly [K in keyof StoredEntry]: StoredEntry[K] } = { at: this.#clock.now(), ...given }
    this.#waiting.push(entry)
    const end = (outcome: string): void => {
      entry.outcome = outcome
      const page = this.#pages.get(entry)
      if (page) this.#changed.add(page)
      this.flush().catch(() => {})
    }
    return { written: this.flush(), end }
  }

  /** Resolves when everything that was added until now is durable. While one write is in progress, the next collects. */
  flush(): Promise<void> {
    if (this.#writing === undefined) {
      this.#writing = this.#write().finally(() => {
        this.#writing = undefined
      })
      return this.#writing
    }
    this.#next ??= this.#writing
      .catch(() => {})
      .then(() => {
        this.#next = undefined
        return this.flush()
      })
    return this.#next
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const page = await this.#openPage()
      for (const entry of this.#waiting.splice(0, limits.auditPageEntries - page.entries.length)) {
        page.entries.push(entry)
        this.#pages.set(entry, page)
      }
      this.#changed.add(page)
      if (this.#changed.size > 1) await this.#writeChanged()
    }
    await this.#writeChanged()
  }

  async #writeChanged(): Promise<void> {
    for (const page of this.#changed) {
      this.#changed.delete(page)
      try {
        await this.#writePage(page)
      } catch (error) {
        // The next write tries again.
        this.#changed.add(page)
        throw error
      }
    }
  }

  async #writePage(page: OpenPage): Promise<void> {
    const { number, entries, key, version } = page
    const value: StoredPage = { number, entries }
    if (await this.#records.put(SPACE, key, version, value)) {
      page.version++
      return
    }
    // The ring has come round, and another process uses the place: these entries are older than all it keeps.
    if (this.#page === page) this.#page = undefined
  }

  async #openPage(): Promise<OpenPage> {
    if (this.#page && this.#page.entries.length < limits.auditPageEntries) return this.#page
    const number = await this.#records.change<number>(SPACE, HEAD, (head = 0) => head + 1)
    const key = keyOf(number)
    const there = await this.#records.get<StoredPage>(SPACE, key)
    this.#page = { key, number, version: there?.version ?? 0, entries: [] }
    return this.#page
  }

  /** Entries, newest pages first. */
  async list(given: { readonly limit?: number; readonly cursor?: string }): Promise<Page<AuditEntry>> {
    const { limit = limits.listPageDefault, cursor } = given
    const newest = (await this.#records.get<number>(SPACE, HEAD))?.value ?? 0
    const [first, skipped] = placeOf(cursor, newest)
    const oldest = Math.max(1, newest - limits.auditPagesKept + 1)
    const items: AuditEntry[] = []
    let skip = skipped
    for (let number = first; number >= oldest; number--) {
      const page = (await this.#records.get<StoredPage>(SPACE, keyOf(number)))?.value
      const entries = page?.number === number ? page.entries.toReversed() : []
      const room = entries.slice(skip, skip + limit - items.length)
      items.push(...room.map(({ at, ...entry }) => ({ at: new Date(at), ...entry })))
      if (items.length === limit) return { items, cursor: `${number}-${skip + room.length}` }
      skip = 0
    }
    return { items }
  }
}

function keyOf(number: number): string {
  return `page/${number % limits.auditPagesKept}`
}

function placeOf(cursor: string | undefined, newest: number): readonly [page: number, skip: number] {
  const [, page, skip] = /^(\d{1,15})-(\d{1,4})$/.exec(cursor ?? '') ?? []
  return page === undefined ? [newest, 0] : [Math.min(Number(page), newest), Number(skip)]
}
