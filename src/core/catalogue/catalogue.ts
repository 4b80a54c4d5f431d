// Definitions that are kept in the store, each with all versions it had; and what was said about builds. A version is
// written before the name points to it, so whoever finds one that the name does not point to yet sees to that.
import { PawlError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import type { Json } from '../base/value.ts'
import { noRollOut, type RollOut } from '../policies/roll-out.ts'
import { type RecordPorts, Records } from './records.ts'

/** One version of a definition. */
export interface StoredDefinition {
  readonly name: string
  readonly version: number
  /** Of its structure. */
  readonly definitionHash: string
  /** Of all that is in it. */
  readonly contentHash: string
  readonly submittedAt: number
  /** Absent if it is code: then only those run it who have it. */
  readonly document?: Json
}

export type Draft = Omit<StoredDefinition, 'version' | 'submittedAt'>

/** What a name stands for now. */
interface Newest {
  readonly version: number
  /** Whether any worker can run it. */
  readonly runnable: boolean
}

const NAMES = 'definitions'
const VERSIONS = 'definition-versions'
const CHANGES = 'definition-changes'
const BUILDS = 'builds'
/** The one record of a space that has one. */
const ONLY = 'all'

export class Catalogue {
  readonly #records: Records
  readonly #now: () => number

  constructor(ports: RecordPorts, now: () => number) {
    this.#records = new Records(ports)
    this.#now = now
  }

  /** Keeps a definition, unless it is what the name stands for already. */
  async submit(draft: Draft): Promise<StoredDefinition> {
    for (;;) {
      const newest = await this.newest(draft.name)
      if (newest?.contentHash === draft.contentHash) return newest
      if (newest) refuseOtherKind(newest, draft)
      const version = (newest?.version ?? 0) + 1
      const stored: StoredDefinition = { ...draft, version, submittedAt: this.#now() }
      const key = versionKey(draft.name, version)
      const isOurs = await this.#records.put(VERSIONS, key, 0, stored)
      await this.#point(draft.name, version)
      // If somebody else has written this version, it is theirs, and ours is the next or the same.
      if (isOurs) return stored
    }
  }

  async newest(name: string): Promise<StoredDefinition | undefined> {
    const newest = await this.#records.get<Newest>(NAMES, name)
    return newest && this.version(name, newest.value.version)
  }

  async version(name: string, version: number): Promise<StoredDefinition | undefined> {
    return (await this.#records.get<StoredDefinition>(VERSIONS, versionKey(name, version)))?.value
  }

  /** The newest version with this structure. */
  async withHash(name: string, hash: string): Promise<StoredDefinition | undefined> {
    const newest = await this.#records.get<Newest>(NAMES, name)
    for (let version = newest?.value.version ?? 0; version > 0; version--) {
      const stored = await this.version(name, version)
      if (stored?.definitionHash === hash) return stored
    }
    return undefined
  }

  /** Every version of a definition, newest first. */
  async versions(name: string): Promise<StoredDefinition[]> {
    const found: StoredDefinition[] = []
    const newest = await this.#records.get<Newest>(NAMES, name)
    for (let version = newest?.value.version ?? 0; version > 0; version--) {
      const stored = await this.version(name, version)
      if (stored) found.push(stored)
    }
    return found
  }

  /** Names of definitions that any worker can run. */
  async names(): Promise<string[]> {
    const names: string[] = []
    const limit = limits.recordsListedMax
    for (let after: string | undefined; ; ) {
      const page = await this.#records.list<Newest>(NAMES, after, limit)
      names.push(...page.filter(([, newest]) => newest.runnable).map(([name]) => name))
      after = page.at(-1)?.[0]
      if (page.length < limit) return names
    }
  }

  /** Whether any worker can run the newest version of a definition. */
  async isRunnable(name: string): Promise<boolean> {
    return (await this.#records.get<Newest>(NAMES, name))?.value.runnable ?? false
  }

  /** What a worker looks for now and then; `changes` is another number whenever a name has come or changed. */
  async look(): Promise<{ readonly changes: number; readonly rollOut: RollOut }> {
    const [changes, builds] = await this.#records.getAll<unknown>([
      [CHANGES, ONLY],
      [BUILDS, ONLY],
    ])
    const rollOut = (builds?.value as RollOut | undefined) ?? noRollOut
    return { changes: changes?.version ?? 0, rollOut }
  }

  async rollOut(): Promise<RollOut> {
    return (await this.#records.get<RollOut>(BUILDS, ONLY))?.value ?? noRollOut
  }

  changeRollOut(change: (rollOut: RollOut) => RollOut): Promise<RollOut> {
    return this.#records.change<RollOut>(BUILDS, ONLY, (there) => change(there ?? noRollOut))
  }

  async #point(name: string, version: number): Promise<void> {
    const stored = await this.version(name, version)
    if (!stored) return
    const there = await this.#records.get<Newest>(NAMES, name)
    if ((there?.value.version ?? 0) >= version) return
    const newest: Newest = { version, runnable: stored.document !== undefined }
    await this.#records.put(NAMES, name, there?.version ?? 0, newest)
    await this.#records.change<number>(CHANGES, ONLY, (changes = 0) => changes + 1)
  }
}

// Runs of older versions go by them: who can run those is asked for them under this name.
function refuseOtherKind(newest: StoredDefinition, draft: Draft): void {
  const [was, is] = [newest, draft].map(({ document }) =>
    document === undefined ? 'code' : 'data',
  )
  if (was === is) return
  throw new PawlError(
    'DEFINITION_CONFLICT',
    `definition '${draft.name}' is ${was} in this store (version ${newest.version}), and this one is ${is}. Runs would not know what they go by: give it another name.`,
  )
}

function versionKey(name: string, version: number): string {
  return `${name}/${version}`
}
