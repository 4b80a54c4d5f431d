// Reads the input of a handler. It may come from a graph that is data, so nothing of it is believed: not its types, and
// not that every name is one that the handler knows.
import {
  checkOptions,
  type Described,
  type Description,
  kindOf,
  type Option,
  option,
} from '../../core/base/described.ts'
import { PawlError, type PermanentError } from '../../core/base/errors.ts'
import { refused } from './refusals.ts'

export type Plain = Readonly<Record<string, unknown>>

/** A text that is not empty. */
export function filled(about: string): Option<string> {
  return option(about, 'a text', (value) => typeof value === 'string' && value !== '')
}

/** The fields of one object, each as its description says. Those that are undefined are not there. */
export class Fields<D extends Description> {
  readonly what: string
  readonly #given: Plain

  constructor(what: string, given: unknown, description: D) {
    this.what = what
    try {
      checkOptions(description, given, { of: what, noun: 'field', isHidden: true })
    } catch (error) {
      if (!(error instanceof PawlError)) throw error
      throw refused('INPUT_INVALID', error.message)
    }
    this.#given = given as Plain
  }

  /** Own properties only: nothing is inherited from anywhere. */
  get<K extends keyof Described<D> & string>(name: K): Described<D>[K] {
    return (Object.hasOwn(this.#given, name) ? this.#given[name] : undefined) as Described<D>[K]
  }

  has(name: keyof Described<D> & string): boolean {
    return this.get(name) !== undefined
  }

  wrong(name: keyof Described<D> & string, expected: string): PermanentError {
    return wrong(`'${name}' of ${this.what}`, this.get(name), expected)
  }
}

export function wrong(what: string, given: unknown, expected: string): PermanentError {
  return refused('INPUT_INVALID', `${what} is ${kindOf(given)}; expected ${expected}.`)
}
