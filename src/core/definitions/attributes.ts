// Attributes: named values that runs can be searched by. A value is a scalar or a list of strings.

import { PawlError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { checkKnownName } from '../base/names.ts'
import {
  type AttributeChanges,
  isList,
  type StoredAttribute,
  type StoredAttributes,
  type StoredScalar,
} from '../kernel/attributes.ts'

/** A single value of an attribute. */
export type AttributeScalar = string | number | boolean | Date
/** The value of an attribute. A run with a list can be found by each of its strings. */
export type AttributeValue = AttributeScalar | readonly string[]
/** Named values that runs can be searched by: `{ customer: 'c-17', tags: ['new', 'eu'] }`. */
export type Attributes = Readonly<Record<string, AttributeValue>>
/** Attributes to set or, with null, to remove. */
export type AttributesChange = Readonly<Record<string, AttributeValue | null>>

/** True for plain objects. The entries of a Map, for example, would be lost silently. */
export function isNamed(given: unknown): given is object {
  return Object.prototype.toString.call(given) === '[object Object]'
}

/** The attributes of a new run, as stored. */
export function storedAttributes(attributes: Attributes): StoredAttributes {
  const stored = storedChanges(attributes)
  const removed = Object.keys(stored).find((name) => stored[name] === null)
  if (removed === undefined) return stored as StoredAttributes
  const message = `attribute '${removed}' is null, but a new run has no attribute to remove. Leave it out.`
  throw new PawlError('INPUT_INVALID', message)
}

/** A change of attributes, as stored: null removes one. */
export function storedChanges(attributes: AttributesChange): AttributeChanges {
  if (!isNamed(attributes)) {
    const message = "the attributes are not a plain object; expected values by name, as in { region: 'eu' }."
    throw new PawlError('INPUT_INVALID', message)
  }
  const entries = Object.entries(attributes)
  const set = entries.filter(([, value]) => value !== null)
  checkCount(set.length)
  return Object.fromEntries(
    entries.map(([given, value]) => {
      const name = checkKnownName(given, 'the name of an attribute')
      return [name, value === null ? null : storedAttribute(name, value)]
    }),
  )
}

export function checkCount(count: number): void {
  if (count <= limits.attributesMax) return
  const problem = `a run would have ${count} attributes; expected at most ${limits.attributesMax}`
  const todo = 'Remove some with null, or keep values that are not searched in the memo.'
  throw new PawlError('INPUT_INVALID', `${problem}. ${todo}`)
}

function storedAttribute(name: string, value: unknown): StoredAttribute {
  return Array.isArray(value) ? storedList(name, value) : storedScalar(name, value)
}

export function storedScalar(name: string, value: unknown): StoredScalar {
  if (value instanceof Date && Number.isFinite(value.getTime())) return { at: value.getTime() }
  if (typeof value === 'boolean') return value
  // Neither SQL nor JSON has a negative zero.
  if (typeof value === 'number' && Number.isFinite(value)) return Object.is(value, -0) ? 0 : value
  if (typeof value === 'string') return checkedText(name, value)
  const [what, todo] =
    value === undefined
      ? ['undefined', 'Leave it out; to remove an attribute, use null.']
      : ['of another type', 'Keep other values in the memo.']
  const expected = 'a string, a finite number, a boolean, a valid Date or a list of strings'
  throw new PawlError('INPUT_INVALID', `attribute '${name}' is ${what}; expected ${expected}. ${todo}`)
}

function checkedText(name: string, text: string): string {
  if (Buffer.byteLength(text) <= limits.attributeBytesMax && isSound(text)) return text
  const problem = isSound(text)
    ? `has a string of ${Buffer.byteLength(text)} bytes; expected at most ${limits.attributeBytesMax}`
    : 'has a string with a NUL or a lone surrogate; expected well-formed text'
  throw new PawlError('INPUT_INVALID', `attribute '${name}' ${problem}. Keep it in the memo instead.`)
}

// Lists are sets: a repeated string is kept once, at its first place.
function storedList(name: string, list: readonly unknown[]): readonly string[] {
  const texts = [...new Set(list)].map((text) => {
    if (typeof text === 'string') return checkedText(name, text)
    const message = `attribute '${name}' is a list with a value that is not a string. Convert each value to a string.`
    throw new PawlError('INPUT_INVALID', message)
  })
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  if (texts.length <= limits.attributeItemsMax && bytes <= limits.attributeListBytesMax) return texts
  const problem = `attribute '${name}' is a list of ${texts.length} strings with ${bytes} bytes`
  const expected = `at most ${limits.attributeItemsMax} strings and ${limits.attributeListBytesMax} bytes`
  const message = `${problem}; expected ${expected}. Keep long lists in the memo.`
  throw new PawlError('INPUT_INVALID', message)
}

function isSound(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

export function attributesFrom(stored: StoredAttributes): Attributes {
  return Object.fromEntries(Object.entries(stored).map(([name, value]) => [name, attributeFrom(value)]))
}

/** A stored change of attributes, as the caller gave it. */
export function changesFrom(stored: AttributeChanges): AttributesChange {
  return Object.fromEntries(
    Object.entries(stored).map(([name, value]) => [name, value === null ? null : attributeFrom(value)]),
  )
}

function attributeFrom(value: StoredAttribute): AttributeValue {
  if (typeof value !== 'object' || isList(value)) return value
  return new Date(value.at)
}
