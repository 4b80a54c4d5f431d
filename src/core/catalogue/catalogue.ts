// The catalogue: definitions in the store, with all their versions, and the roll-out of builds. A version is written
// before the name points to it. If a process dies in between, the next submit of that name completes the write.
import { PawlError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import type { Json } from '../base/value.ts'
import { noRollOut, type RollOut } from '../policies/roll-out.ts'
import { type RecordPorts, Records } from './records.ts'

/** One version of a definition in the store. */
export interface StoredDefinition {
  readonly name: string
  /** From 1. */
  readonly version: number
  /** The hash of its structure: steps, kinds and order. */
  readonly definitionHash: string
  /** The hash of everything in it. */
  readonly contentHash: string
  /** In milliseconds since 1970. */
  readonly submittedAt: number
  /** The graph document. Absent for a definition in code, which only workers with that code can run. */
  readonly document?: Json
}

export type Draft = Omit<StoredDefinition, 'version' | 'submittedAt'>

/** The version that a name points to. */
interface Newest {
  readonly version: number
  /** True for a document, which any worker can run. */
  readonly runnable: boolean
}

const NAMES = 'definitions'
const VERSIONS = 'definition-versions'
const CHANGES = 'definition-changes'
const BUILDS = 'builds'
/** All that runs need to know of definitions and builds, in the order in which a copy is never incomplete. */
export const CATALOGUE_SPACES = [VERSIONS, NAMES, CHANGES, BUILDS] as const
export { VERSIONS as DEFINITIONS_SPACE }

/** The key in a space that has only one record. */
const ONLY = 'all'

export class Catalogue {
  /** Small shared values of the store, for what is kept beside definitions. */
  readonly records: Records
  readonly #now: () => number

  constructor(ports: RecordPorts, now: () => number) {
    this.records = new Records(ports)
    this.#now = now
  }

  /** Stores a definition as the next version, unless it equals the newest one. */
  async submit(draft: Draft): Promise<StoredDefinition> {
    for (;;) {
      const newest = await this.newest(draft.name)
      if (newest?.contentHash === draft.contentHash) return newest
      if (newest) refuseOtherKind(newest, draft)
      const version = (newest?.version ?? 0) + 1
      const stored: StoredDefinition = { ...draft, version, submittedAt: this.#now() }
      const key = versionKey(draft.name, version)
      const isOurs = await this.records.put(VERSIONS, key, 0, stored)
      await this.#point(draft.name, version)
      // If another process has written this version, compare with that one and try the next.
      if (isOurs) return stored
    }
  }

  async newest(name: string): Promise<StoredDefinition | undefined> {
    const newest = await this.records.get<Newest>(NAMES, name)
    return newest && this.version(name, newest.value.version)
  }

  async version(name: string, version: number): Promise<StoredDefinition | undefined> {
    return (await this.records.get<StoredDefinition>(VERSIONS, versionKey(name, version)))?.value
  }

  /** The newest version with this structure. */
  async withHash(name: string, hash: string): Promise<StoredDefinition | undefined> {
    const newest = await this.records.get<Newest>(NAMES, name)
    for (let version = newest?.value.version ?? 0; version > 0; version--) {
      const stored = await this.version(name, version)
      if (stored?.definitionHash === hash) return stored
    }
    return undefined
  }

  /** Every version of a definition, newest first. */
  async versions(name: string): Promise<StoredDefinition[]> {
    const found: StoredDefinition[] = []
    const newest = await this.records.get<Newest>(NAMES, name)
    for (let version = newest?.value.version ?? 0; version > 0; version--) {
      const stored = await this.version(name, version)
      if (stored) found.push(stored)
    }
    return found
  }

  /** The names of definitions that any worker can run. */
  async names(): Promise<string[]> {
    const names: string[] = []
    const limit = limits.recordsListedMax
    for (let after: string | undefined; ; ) {
      const page = await this.records.list<Newest>(NAMES, after, limit)
      names.push(...page.filter(([, newest]) => newest.runnable).map(([name]) => name))
      after = page.at(-1)?.[0]
      if (page.length < limit) return names
    }
  }

  /** True if any worker can run the newest version of a definition. */
  async isRunnable(name: string): Promise<boolean> {
    return (await this.records.get<Newest>(NAMES, name))?.value.runnable ?? false
  }

  /** What workers poll: the roll-out, and a number that changes whenever a name is added or changed. */
  async look(): Promise<{ readonly changes: number; readonly rollOut: RollOut }> {
    const [changes, builds] = await this.records.getAll<unknown>([
      [CHANGES, ONLY],
      [BUILDS, ONLY],
    ])
    const rollOut = (builds?.value as RollOut | undefined) ?? noRollOut
    return { changes: changes?.version ?? 0, rollOut }
  }

  async rollOut(): Promise<RollOut> {
    return (await this.records.get<RollOut>(BUILDS, ONLY))?.value ?? noRollOut
  }

  changeRollOut(change: (rollOut: RollOut) => RollOut): Promise<RollOut> {
    return this.records.change<RollOut>(BUILDS, ONLY, (there) => change(there ?? noRollOut))
  }

  async #point(name: string, version: number): Promise<void> {
    const stored = await this.version(name, version)
    if (!stored) return
    const there = await this.records.get<Newest>(NAMES, name)
    if ((there?.value.version ?? 0) >= version) return
    const newest: Newest = { version, runnable: stored.document !== undefined }
    await this.records.put(NAMES, name, there?.version ?? 0, newest)
    await this.records.change<number>(CHANGES, ONLY, (changes = 0) => changes + 1)
  }
}

// A name is claimed either by workers with its code or, for a document, by all workers, and runs of older versions keep
// theirs. So a name cannot change from one to the other.
function refuseOtherKind(newest: StoredDefinition, draft: Draft): void {
  const [was, is] = [newest, draft].map(({ document }) => (document === undefined ? 'code' : 'a document'))
  if (was === is) return
  const stored = `definition '${draft.name}' is ${was} in this store (version ${newest.version})`
  const message = `${stored}, but this one is ${is}. Give it another name.`
  throw new PawlError('DEFINITION_CONFLICT', message)
}

function versionKey(name: string, version: number): string {
  return `${name}/${version}`
}
