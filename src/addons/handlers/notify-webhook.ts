// notify.webhook.v1: tells somebody else's server something, signed so that it can be believed.

import {
  type Described,
  given,
  hidden,
  isObject,
  option,
  required,
} from '../../core/base/described.ts'
import { deriveUuid } from '../../core/base/digest.ts'
import { milliseconds } from '../../core/base/duration.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import type { Activity, ActivityContext } from '../../core/index.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import { isSuccess, JSON_TYPE, jsonBytes } from './contents.ts'
import { Fields, filled } from './fields.ts'
import { Guard, guardOptions } from './guard.ts'
import { guardedFetch, type Header } from './guarded-fetch.ts'
import { fitOf, HostList, hostOf } from './hosts.ts'
import { checkHandler, commonOptions, describedActivity, timeLimit } from './options.ts'
import { refused } from './refusals.ts'
import { signWebhook, type WebhookSecret } from './webhook-signature.ts'

export const webhookOptions = {
  ...commonOptions,
  ...guardOptions,
  /**
   * For all, or for each host its own: `{ 'hooks.example.com': 'whsec_…' }`. A list has the new one and the old one
   * while it is replaced. Without it nothing is signed.
   */
  secret: hidden(
    option<WebhookSecret | Readonly<Record<string, WebhookSecret>>>(
      'What webhooks are signed with, to all hosts or by host.',
      'a text, a list of texts, or an object of them by host',
      (value) => typeof value === 'string' || Array.isArray(value) || isObject(value),
      { otherwise: 'nothing is signed' },
    ),
  ),
  /** 30s */
  timeout: timeLimit('How long a request may take.', limits.httpTimeoutMs),
} as const
export interface WebhookOptions extends Described<typeof webhookOptions> {}

export const webhookInput = {
  url: required(filled('Where to.')),
  /** The body, as JSON. */
  payload: required(given<unknown>('The body, as JSON.', 'what JSON can say')),
  /** The body is then `{ type: event, data: payload }`. */
  event: filled('The body is then `{ type: event, data: payload }`.'),
} as const
export interface WebhookInput extends Described<typeof webhookInput> {}

export interface WebhookOutput {
  readonly status: number
  /** What the receiver saw as `webhook-id`. */
  readonly id: string
}

const NAME = 'notify.webhook.v1'

export function notifyWebhook(options: WebhookOptions = {}): Activity<WebhookInput, WebhookOutput> {
  const name = checkHandler(webhookOptions, options, NAME)
  const webhooks = new Webhooks(options, name)
  return describedActivity(name, options.activity, webhookInput, (input: WebhookInput, ctx) =>
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
    const fields = new Fields(what, input, webhookInput)
    const url = this.#guard.urlOf(fields.get('url'))
    const body = bodyOf(fields)
    // No key as it is: it has dots in it, and dots are between what is signed.
    const id = deriveUuid('pawl webhook', ctx.idempotencyKey)
    const call = {
      method: 'POST',
      url,
      headers: this.#headers(url, id, body),
      body,
      timeoutMs: this.#timeoutMs,
      responseBytesMax: limits.httpErrorBytesMax,
      // That it was taken is all there is to know.
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

  /** The one of the host itself goes before that of a longer, and a shorter, `*.` */
  #secretFor(host: string): WebhookSecret | undefined {
    const secret = this.#secret
    if (secret === undefined || isOne(secret)) return secret
    const fits = Object.entries(secret).map(([pattern, value]) => ({
      value,
      fit: fitOf(pattern, host, this.#name),
    }))
    const [best] = fits.filter(({ fit }) => fit > 0).sort((a, b) => b.fit - a.fit)
    if (best) return best.value
    const message = `there is no secret to sign a webhook to '${host}' with. Add the host to 'secret' of the options.`
    throw refused('SECRET_UNKNOWN', message, { host })
  }
}

function bodyOf(fields: Fields<typeof webhookInput>): Buffer {
  const payload = fields.get('payload')
  const event = fields.get('event')
  const content = event === undefined ? payload : { type: event, data: payload }
  const body = jsonBytes(content, `'payload' of ${fields.what}`)
  if (body.byteLength <= limits.httpRequestBytesMax) return body
  const message = `the payload has ${body.byteLength} bytes, at most ${limits.httpRequestBytesMax} are possible.`
  throw refused('REQUEST_TOO_LARGE', message)
}

function isOne(secret: NonNullable<WebhookOptions['secret']>): secret is WebhookSecret {
  return typeof secret === 'string' || Array.isArray(secret)
}

function checkSecret(secret: WebhookOptions['secret'], name: string): void {
  if (secret === undefined) return
  const all: readonly WebhookSecret[] = isOne(secret) ? [secret] : Object.values(secret)
  if (!isOne(secret)) new HostList(Object.keys(secret), `'secret' of ${name}`)
  const texts = all.flat()
  if (texts.length > 0 && texts.every((each) => typeof each === 'string' && each !== '')) return
  const message = `'secret' of ${name} is empty or no text. Leave it out, and webhooks are not signed.`
  throw new PawlError('DEFINITION_INVALID', message)
}
