// What the status of an answer means for the step: done, never, or later.
import type { IncomingHttpHeaders } from 'node:http'
import { limits } from '../../core/base/limits.ts'
import type { Json } from '../../core/base/value.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import type { Outgoing } from './exchange.ts'
import { placeOfUrl } from './places.ts'
import { refused, troubled } from './refusals.ts'

/** Says that the request was not dealt with, and may be another time. */
function isPassing(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500
}

/** The error for an answer that is not a success. `head` is the beginning of its body. */
export function refusalOf(
  { method, url }: Pick<Outgoing, 'method' | 'url'>,
  status: number,
  headers: IncomingHttpHeaders,
  head: Buffer,
): Error {
  const text = textHead(head)
  const details: Record<string, Json> = { status, ...(text !== '' && { body: text }) }
  const said = text === '' ? '' : `: ${text.slice(0, 200)}`
  const message = `${method} ${placeOfUrl(url)} was answered with ${status}${said}`
  if (!isPassing(status)) return refused('STATUS_REFUSED', message, details)
  const after = retryAfterMs(headers)
  return troubled('STATUS_UNAVAILABLE', message, { details, after })
}

/** Seconds, or a date, which counts from the server's own. */
function retryAfterMs(headers: IncomingHttpHeaders): number | undefined {
  const given = headers['retry-after']?.trim()
  if (given === undefined) return undefined
  const ms = /^\d{1,10}$/.test(given) ? Number(given) * 1000 : untilDate(given, headers.date)
  // A server that does not mind at all is left to the back-off of the step.
  if (ms === undefined || ms <= 0) return undefined
  return Math.min(ms, limits.retryAfterMsMax)
}

function untilDate(given: string, date: string | undefined): number | undefined {
  // Date.parse reads a date into almost everything; those of HTTP end like this.
  const until = given.endsWith('GMT') ? Date.parse(given) : Number.NaN
  if (Number.isNaN(until)) return undefined
  const from = Date.parse(date ?? '')
  return until - (Number.isNaN(from) ? systemClock.now() : from)
}

function textHead(head: Buffer): string {
  const text = head.toString('utf8')
  return text.includes('\0') ? '' : text.replace(/\uFFFD+$/, '').trim()
}
