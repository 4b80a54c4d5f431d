// Reads the fields of one object in a document. Each field is taken by its name or an alias and stored under its name;
// `finish` reports the fields that were not taken.
import type { Json } from '../../core/base/value.ts'
import { quote } from '../../core/base/visible.ts'
import { kindOf, type Path, type Problems } from './problems.ts'

export type JsonObject = { readonly [key: string]: Json }

export interface Field {
  readonly value: Json
  /** With the name as written, so that the user finds it. */
  readonly path: Path
}

/** Returns the value if it is an object, else adds a problem. */
export function objectAt(value: Json, path: Path, problems: Problems): JsonObject | undefined {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as JsonObject
  }
  problems.add(path, 'WRONG_TYPE', `expected an object, got ${kindOf(value)}`)
  return undefined
}

/** The fields an object may have. */
export interface FieldNames {
  readonly all: readonly string[]
  /** Names from other systems, and the field that each of them means here. */
  readonly synonyms: Readonly<Record<string, string>>
  /** Fields that are also read under a misspelt name, because without them further problems would be reported. */
  readonly needed: readonly string[]
}

export class ObjectReader {
  readonly path: Path
  readonly stored: Record<string, Json> = {}
  readonly problems: Problems
  readonly #source: JsonObject
  readonly #synonyms: FieldNames['synonyms']
  readonly #taken = new Set<string>()
  /** Needed fields by their name, with the misspelt name in the document. */
  readonly #misspelt = new Map<string, string>()

  constructor(source: JsonObject, path: Path, problems: Problems, names?: FieldNames) {
    this.#source = source
    this.path = path
    this.problems = problems
    this.#synonyms = names?.synonyms ?? {}
    if (names) this.#findMisspelt(names)
  }

  #findMisspelt({ all, needed }: FieldNames): void {
    for (const key of Object.keys(this.#source)) {
      if (all.includes(key)) continue
      const name = this.#synonymOf(key) ?? this.problems.nearest(key, all)
      if (name !== undefined && needed.includes(name) && !this.has(name)) this.#misspelt.set(name, key)
    }
  }

  #synonymOf(key: string): string | undefined {
    return Object.hasOwn(this.#synonyms, key) ? this.#synonyms[key] : undefined
  }

  has(name: string): boolean {
    return this.isWritten(name) || this.#misspelt.has(name)
  }

  isWritten(name: string): boolean {
    return Object.hasOwn(this.#source, name)
  }

  take(name: string, alias?: string): Field | undefined {
    this.#taken.add(name)
    if (alias !== undefined) this.#taken.add(alias)
    const written = this.#written(name, alias)
    if (written === undefined) return undefined
    const path = [...this.path, written]
    if (written === alias && this.isWritten(name)) {
      const message = `it is an alias of \`${name}\`, which is also given: remove one of them`
      this.problems.add(path, 'CONFLICTING_FIELDS', message)
    }
    const value = this.#source[written] ?? null
    this.stored[name] = value
    return { value, path }
  }

  #written(name: string, alias = name): string | undefined {
    if (this.isWritten(alias)) return alias
    return this.isWritten(name) ? name : (this.#misspelt.get(name) ?? this.#misspelt.get(alias))
  }

  /** Takes a field of the given type; adds a problem if it has another. */
  typed<Type extends keyof Types>(name: string, type: Type): Types[Type] | undefined {
    const field = this.take(name)
    if (field === undefined) return undefined
    const { value, path } = field
    if (type === 'list' ? Array.isArray(value) : typeof value === type) return value as Types[Type]
    const expected = names[type]
    this.problems.add(path, 'WRONG_TYPE', `expected ${expected}, got ${kindOf(value)}`)
    return undefined
  }

  /** Takes a field that passes the check; a PawlError of the check becomes a problem. */
  checked<Value>(name: string, check: (value: Json) => Value, alias?: string): Value | undefined {
    const field = this.take(name, alias)
    if (field === undefined) return undefined
    return this.problems.attempt(field.path, 'INVALID_VALUE', () => check(field.value))
  }

  missing(name: string, todo: string): void {
    this.problems.add(this.path, 'MISSING_FIELD', `\`${name}\` is missing: ${todo}`)
  }

  /** Reports fields that were not taken. `advise` may explain one; an empty text suppresses the report. */
  finish(advise: (name: string) => string | undefined = () => undefined): void {
    for (const name of Object.keys(this.#source)) {
      if (this.#taken.has(name)) continue
      const todo = advise(name) ?? this.#advice(name)
      if (todo === '') continue
      this.problems.add([...this.path, name], 'UNKNOWN_FIELD', todo)
    }
  }

  #advice(name: string): string {
    const synonym = this.#synonymOf(name)
    if (synonym !== undefined) return `unknown field ${quote(name)}; did you mean \`${synonym}\`?`
    const near = this.problems.didYouMean(name, this.#taken)
    const known = [...this.#taken].join(', ')
    return `unknown field ${quote(name)}${near === '' ? `; expected one of ${known}` : near}`
  }
}

interface Types {
  readonly string: string
  readonly boolean: boolean
  readonly list: readonly Json[]
}

const names = { string: 'text', boolean: 'true or false', list: 'a list' } as const
