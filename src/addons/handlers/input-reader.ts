// Reads the input of a handler. A graph document can supply any input, so types and names are checked at run time.
import {
  checkOptions,
  type Described,
  type Description,
  kindOf,
  type Option,
  option,
} from '../../core/base/described.ts'
import { PawlError, type PermanentError } from '../../core/base/errors.ts'
import { permanentError } from './errors.ts'

export type PlainObject = Readonly<Record<string, unknown>>

/** An option that takes a non-empty string. */
export function nonEmptyText(about: string): Option<string> {
  return option(about, 'a non-empty string', (value) => typeof value === 'string' && value !== '')
}

/** Typed access to the fields of one object after a check against its description. An undefined field is absent. */
export class InputReader<D extends Description> {
  readonly what: string
  readonly #given: PlainObject

  constructor(what: string, given: unknown, description: D) {
    this.what = what
    try {
      checkOptions(description, given, { of: what, noun: 'field', isHidden: true })
    } catch (error) {
      if (!(error instanceof PawlError)) throw error
      throw permanentError('INPUT_INVALID', error.message)
    }
    this.#given = given as PlainObject
  }

  /** Reads own properties only. */
  get<K extends keyof Described<D> & string>(name: K): Described<D>[K] {
    return (Object.hasOwn(this.#given, name) ? this.#given[name] : undefined) as Described<D>[K]
  }

  has(name: keyof Described<D> & string): boolean {
    return this.get(name) !== undefined
  }

  invalid(name: keyof Described<D> & string, expected: string): PermanentError {
    return invalidField(`'${name}' of ${this.what}`, this.get(name), expected)
  }
}

export function invalidField(what: string, given: unknown, expected: string): PermanentError {
  return permanentError('INPUT_INVALID', `${what} is ${kindOf(given)}; expected ${expected}.`)
}
