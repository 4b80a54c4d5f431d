// How values travel between the server and its clients. As `application/json` they are plain JSON, for every client: times
// are ISO texts. As `application/vnd.pawl+json` nothing is lost: pawl's own client gets dates, maps and bigints back.
import type { JsonSchema } from '../core/base/described.ts'
import { PawlError } from '../core/base/errors.ts'
import { limits } from '../core/base/limits.ts'
import { decode, encodeAnswer, type Json, type Payload } from '../core/base/value.ts'
import { EXACT_TYPE } from './protocol.ts'

export { EXACT_TYPE, JSON_TYPE, PROBLEM_TYPE } from './protocol.ts'

export function exactText(value: unknown): string {
  return JSON.stringify(encodeAnswer(value))
}

export function plainText(value: unknown): string {
  return JSON.stringify(value, plain) ?? 'null'
}

/** A value that JSON cannot represent becomes the nearest JSON value. */
export function plain(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Map || value instanceof Set) return [...value]
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (value instanceof ArrayBuffer) return Buffer.from(value).toString('base64')
  if (value instanceof Error)
    return { ...Object.fromEntries(Object.entries(value)), name: value.name, message: value.message }
  return value
}

/** Parses the text of a body. Depth is counted first, because JSON.parse accepts a million levels. */
export function parseBody(text: string, isExact: boolean): unknown {
  if (isTooDeep(text)) {
    const most = limits.requestDepthMax
    throw new PawlError(
      'INPUT_INVALID',
      `the body is nested more than ${most} levels deep; expected fewer. Flatten it.`,
    )
  }
  const json = parseJson(text)
  if (!isExact) return json
  const { json: value } = (json ?? {}) as Partial<Payload>
  if (value !== undefined) return decode(json as Payload)
  throw new PawlError('INPUT_INVALID', `the body is not ${EXACT_TYPE}; expected { "json": …, "notes": […] }.`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    throw new PawlError('INPUT_INVALID', `the body is not JSON: ${problem}.`)
  }
}

function isTooDeep(text: string): boolean {
  let depth = 0
  let isText = false
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (isText) {
      if (unit === BACKSLASH) at++
      else if (unit === QUOTE) isText = false
    } else if (unit === QUOTE) isText = true
    else if (unit === OPEN_BRACE || unit === OPEN_BRACKET) {
      if (++depth > limits.requestDepthMax) return true
    } else if (unit === CLOSE_BRACE || unit === CLOSE_BRACKET) depth--
  }
  return false
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Plain JSON has no dates: ISO texts become dates where the schema says so. */
export function withDates(value: unknown, schema: JsonSchema | boolean | undefined): unknown {
  if (typeof schema !== 'object' || value === null || value === undefined) return value
  const { format, properties, items, anyOf } = schema as Readonly<Record<string, Json | undefined>>
  if (format === 'date-time') return typeof value === 'string' ? dateOf(value) : value
  if (Array.isArray(anyOf)) {
    const time = (anyOf as readonly JsonSchema[]).find((each) => each['format'] === 'date-time')
    return time ? withDates(value, time) : value
  }
  if (Array.isArray(value) && items !== undefined) {
    return value.map((item) => withDates(item, items as JsonSchema))
  }
  if (typeof value !== 'object' || Array.isArray(value) || !properties) return value
  const known = properties as Readonly<Record<string, JsonSchema>>
  for (const [name, each] of Object.entries(value)) {
    if (!Object.hasOwn(known, name)) continue
    const read = withDates(each, known[name])
    if (read !== each) (value as Record<string, unknown>)[name] = read
  }
  return value
}

/** An ISO instant as a Date. Other texts stay texts, so that the check of the option can quote them. */
function dateOf(text: string): unknown {
  const isInstant = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/.test(text)
  const date = new Date(isInstant ? text : Number.NaN)
  return Number.isNaN(date.getTime()) ? text : date
}

/** Reads a field of a URL as its schema says: numbers, booleans, lists separated by commas or as JSON, objects as JSON. */
export function fromUrl(text: string, schema: JsonSchema = {}): unknown {
  const { type, anyOf } = schema as Readonly<Record<string, Json | undefined>>
  if (Array.isArray(anyOf)) {
    const isList = (anyOf as readonly JsonSchema[]).some((each) => each['type'] === 'array')
    return isList && /^\[|,/.test(text) ? listIn(text) : text
  }
  switch (type) {
    case 'integer':
    case 'number':
      return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text
    case 'boolean':
      return text === 'true' || text === 'false' ? text === 'true' : text
    case 'array':
      return listIn(text)
    case 'object':
      return objectIn(text)
    default:
      return text
  }
}

/** As JSON, because an item may have a comma. */
function listIn(text: string): unknown {
  const list = text.startsWith('[') ? objectIn(text) : undefined
  return Array.isArray(list) ? list : text.split(',')
}

function objectIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
