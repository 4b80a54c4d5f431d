// The one way in which handlers speak HTTP: guarded, bounded in time and size, and with every redirect judged like the
// first address. Whoever calls it says what a success is; anything else is thrown.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { limits } from '../../core/base/limits.ts'
import { refusalOf } from './answers.ts'
import { within } from './deadline.ts'
import { bodyOf, exchange } from './exchange.ts'
import type { Guard } from './guard.ts'
import { placeOfUrl } from './places.ts'
import { refused } from './refusals.ts'

export interface Header {
  readonly name: string
  readonly value: string
  /** Goes out over TLS or to a private address, and not to another origin. */
  readonly isSecret?: boolean
  /** Goes to another origin, too, if a redirect leads there. Most do not: they were meant for the first. */
  readonly isPortable?: boolean
}

export interface Call {
  readonly method: string
  readonly url: URL
  readonly headers: readonly Header[]
  readonly body?: Buffer | undefined
  readonly timeoutMs: number
  readonly responseBytesMax: number
  /** Whether the rest of a longer body is left unread, or the answer refused for it. */
  readonly overflow: 'cut' | 'refuse'
  readonly redirectsMax: number
  readonly isSuccess: (status: number) => boolean
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** One request on the way to the answer: the first, or one that a redirect asked for. */
interface Hop {
  readonly method: string
  readonly url: URL
  readonly headers: readonly Header[]
  readonly body: Buffer | undefined
}

export function guardedFetch(guard: Guard, call: Call, signal: AbortSignal): Promise<Answer> {
  const what = `${call.method} ${placeOfUrl(call.url)}`
  return within(call.timeoutMs, signal, what, (within) => follow(guard, call, within))
}

async function follow(guard: Guard, call: Call, signal: AbortSignal): Promise<Answer> {
  const { method, url, headers, body } = call
  guard.check(url)
  let hop: Hop = { method, url, headers, body }
  for (let redirects = 0; ; redirects++) {
    const message = await send(guard, hop, signal)
    const location = redirectOf(message, call)
    if (location === undefined) return settle(hop, message, call)
    message.destroy()
    if (redirects === call.redirectsMax) throw tooMany(hop, redirects, location)
    hop = next(guard, hop, message.statusCode ?? 0, location)
  }
}

async function send(guard: Guard, hop: Hop, signal: AbortSignal): Promise<IncomingMessage> {
  const { addresses, isPrivate } = await guard.resolve(hop.url)
  signal.throwIfAborted()
  const isOpen = hop.url.protocol === 'http:' && !isPrivate
  if (isOpen && hop.headers.some(({ isSecret }) => isSecret)) {
    const message = `a secret would go to ${hop.url.origin} without TLS, for everybody on the way to read. Use https:.`
    throw refused('SECRET_REFUSED', message)
  }
  return exchange({ ...hop, headers: sentHeaders(hop) }, addresses, signal)
}

function sentHeaders({ headers, body, method }: Hop): Record<string, string> {
  const sent: Record<string, string> = { 'user-agent': 'pawl', 'accept-encoding': 'identity' }
  for (const { name, value } of headers) sent[name.toLowerCase()] = value
  if (body) sent['content-length'] = String(body.byteLength)
  else if (method.startsWith('P')) sent['content-length'] = '0' // POST, PUT, PATCH
  return sent
}

async function settle(hop: Hop, message: IncomingMessage, call: Call): Promise<Answer> {
  const { statusCode: status = 0, headers } = message
  if (!call.isSuccess(status)) {
    // An answer that says no is not worth more than its beginning, nor another error if it does not end.
    const head = await bodyOf(message, limits.httpErrorBytesMax, hop)
    throw refusalOf(hop, status, headers, head.bytes)
  }
  const { bytes, isWhole } = await bodyOf(message, call.responseBytesMax, hop)
  if (isWhole || call.overflow === 'cut') return { status, headers, body: bytes }
  const place = `${hop.method} ${placeOfUrl(hop.url)}`
  const text = `${place} was answered with more than ${call.responseBytesMax} bytes. Ask for less, or fetch it in an activity of your own that keeps it elsewhere.`
  throw refused('RESPONSE_TOO_LARGE', text, { status })
}

const redirecting: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

function redirectOf(message: IncomingMessage, call: Call): string | undefined {
  const { statusCode = 0, headers } = message
  if (!redirecting.has(statusCode) || call.isSuccess(statusCode)) return undefined
  return headers.location
}

function tooMany(hop: Hop, redirects: number, location: string): Error {
  const to = URL.parse(location, hop.url.href)
  const target = to ? placeOfUrl(to) : 'what cannot be read'
  const message =
    redirects === 0
      ? `${placeOfUrl(hop.url)} redirects to ${target}, and this handler does not follow. Give it the address where it ends.`
      : `${placeOfUrl(hop.url)} redirects again, to ${target}; ${redirects} redirects are enough.`
  return refused('REDIRECT_REFUSED', message)
}

const portable: ReadonlySet<string> = new Set([
  'accept',
  'accept-language',
  'content-type',
  'user-agent',
])

function mayTravel({ name, isSecret, isPortable }: Header): boolean {
  if (isSecret) return false
  return isPortable === true || portable.has(name.toLowerCase())
}

function next(guard: Guard, hop: Hop, status: number, location: string): Hop {
  const url = guard.urlOf(location, hop.url)
  if (hop.url.protocol === 'https:' && url.protocol === 'http:') {
    const message = `${placeOfUrl(hop.url)} redirects to ${placeOfUrl(url)}, which is not encrypted.`
    throw refused('REDIRECT_REFUSED', message)
  }
  const isSame = url.origin === hop.url.origin
  const headers = isSame ? hop.headers : hop.headers.filter(mayTravel)
  if (!becomesGet(hop.method, status)) return { ...hop, url, headers }
  const others = headers.filter(({ name }) => name.toLowerCase() !== 'content-type')
  return { method: 'GET', url, headers: others, body: undefined }
}

/** As fetch does it. */
function becomesGet(method: string, status: number): boolean {
  if (status === 303) return method !== 'GET' && method !== 'HEAD'
  return (status === 301 || status === 302) && method === 'POST'
}
