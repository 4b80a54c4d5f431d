// What a run is found by: flat, typed values, and lists of texts, under names.

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

/** A value that runs can be found by. */
export type AttributeScalar = string | number | boolean | Date
/** A run with a list is found by each of its texts. */
export type AttributeValue = AttributeScalar | readonly string[]
/** What runs are found by. */
export type Attributes = Readonly<Record<string, AttributeValue>>
/** Attributes to set, and with null to remove. */
export type AttributesChange = Readonly<Record<string, AttributeValue | null>>

/** Whether it can be attributes by its shape: entries of a Map would be lost without a word. */
export function isNamed(given: unknown): given is object {
  return Object.prototype.toString.call(given) === '[object Object]'
}

/** As they are stored, of a run that is to be started. */
export function storedAttributes(attributes: Attributes): StoredAttributes {
  const stored = storedChanges(attributes)
  const removed = Object.keys(stored).find((name) => stored[name] === null)
  if (removed === undefined) return stored as StoredAttributes
  const message = `attribute '${removed}' is null, but a run that starts has none to remove. Leave it out.`
  throw new PawlError('INPUT_INVALID', message)
}

/** As they are stored, of a run that has some: null removes one. */
export function storedChanges(attributes: AttributesChange): AttributeChanges {
  if (!isNamed(attributes)) {
    const message = "attributes are an object with a value for each name, as in { region: 'eu' }."
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
  const message = `${count} attributes are too many; a run has at most ${limits.attributesMax}. Remove some with null, or keep what it is not found by in the memo.`
  throw new PawlError('INPUT_INVALID', message)
}

function storedAttribute(name: string, value: unknown): StoredAttribute {
  return Array.isArray(value) ? storedList(name, value) : storedScalar(name, value)
}

export function storedScalar(name: string, value: unknown): StoredScalar {
  if (value instanceof Date && Number.isFinite(value.getTime())) return { at: value.getTime() }
  if (typeof value === 'boolean') return value
  // SQL has no negative zero, and JSON neither.
  if (typeof value === 'number' && Number.isFinite(value)) return Object.is(value, -0) ? 0 : value
  if (typeof value === 'string') return checkedText(name, value)
  const what = value === undefined ? 'undefined' : 'of another type'
  const message = `attribute '${name}' is ${what}. Give a string, a finite number, a boolean, a valid Date or a list of strings; null removes one. Attributes are flat; keep the rest in the memo.`
  throw new PawlError('INPUT_INVALID', message)
}

function checkedText(name: string, text: string): string {
  if (Buffer.byteLength(text) <= limits.attributeBytesMax && isSound(text)) return text
  const message = `attribute '${name}' has a text that is longer than ${limits.attributeBytesMax} bytes, or not well formed. Keep long texts in the memo.`
  throw new PawlError('INPUT_INVALID', message)
}

// A run has a text or has it not: each is kept once, where it came first.
function storedList(name: string, list: readonly unknown[]): readonly string[] {
  const texts = [...new Set(list)].map((text) => {
    if (typeof text === 'string') return checkedText(name, text)
    const message = `attribute '${name}' is a list of something else than strings. Write numbers and others as text.`
    throw new PawlError('INPUT_INVALID', message)
  })
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  if (texts.length <= limits.attributeItemsMax && bytes <= limits.attributeListBytesMax)
    return texts
  const message = `attribute '${name}' is a list of ${texts.length} texts with ${bytes} bytes; at most ${limits.attributeItemsMax} texts and ${limits.attributeListBytesMax} bytes are possible. Keep long lists in the memo.`
  throw new PawlError('INPUT_INVALID', message)
}

function isSound(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

export function attributesFrom(stored: StoredAttributes): Attributes {
  return Object.fromEntries(
    Object.entries(stored).map(([name, value]) => [name, attributeFrom(value)]),
  )
}

/** A change, as its caller gave it. */
export function changesFrom(stored: AttributeChanges): AttributesChange {
  return Object.fromEntries(
    Object.entries(stored).map(([name, value]) => [
      name,
      value === null ? null : attributeFrom(value),
    ]),
  )
}

function attributeFrom(value: StoredAttribute): AttributeValue {
  if (typeof value !== 'object' || isList(value)) return value
  return new Date(value.at)
}
