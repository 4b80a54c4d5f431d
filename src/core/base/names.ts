// Checks of names and ids. Both end up in stores, URLs, logs and terminals, so neither may contain what one of those
// refuses (NUL in Postgres, lone surrogates in UTF-8) or obeys (control characters). Marks of the writing direction
// belong to some languages: they are allowed, and printed as escapes. Also: how messages name a place in a value, and
// the class of an object.

import { PawlError } from './assert.ts'
import { limits } from './limits.ts'
import { visibleJson } from './visible.ts'

/** Names of definitions, queues and builds. */
export function checkName(value: unknown, what: string): string {
  return check(value, what, limits.nameLengthMax, C1_END)
}

/** Workflow ids, idempotency keys, and ids of schedules and workers. */
export function checkId(value: unknown, what: string): string {
  return check(value, what, limits.idLengthMax, C1_END)
}

/**
 * Names that a store or a history may have from an earlier release, which allowed C1 control characters: names of
 * signals and steps, which every replay checks again, and names that are searched for.
 */
export function checkKnownName(value: unknown, what: string): string {
  return check(value, what, limits.nameLengthMax, DEL)
}

/** Ids that a store may have from an earlier release, and ids of messages. */
export function checkKnownId(value: unknown, what: string): string {
  return check(value, what, limits.idLengthMax, DEL)
}

export function checkRecordKey(value: unknown, what: string): string {
  return check(value, what, limits.recordKeyLengthMax, DEL)
}

/** True if the text is a UUID in canonical form: 36 characters, lower case. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(text)
}

const DEL = 0x7f
const C1_END = 0x9f

/** A place in a value, shortened: `the result of step 'charge' at items[3].owner`. */
export function placeOf(what: string, path: readonly (string | number)[]): string {
  return path.length === 0 ? what : `${what} at ${pathText(path)}`
}

/** A path alone, shortened: `items[3].owner`. */
export function pathText(path: readonly (string | number)[]): string {
  const place = path.map(placePart).join('').replace(/^\./, '')
  return place.length > 200 ? `${place.slice(0, 100)}…${place.slice(-99)}` : place
}

/** The built-in kind of an object, in any realm: 'Map', 'Date', 'Error'. */
export function tagOf(value: object): string {
  return Object.prototype.toString.call(value).slice(8, -1)
}

export function classNameOf(value: object): string {
  const name: unknown = (value.constructor as { readonly name?: unknown } | undefined)?.name
  return typeof name === 'string' && name !== '' ? name : 'without a name'
}

function check(value: unknown, what: string, lengthMax: number, lastControl: number): string {
  if (typeof value !== 'string') throw refusal(what, `is ${kindOf(value)}`, lengthMax)
  if (value === '') throw refusal(what, 'is empty', lengthMax)
  if (value.length > lengthMax) {
    throw refusal(what, `has ${value.length} characters (${show(value)})`, lengthMax)
  }
  const control = controlAt(value, lastControl)
  if (control >= 0) {
    const code = value.charCodeAt(control).toString(16).toUpperCase().padStart(4, '0')
    throw refusal(what, `has the control character U+${code} in ${show(value)}`, lengthMax)
  }
  if (!value.isWellFormed()) {
    throw refusal(what, `has a lone surrogate (half a character) in ${show(value)}`, lengthMax)
  }
  return value
}

function controlAt(text: string, last: number): number {
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit < 0x20 || (unit >= DEL && unit <= last)) return at
  }
  return -1
}

function refusal(what: string, problem: string, lengthMax: number): PawlError {
  const expected = `a string of 1 to ${lengthMax} characters without control characters`
  return new PawlError('INPUT_INVALID', `${what} ${problem}; expected ${expected}.`)
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

function show(text: string): string {
  const shown = text.length > 60 ? `${text.slice(0, 60)}…` : text
  return visibleJson(JSON.stringify(shown.toWellFormed()))
}

function placePart(key: string | number): string {
  if (typeof key === 'number') return `[${key}]`
  const short = key.length > 50 ? `${key.slice(0, 50)}…` : key
  return /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u.test(short) ? `.${short}` : `[${JSON.stringify(short)}]`
}
