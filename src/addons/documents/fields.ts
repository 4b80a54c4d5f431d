// The fields of one object of a document: taken one by one, each under its own name or an older one, and what nobody took is
// told of. What was taken is kept under its own name: that is the object as it is stored.
import type { Json } from '../../core/base/value.ts'
import { quote } from '../../core/base/visible.ts'
import { kindOf, type Path, type Problems } from './problems.ts'

export type JsonObject = { readonly [key: string]: Json }

export interface Field {
  readonly value: Json
  /** As it was written, so that it is found. */
  readonly path: Path
}

/** Adds a problem unless it is an object. */
export function objectAt(value: Json, path: Path, problems: Problems): JsonObject | undefined {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as JsonObject
  }
  problems.add(path, 'WRONG_TYPE', `expected an object, and got ${kindOf(value)}`)
  return undefined
}

/** The fields an object may have. */
export interface Names {
  readonly all: readonly string[]
  /** What others call them. */
  readonly meant: Readonly<Record<string, string>>
  /** Those that are read under a name that is not known, too: without them, more would seem to be wrong. */
  readonly needed: readonly string[]
}

export class Fields {
  readonly path: Path
  readonly kept: Record<string, Json> = {}
  readonly problems: Problems
  readonly #source: JsonObject
  readonly #taken = new Set<string>()
  /** Fields that are there under a name that is not known. */
  readonly #misspelt = new Map<string, string>()

  constructor(source: JsonObject, path: Path, problems: Problems, names?: Names) {
    this.#source = source
    this.path = path
    this.problems = problems
    if (names) this.#findMisspelt(names)
  }

  #findMisspelt({ all, meant, needed }: Names): void {
    for (const key of Object.keys(this.#source)) {
      if (all.includes(key)) continue
      const name = Object.hasOwn(meant, key) ? meant[key] : this.problems.nearest(key, all)
      if (name !== undefined && needed.includes(name) && !this.has(name))
        this.#misspelt.set(name, key)
    }
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
      const message = `it means the same as \`${name}\`, which is there, too: leave one of them out`
      this.problems.add(path, 'CONFLICTING_FIELDS', message)
    }
    const value = this.#source[written] ?? null
    this.kept[name] = value
    return { value, path }
  }

  #written(name: string, alias = name): string | undefined {
    if (this.isWritten(alias)) return alias
    return this.isWritten(name) ? name : (this.#misspelt.get(name) ?? this.#misspelt.get(alias))
  }

  /** Takes it if it is of this type. */
  typed<Type extends keyof Types>(name: string, type: Type): Types[Type] | undefined {
    const field = this.take(name)
    if (field === undefined) return undefined
    const { value, path } = field
    if (type === 'list' ? Array.isArray(value) : typeof value === type) return value as Types[Type]
    const expected = names[type]
    this.problems.add(path, 'WRONG_TYPE', `expected ${expected}, and got ${kindOf(value)}`)
    return undefined
  }

  /** Takes it if the check, which throws a PawlError, has nothing against it. */
  checked<Value>(name: string, check: (value: Json) => Value, alias?: string): Value | undefined {
    const field = this.take(name, alias)
    if (field === undefined) return undefined
    return this.problems.attempt(field.path, 'INVALID_VALUE', () => check(field.value))
  }

  missing(name: string, todo: string): void {
    this.problems.add(this.path, 'MISSING_FIELD', `\`${name}\` is missing: ${todo}`)
  }

  /** Tells of what was not taken. `advise` may know what was meant; an empty text says nothing. */
  finish(advise: (name: string) => string | undefined = () => undefined): void {
    for (const name of Object.keys(this.#source)) {
      if (this.#taken.has(name)) continue
      const todo = advise(name) ?? this.#advice(name)
      if (todo === '') continue
      this.problems.add([...this.path, name], 'UNKNOWN_FIELD', todo)
    }
  }

  #advice(name: string): string {
    const near = this.problems.didYouMean(name, this.#taken)
    const known = [...this.#taken].join(', ')
    return `the field ${quote(name)} is not known here${near === '' ? `; known are ${known}` : near}`
  }
}

interface Types {
  readonly string: string
  readonly boolean: boolean
  readonly list: readonly Json[]
}

const names = { string: 'text', boolean: 'true or false', list: 'a list' } as const
