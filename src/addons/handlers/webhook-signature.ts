// Signs and verifies webhooks by the Standard Webhooks scheme: HMAC-SHA256 over `id.timestamp.body`, one signature for
// each secret, so that receivers can verify throughout a rotation.
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { amount, checkOptions, type Described } from '../../core/base/described.ts'
import { limits } from '../../core/base/limits.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import { permanentError } from './errors.ts'

/** `whsec_` and base64, or any text; or a list of secrets during a rotation. */
export type WebhookSecret = string | readonly string[]

export function signWebhook(id: string, seconds: number, body: string | Uint8Array, secret: WebhookSecret): string {
  return secretsOf(secret)
    .map((each) => `v1,${macOf(id, String(seconds), body, each).toString('base64')}`)
    .join(' ')
}

export const verifyOptions = {
  /** How far the timestamp may be from now, in seconds. Default: 300. */
  toleranceSeconds: amount('How far the timestamp may be from now, in seconds.', [0, Number.MAX_SAFE_INTEGER], {
    otherwise: String(limits.webhookToleranceSeconds),
  }),
  /** The current time in milliseconds since 1970. Default: the system clock. */
  now: amount('The current time in milliseconds since 1970.', [0, Number.MAX_SAFE_INTEGER], {
    otherwise: 'the system clock',
  }),
} as const
export interface VerifyOptions extends Described<typeof verifyOptions> {}

export interface VerifiedWebhook {
  /** The same for every attempt, so that a receiver can skip duplicates. */
  readonly id: string
  readonly timestamp: Date
}

/** Throws unless the headers prove that exactly this body was signed with one of the secrets within the tolerance. */
export function verifyWebhook(
  headers: IncomingHttpHeaders | Headers,
  body: string | Uint8Array,
  secret: WebhookSecret,
  options: VerifyOptions = {},
): VerifiedWebhook {
  checkOptions(verifyOptions, options, { of: 'verifyWebhook' })
  const id = headerOf(headers, 'webhook-id')
  const stamp = headerOf(headers, 'webhook-timestamp')
  const signatures = headerOf(headers, 'webhook-signature')
  if (!/^\d{1,12}$/.test(stamp)) throw invalid("'webhook-timestamp' is not a number of seconds")
  const { toleranceSeconds = limits.webhookToleranceSeconds, now = systemClock.now() } = options
  const age = now / 1000 - Number(stamp)
  if (!(Math.abs(age) <= toleranceSeconds)) {
    throw invalid(`it is ${Math.round(age)} s old; the tolerance is ${toleranceSeconds} s`)
  }
  const given = signatures
    .split(' ')
    .filter((each) => each.startsWith('v1,'))
    .map((each) => Buffer.from(each.slice('v1,'.length), 'base64'))
  const expected = secretsOf(secret).map((each) => macOf(id, stamp, body, each))
  const isSigned = expected.some((mac) => given.some((each) => isSame(mac, each)))
  if (!isSigned)
    throw invalid("no signature matches the body and the secret; pass the raw body and the sender's secret")
  return { id, timestamp: new Date(Number(stamp) * 1000) }
}

function isSame(a: Buffer, b: Buffer): boolean {
  return a.byteLength === b.byteLength && timingSafeEqual(a, b)
}

function headerOf(headers: IncomingHttpHeaders | Headers, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name]
  if (typeof value === 'string' && value !== '') return value
  throw invalid(`the header '${name}' is missing`)
}

function macOf(id: string, stamp: string, body: string | Uint8Array, secret: string): Buffer {
  return createHmac('sha256', keyOf(secret)).update(`${id}.${stamp}.`).update(body).digest()
}

function keyOf(secret: string): Buffer {
  const coded = /^whsec_([A-Za-z0-9+/]+=*)$/.exec(secret)?.[1]
  return coded === undefined ? Buffer.from(secret) : Buffer.from(coded, 'base64')
}

function secretsOf(secret: WebhookSecret): readonly string[] {
  const all = typeof secret === 'string' ? [secret] : secret
  const isKey = (each: unknown): boolean => typeof each === 'string' && keyOf(each).length > 0
  if (all.length > 0 && all.every(isKey)) return all
  // Anybody could sign with an empty key.
  throw permanentError('SECRET_UNKNOWN', 'the secret of a webhook is empty; expected a non-empty string.')
}

function invalid(problem: string): Error {
  return permanentError('SIGNATURE_INVALID', `the webhook cannot be verified: ${problem}.`)
}
