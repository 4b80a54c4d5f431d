// Turns an HTTP status that is not a success into a permanent or a retryable error.
import type { IncomingHttpHeaders } from 'node:http'
import { limits } from '../../core/base/limits.ts'
import type { Json } from '../../core/base/value.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import { permanentError, retryableError } from './errors.ts'
import type { HttpRequest } from './http-request.ts'
import { safeUrl } from './safe-url.ts'

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
