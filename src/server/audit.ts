// The audit trail: who changed what, when and why. Entries are kept in the store, in pages that every process fills by
// itself, so that an entry costs one write. The pages are a ring: the oldest are overwritten.
import { limits } from '../core/base/limits.ts'
import type { Page, Records } from '../core/index.ts'
import type { Clock } from '../core/runtime/clock.ts'
import { Pump } from '../core/runtime/pump.ts'
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

/** Which entries are listed. */
interface AuditQuery {
  readonly limit?: number
  readonly cursor?: string
  readonly by?: string
  /** The name of an operation; or, with a dot at its end, what the name begins with. */
  readonly operation?: string
  readonly target?: string
}

/** An entry whose change is in progress. */
export interface OpenEntry {
  /** Resolves when the entry is durable. */
  readonly written: Promise<void>
  /** Adds how the change ended. It is written with the next entry, or soon by itself. */
  end(outcome: string): void
}

type Draft = { -readonly [K in keyof StoredEntry]: StoredEntry[K] }

interface Waiting extends Omit<PromiseWithResolvers<void>, 'promise'> {
  readonly entry: Draft
}

const SPACE = 'audit'
const HEAD = 'head'

export class Audit {
  readonly #records: Records
  readonly #clock: Clock
  /** The page that takes entries. */
  #page: OpenPage | undefined
  /** Entries that are on no page yet. */
  readonly #waiting: Waiting[] = []
  readonly #pages = new WeakMap<Draft, OpenPage>()
  /** Pages with something that is not written. */
  readonly #changed = new Set<OpenPage>()
  /** Changed pages are to be written, although no entry waits. */
  #isDue = false
  #isPlanned = false
  readonly #pump: Pump

  constructor(records: Records, clock: Clock) {
    this.#records = records
    this.#clock = clock
    this.#pump = new Pump({ hasWork: () => this.#isDue || this.#waiting.length > 0, step: () => this.#step() })
  }

  add(given: Omit<AuditEntry, 'at' | 'outcome'>): OpenEntry {
    const entry: Draft = { at: this.#clock.now(), ...given }
    const { promise: written, resolve, reject } = Promise.withResolvers<void>()
    this.#waiting.push({ entry, resolve, reject })
    this.#pump.start()
    const end = (outcome: string): void => {
      entry.outcome = outcome
      const page = this.#pages.get(entry)
      if (page) this.#writeSoon(page)
    }
    return { written, end }
  }

  /** Resolves when everything that was added until now is durable. */
  async flush(): Promise<void> {
    this.#isDue = true
    this.#pump.start()
    await this.#pump.idle()
  }

  // An outcome of its own would cost a write for each change, so it waits for the next entry.
  #writeSoon(page: OpenPage): void {
    this.#changed.add(page)
    if (this.#isPlanned) return
    this.#isPlanned = true
    this.#clock.after(limits.auditDelayMs, () => {
      this.#isPlanned = false
      void this.flush()
    })
  }

  async #step(): Promise<void> {
    this.#isDue = false
    const batch = this.#waiting.splice(0)
    try {
      for (const { entry } of batch) {
        const page = await this.#openPage()
        page.entries.push(entry)
        this.#pages.set(entry, page)
        this.#changed.add(page)
      }
      await this.#writeChanged()
      for (const { resolve } of batch) resolve()
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
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
    const { number, entries, key } = page
    const value: StoredPage = { number, entries }
    for (;;) {
      if (await this.#records.put(SPACE, key, page.version, value)) {
        page.version++
        return
      }
      // A write whose answer was lost has raised the version.
      const there = await this.#records.get<StoredPage>(SPACE, key)
      if (there?.value.number !== number) break
      page.version = there.version
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

  /** Entries, newest pages first. With a filter a page may have fewer than `limit`, or none, and still a cursor. */
  async list({ limit = limits.listPageDefault, cursor, ...filter }: AuditQuery): Promise<Page<AuditEntry>> {
    await this.flush()
    const newest = (await this.#records.get<number>(SPACE, HEAD))?.value ?? 0
    const [first, skipped] = placeOf(cursor, newest)
    const oldest = Math.max(1, newest - limits.auditPagesKept + 1)
    const items: AuditEntry[] = []
    let skip = skipped
    for (let number = first; number >= oldest; number--) {
      if (first - number >= limits.auditPagesRead) return { items, cursor: `${number}-0` }
      const page = (await this.#records.get<StoredPage>(SPACE, keyOf(number)))?.value
      const entries = page?.number === number ? page.entries.toReversed() : []
      for (; skip < entries.length; skip++) {
        if (items.length === limit) return { items, cursor: `${number}-${skip}` }
        const entry = entries[skip]
        if (entry && fits(entry, filter)) items.push({ ...entry, at: new Date(entry.at) })
      }
      skip = 0
    }
    return { items }
  }
}

function fits(entry: StoredEntry, { by, operation, target }: AuditQuery): boolean {
  const isOf = (name: string): boolean =>
    name.endsWith('.') ? entry.operation.startsWith(name) : entry.operation === name
  if (by !== undefined && entry.by !== by) return false
  if (target !== undefined && entry.target !== target) return false
  return operation === undefined || isOf(operation)
}

function keyOf(number: number): string {
  return `page/${number % limits.auditPagesKept}`
}

function placeOf(cursor: string | undefined, newest: number): readonly [page: number, skip: number] {
  const [, page, skip] = /^(\d{1,15})-(\d{1,4})$/.exec(cursor ?? '') ?? []
  return page === undefined ? [newest, 0] : [Math.min(Number(page), newest), Number(skip)]
}
