// Headers from the input of a handler. Those that decide how the message is framed or where it goes are not for it to say.
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { isObject } from '../../core/base/described.ts'
import { deriveUuid } from '../../core/base/digest.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import type { ActivityContext } from '../../core/index.ts'
import { type Plain, wrong } from './fields.ts'
import type { Header } from './guarded-fetch.ts'
import { refused } from './refusals.ts'
import type { Secrets } from './secrets.ts'

const ours: ReadonlySet<string> = new Set([
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

export async function headersOf(given: Plain, url: URL, secrets: Secrets): Promise<Header[]> {
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
  throw wrong(`header '${name}'`, value, "a text, or { secret: '<its name>' }")
}

/** Refuses what would not be a header, or more than one. */
export function checkHeaders(headers: readonly Header[]): void {
  const names = new Set<string>()
  let bytes = 0
  for (const { name, value } of headers) {
    const lower = name.toLowerCase()
    if (ours.has(lower) || lower.startsWith('proxy-')) {
      throw refused('INPUT_INVALID', `header '${lower}' is set by the handler; leave it out.`)
    }
    if (names.has(lower)) throw refused('INPUT_INVALID', `header '${lower}' is there twice.`)
    names.add(lower)
    bytes += name.length + value.length + 4
    checkCharacters(name, value)
  }
  if (bytes <= limits.httpHeaderBytesMax) return
  const message = `the headers have ${bytes} bytes, at most ${limits.httpHeaderBytesMax} are possible.`
  throw refused('REQUEST_TOO_LARGE', message)
}

function checkCharacters(name: string, value: string): void {
  try {
    validateHeaderName(name)
    validateHeaderValue(name, value)
  } catch {
    // Node's error tells the value, which may be secret.
    const message = `header ${JSON.stringify(name.slice(0, 50))} has characters that no header may have; expected letters, digits and dashes in its name, and one line of Latin text as its value.`
    throw refused('INPUT_INVALID', message)
  }
}

/** Of an option: a mistake there is the program's. */
export function checkedHeaderName(name: string, what: string): string {
  try {
    checkHeaders([{ name, value: '' }])
    return name
  } catch (error) {
    const message = `${what} is ${JSON.stringify(name)}, which cannot be the name of a header here.`
    throw new PawlError('DEFINITION_INVALID', message, { cause: error })
  }
}

/** The idempotency key of the step as a header can carry it: as it is, or a UUID that only it gives. */
export function keyOf({ idempotencyKey: key }: Pick<ActivityContext, 'idempotencyKey'>): string {
  const isFit = key.length <= limits.idempotencyHeaderLengthMax && /^[\x21-\x7e]+$/.test(key)
  return isFit ? key : deriveUuid('pawl idempotency key', key)
}
