// notify.webhook.v1: sends a signed webhook to another server.
import { type Described, given, hidden, isObject, option, required } from '../../core/base/described.ts'
import { deriveUuid } from '../../core/base/digest.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { milliseconds } from '../../core/base/time.ts'
import type { Activity, ActivityContext } from '../../core/index.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import { permanentError } from './errors.ts'
import { Guard, guardOptions } from './guard.ts'
import { guardedFetch, type Header } from './guarded-fetch.ts'
import { HostList, hostOf, matchScore } from './hosts.ts'
import { isSuccess, JSON_TYPE, jsonBytes } from './http-body.ts'
import { InputReader, nonEmptyText } from './input-reader.ts'
import { checkedName, commonOptions, handlerActivity, timeLimit } from './options.ts'
import { signWebhook, type WebhookSecret } from './webhook-signature.ts'

export const webhookOptions = {
  ...commonOptions,
  ...guardOptions,
  /**
   * Signs webhooks: one secret for all hosts, or one for each host: `{ 'hooks.example.com': 'whsec_…' }`. A list signs
   * with each of its secrets, so that a secret can be rotated. Without it nothing is signed.
   */
  secret: hidden(
    option<WebhookSecret | Readonly<Record<string, WebhookSecret>>>(
      'The secret that signs webhooks, for all hosts or by host; a list signs with each of its secrets.',
      'a string, a list of strings, or an object of them by host',
      (value) => typeof value === 'string' || Array.isArray(value) || isObject(value),
      { otherwise: 'nothing is signed' },
    ),
  ),
  /** How long a request may take. Default: 30s. */
  timeout: timeLimit('How long a request may take.', limits.httpTimeoutMs),
} as const
export interface WebhookOptions extends Described<typeof webhookOptions> {}

export const webhookInput = {
  url: required(nonEmptyText('The URL of the receiver.')),
  /** The body, as JSON. */
  payload: required(given<unknown>('The body, as JSON.', 'a JSON value')),
  /** The type of the event; the body becomes `{ type: event, data: payload }`. */
  event: nonEmptyText('The type of the event; the body becomes `{ type: event, data: payload }`.'),
} as const
export interface WebhookInput extends Described<typeof webhookInput> {}

export interface WebhookOutput {
  readonly status: number
  /** The `webhook-id` header that the receiver saw. */
  readonly id: string
}

const NAME = 'notify.webhook.v1'

export function notifyWebhook(options: WebhookOptions = {}): Activity<WebhookInput, WebhookOutput> {
  const name = checkedName(webhookOptions, options, NAME)
  const webhooks = new Webhooks(options, name)
  return handlerActivity(name, options.activity, webhookInput, (input: WebhookInput, ctx) =>
    webhooks.notify(input, ctx),
  )
}

class Webhooks {
  readonly #name: string
  readonly #guard: Guard
  readonly #secret: WebhookOptions['secret']
  readonly #timeoutMs: number

  constructor(options: WebhookOptions, name: string) {
    this.#name = name
    this.#guard = new Guard(options, name)
    this.#secret = options.secret
    this.#timeoutMs = milliseconds(options.timeout ?? limits.httpTimeoutMs)
    checkSecret(options.secret, name)
  }

  async notify(input: unknown, ctx: ActivityContext): Promise<WebhookOutput> {
    const what = `the input of '${this.#name}'`
    const fields = new InputReader(what, input, webhookInput)
    const url = this.#guard.parseUrl(fields.get('url'))
    const body = readBody(fields)
    // Not the idempotency key itself: it contains dots, and dots separate the signed parts.
    const id = deriveUuid('pawl webhook', ctx.idempotencyKey)
    const call = {
      method: 'POST',
      url,
      headers: this.#headers(url, id, body),
      body,
      timeoutMs: this.#timeoutMs,
      responseBytesMax: limits.httpErrorBytesMax,
      // Only the status matters.
      overflow: 'cut',
      redirectsMax: 0,
      isSuccess,
    } as const
    const { status } = await guardedFetch(this.#guard, call, ctx.signal)
    return { status, id }
  }

  #headers(url: URL, id: string, body: Buffer): Header[] {
    const seconds = Math.floor(systemClock.now() / 1000)
    const secret = this.#secretFor(hostOf(url))
    const headers = {
      'content-type': JSON_TYPE,
      'webhook-id': id,
      'webhook-timestamp': String(seconds),
      ...(secret !== undefined && { 'webhook-signature': signWebhook(id, seconds, body, secret) }),
    }
    return Object.entries(headers).map(([name, value]) => ({ name, value }))
  }

  /** The secret of the exact host, else of the longest `*.` pattern that matches. */
  #secretFor(host: string): WebhookSecret | undefined {
    const secret = this.#secret
    if (secret === undefined || isShared(secret)) return secret
    const matches = Object.entries(secret).map(([pattern, value]) => ({
      value,
      score: matchScore(pattern, host, this.#name),
    }))
    const [best] = matches.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score)
    if (best) return best.value
    const message = `there is no secret to sign a webhook to '${host}'. Add the host to 'secret' of the options.`
    throw permanentError('SECRET_UNKNOWN', message, { host })
  }
}

function readBody(fields: InputReader<typeof webhookInput>): Buffer {
  const payload = fields.get('payload')
  const event = fields.get('event')
  const content = event === undefined ? payload : { type: event, data: payload }
  const body = jsonBytes(content, `'payload' of ${fields.what}`)
  if (body.byteLength <= limits.httpRequestBytesMax) return body
  const message = `the payload has ${body.byteLength} bytes; the limit is ${limits.httpRequestBytesMax}. Send a link to it instead.`
  throw permanentError('REQUEST_TOO_LARGE', message)
}

function isShared(secret: NonNullable<WebhookOptions['secret']>): secret is WebhookSecret {
  return typeof secret === 'string' || Array.isArray(secret)
}

function checkSecret(secret: WebhookOptions['secret'], name: string): void {
  if (secret === undefined) return
  const all: readonly WebhookSecret[] = isShared(secret) ? [secret] : Object.values(secret)
  if (!isShared(secret)) new HostList(Object.keys(secret), `'secret' of ${name}`)
  const texts = all.flat()
  if (texts.length > 0 && texts.every((each) => typeof each === 'string' && each !== '')) return
  const message = `'secret' of ${name} is empty or not a string; expected non-empty strings. Leave it out to send unsigned webhooks.`
  throw new PawlError('DEFINITION_INVALID', message)
}
