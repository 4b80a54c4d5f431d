// Reads the input of a handler. It may come from a graph that is data, so nothing of it is believed: not its types, and
// not that every name is one that the handler knows.
import { type Duration, milliseconds } from '../kernel/duration.ts'
import { PawlError, type PermanentError } from '../kernel/errors.ts'
import { limits } from '../kernel/limits.ts'
import { refused } from './refusals.ts'

export type Plain = Readonly<Record<string, unknown>>

/** The properties of one object. Those that are undefined are not there. */
export class Fields {
  readonly what: string
  readonly #given: Plain

  constructor(what: string, given: unknown, known: readonly string[]) {
    this.what = what
    if (!isPlain(given)) throw wrong(what, given, `an object with ${known.join(', ')}`)
    this.#given = given
    const strange = Object.keys(given).filter((name) => !known.includes(name))
    if (strange.length === 0) return
    const message = `${what} has ${quoted(strange)}, which it does not know; it may have ${known.join(', ')}.`
    throw refused('INPUT_INVALID', message)
  }

  /** Own properties only: nothing is inherited from anywhere. */
  get(name: string): unknown {
    return Object.hasOwn(this.#given, name) ? this.#given[name] : undefined
  }

  has(name: string): boolean {
    return this.get(name) !== undefined
  }

  text(name: string): string {
    const value = this.get(name)
    if (typeof value === 'string' && value !== '') return value
    throw this.wrong(name, 'a text')
  }

  optionalText(name: string): string | undefined {
    return this.has(name) ? this.text(name) : undefined
  }

  optionalNumber(name: string, min: number, max: number): number | undefined {
    const value = this.get(name)
    if (value === undefined) return undefined
    if (typeof value === 'number' && value >= min && value <= max) return value
    throw this.wrong(name, `a number from ${min} to ${max}`)
  }

  optionalCount(name: string, max: number): number | undefined {
    const value = this.optionalNumber(name, 1, max)
    if (value === undefined || Number.isInteger(value)) return value
    throw this.wrong(name, `a whole number from 1 to ${max}`)
  }

  optionalList(name: string): readonly unknown[] | undefined {
    const value = this.get(name)
    if (value === undefined || Array.isArray(value)) return value
    throw this.wrong(name, 'a list')
  }

  optionalPlain(name: string): Plain | undefined {
    const value = this.get(name)
    if (value === undefined || isPlain(value)) return value
    throw this.wrong(name, 'an object')
  }

  optionalTimeoutMs(name: string): number | undefined {
    const value = this.get(name)
    if (value === undefined) return undefined
    const what = `'${name}' of ${this.what}`
    try {
      return timeoutMs(value as Duration, what)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      throw refused('INPUT_INVALID', message, {}, error)
    }
  }

  wrong(name: string, expected: string): PermanentError {
    return wrong(`'${name}' of ${this.what}`, this.get(name), expected)
  }
}

export function timeoutMs(duration: Duration, what: string): number {
  const ms = milliseconds(duration, what)
  if (ms > 0 && ms <= limits.handlerTimeoutMsMax) return ms
  const message = `${what} is ${ms} ms; expected more than 0 and at most ${limits.handlerTimeoutMsMax} ms.`
  throw new PawlError('INPUT_INVALID', message)
}

export function isPlain(value: unknown): value is Plain {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function wrong(what: string, given: unknown, expected: string): PermanentError {
  return refused('INPUT_INVALID', `${what} is ${kindOf(given)}; expected ${expected}.`)
}

// What it holds is not told: it may be a secret, or long.
function kindOf(value: unknown): string {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  if (value === '') return 'an empty text'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'an object'
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' ? 'a text' : `a ${typeof value}`
}

function quoted(names: readonly string[]): string {
  const shown = names.slice(0, limits.issuesToldMax).map((name) => `'${name.slice(0, 50)}'`)
  return shown.join(', ').toWellFormed()
}
