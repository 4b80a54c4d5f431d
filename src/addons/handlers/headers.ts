// Headers from the input of a handler. An input may not set headers that frame the message or route it.
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { isObject } from '../../core/base/described.ts'
import { deriveUuid } from '../../core/base/digest.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import type { ActivityContext } from '../../core/index.ts'
import { permanentError } from './errors.ts'
import type { Header } from './guarded-fetch.ts'
import { invalidField, type PlainObject } from './input-reader.ts'
import type { Secrets } from './secrets.ts'

const reserved: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

export async function headersOf(given: PlainObject, url: URL, secrets: Secrets): Promise<Header[]> {
  const headers: Header[] = []
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue
    headers.push(await headerOf(name, value, url, secrets))
  }
  checkHeaders(headers)
  return headers
}

async function headerOf(name: string, value: unknown, url: URL, secrets: Secrets): Promise<Header> {
  if (isObject(value)) return secrets.header(name, value, url)
  if (typeof value === 'string') return { name, value }
  if (typeof value === 'number' || typeof value === 'boolean') return { name, value: `${value}` }
  throw invalidField(`header '${name}'`, value, "a string, or { secret: '<name>' }")
}

/** Throws if a header is reserved, repeated or malformed, or if all of them are too large. */
export function checkHeaders(headers: readonly Header[]): void {
  const names = new Set<string>()
  let bytes = 0
  for (const { name, value } of headers) {
    const lower = name.toLowerCase()
    if (reserved.has(lower) || lower.startsWith('proxy-')) {
      throw permanentError('INPUT_INVALID', `header '${lower}' is set by the handler; leave it out.`)
    }
    if (names.has(lower))
      throw permanentError('INPUT_INVALID', `header '${lower}' is given twice; names ignore case. Give it once.`)
    names.add(lower)
    bytes += name.length + value.length + 4
    checkCharacters(name, value)
  }
  if (bytes <= limits.httpHeaderBytesMax) return
  const message = `the headers have ${bytes} bytes; the limit is ${limits.httpHeaderBytesMax}. Send fewer or shorter ones.`
  throw permanentError('REQUEST_TOO_LARGE', message)
}

function checkCharacters(name: string, value: string): void {
  try {
    validateHeaderName(name)
    validateHeaderValue(name, value)
  } catch {
    // Node's error quotes the value, which may be secret.
    const message = `header ${JSON.stringify(name.slice(0, 50))} contains characters that headers may not have; expected letters, digits and dashes in the name, and one line of Latin-1 text as the value.`
    throw permanentError('INPUT_INVALID', message)
  }
}

/** Checks a header name from the options, where a mistake is an invalid definition. */
export function checkedHeaderName(name: string, what: string): string {
  try {
    checkHeaders([{ name, value: '' }])
    return name
  } catch (error) {
    const message = `${what} is ${JSON.stringify(name)}, which a handler cannot set as a header. Choose another name.`
    throw new PawlError('DEFINITION_INVALID', message, { cause: error })
  }
}

/** The idempotency key of the step as a header value: unchanged if it fits, else a UUID derived from it. */
export function keyOf({ idempotencyKey: key }: Pick<ActivityContext, 'idempotencyKey'>): string {
  const isValid = key.length <= limits.idempotencyHeaderLengthMax && /^[\x21-\x7e]+$/.test(key)
  return isValid ? key : deriveUuid('pawl idempotency key', key)
}
