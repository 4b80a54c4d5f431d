// The only HTTP client of the handlers: guarded, bounded in time and size, and every redirect is checked like the first
// URL. The caller defines which statuses are a success; any other is thrown.

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { limits } from '../../core/base/limits.ts'
import type { Json } from '../../core/base/value.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import { withDeadline } from './deadline.ts'
import { permanentError, retryableError, safeUrl } from './errors.ts'
import type { Guard } from './guard.ts'
import type { HttpRequest } from './http-request.ts'
import { readBody, sendRequest } from './http-request.ts'

export interface Header {
  readonly name: string
  readonly value: string
  /** Is sent only over TLS or to a private address, and never to another origin. */
  readonly isSecret?: boolean
  /** Is also sent to another origin after a redirect. Most headers are not: they were meant for the first origin. */
  readonly isPortable?: boolean
}

export interface Call {
  readonly method: string
  readonly url: URL
  readonly headers: readonly Header[]
  readonly body?: Buffer | undefined
  readonly timeoutMs: number
  readonly responseBytesMax: number
  /** What to do with a longer body: cut it off, or refuse the response. */
  readonly overflow: 'cut' | 'refuse'
  readonly redirectsMax: number
  readonly isSuccess: (status: number) => boolean
}

export interface HttpResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** One request of a call: the first, or one that follows a redirect. */
interface Hop {
  readonly method: string
  readonly url: URL
  readonly headers: readonly Header[]
  readonly body: Buffer | undefined
}

export function guardedFetch(guard: Guard, call: Call, signal: AbortSignal): Promise<HttpResponse> {
  const what = `${call.method} ${safeUrl(call.url)}`
  return withDeadline(call.timeoutMs, signal, what, (aborted) => follow(guard, call, aborted))
}

async function follow(guard: Guard, call: Call, signal: AbortSignal): Promise<HttpResponse> {
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
    const message = `a secret would be sent to ${hop.url.origin} without TLS. Use https:.`
    throw permanentError('SECRET_REFUSED', message)
  }
  return sendRequest({ ...hop, headers: sentHeaders(hop) }, addresses, signal)
}

function sentHeaders({ headers, body, method }: Hop): Record<string, string> {
  const sent: Record<string, string> = { 'user-agent': 'pawl', 'accept-encoding': 'identity' }
  for (const { name, value } of headers) sent[name.toLowerCase()] = value
  if (body) sent['content-length'] = String(body.byteLength)
  else if (method.startsWith('P')) sent['content-length'] = '0' // POST, PUT, PATCH
  return sent
}

async function settle(hop: Hop, message: IncomingMessage, call: Call): Promise<HttpResponse> {
  const { statusCode: status = 0, headers } = message
  if (!call.isSuccess(status)) {
    // Only the head of an error body is read, so that an endless body does not replace the error.
    const head = await readBody(message, limits.httpErrorBytesMax, hop)
    throw statusError(hop, status, headers, head.bytes)
  }
  const { bytes, isWhole } = await readBody(message, call.responseBytesMax, hop)
  if (isWhole || call.overflow === 'cut') return { status, headers, body: bytes }
  const place = `${hop.method} ${safeUrl(hop.url)}`
  const text = `${place} returned more than ${call.responseBytesMax} bytes. Request less, or fetch it in an activity of your own that stores it elsewhere.`
  throw permanentError('RESPONSE_TOO_LARGE', text, { status })
}

const redirecting: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

function redirectOf(message: IncomingMessage, call: Call): string | undefined {
  const { statusCode = 0, headers } = message
  if (!redirecting.has(statusCode) || call.isSuccess(statusCode)) return undefined
  return headers.location
}

function tooMany(hop: Hop, redirects: number, location: string): Error {
  const to = URL.parse(location, hop.url.href)
  const target = to ? safeUrl(to) : 'an invalid URL'
  const message =
    redirects === 0
      ? `${safeUrl(hop.url)} redirects to ${target}; this handler follows no redirects. Use the final URL.`
      : `${safeUrl(hop.url)} redirects again, to ${target}, after ${redirects} redirects, which is the limit. Use the final URL.`
  return permanentError('REDIRECT_REFUSED', message)
}

const portable: ReadonlySet<string> = new Set(['accept', 'accept-language', 'content-type', 'user-agent'])

function mayCrossOrigin({ name, isSecret, isPortable }: Header): boolean {
  if (isSecret) return false
  return isPortable === true || portable.has(name.toLowerCase())
}

function next(guard: Guard, hop: Hop, status: number, location: string): Hop {
  const url = guard.parseUrl(location, hop.url)
  if (hop.url.protocol === 'https:' && url.protocol === 'http:') {
    const message = `${safeUrl(hop.url)} redirects to ${safeUrl(url)}, which is not encrypted. Use a URL that stays on https:.`
    throw permanentError('REDIRECT_REFUSED', message)
  }
  const isSame = url.origin === hop.url.origin
  const headers = isSame ? hop.headers : hop.headers.filter(mayCrossOrigin)
  if (!becomesGet(hop.method, status)) return { ...hop, url, headers }
  const others = headers.filter(({ name }) => name.toLowerCase() !== 'content-type')
  return { method: 'GET', url, headers: others, body: undefined }
}

/** The rule of the Fetch standard. */
function becomesGet(method: string, status: number): boolean {
  if (status === 303) return method !== 'GET' && method !== 'HEAD'
  return (status === 301 || status === 302) && method === 'POST'
}

// Turns an HTTP status that is not a success into a permanent or a retryable error.

/** True if the server may accept the same request later. */
function isTemporary(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500
}

/** The error for a response that is not a success. `head` is the beginning of its body. */
export function statusError(
  { method, url }: Pick<HttpRequest, 'method' | 'url'>,
  status: number,
  headers: IncomingHttpHeaders,
  head: Buffer,
): Error {
  const text = textHead(head)
  const details: Record<string, Json> = { status, ...(text !== '' && { body: text }) }
  const quoted = text === '' ? '' : `: ${text.slice(0, 200)}`
  const message = `${method} ${safeUrl(url)} returned status ${status}${quoted}`
  if (!isTemporary(status)) return permanentError('STATUS_REFUSED', message, details)
  const after = retryAfterMs(headers)
  return retryableError('STATUS_UNAVAILABLE', message, { details, after })
}

/** Reads `retry-after`: seconds, or a date, which is compared with the server's own clock. */
function retryAfterMs(headers: IncomingHttpHeaders): number | undefined {
  const given = headers['retry-after']?.trim()
  if (given === undefined) return undefined
  const ms = /^\d{1,10}$/.test(given) ? Number(given) * 1000 : untilDate(given, headers.date)
  // Without a positive delay the backoff of the step applies.
  if (ms === undefined || ms <= 0) return undefined
  return Math.min(ms, limits.retryAfterMsMax)
}

function untilDate(given: string, date: string | undefined): number | undefined {
  // Date.parse accepts almost any text; HTTP dates end in GMT.
  const until = given.endsWith('GMT') ? Date.parse(given) : Number.NaN
  if (Number.isNaN(until)) return undefined
  const from = Date.parse(date ?? '')
  return until - (Number.isNaN(from) ? systemClock.now() : from)
}

function textHead(head: Buffer): string {
  const text = head.toString('utf8')
  return text.includes('\0') ? '' : text.replace(/\uFFFD+$/, '').trim()
}
