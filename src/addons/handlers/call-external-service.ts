// call_external_service: one HTTP request as a step.
import type { IncomingHttpHeaders } from 'node:http'
import {
  byName,
  type Described,
  either,
  given,
  isWhole,
  nested,
  type Option,
  option,
  required,
  spelled,
  text,
  whole,
} from '../../core/base/described.ts'
import { milliseconds } from '../../core/base/duration.ts'
import { limits } from '../../core/base/limits.ts'
import type { Json } from '../../core/base/value.ts'
import type { Activity, ActivityContext } from '../../core/index.ts'
import { contentOf, isSuccess, JSON_TYPE, jsonBytes } from './contents.ts'
import { Fields, filled } from './fields.ts'
import { Guard, guardOptions } from './guard.ts'
import { type Call, guardedFetch, type Header } from './guarded-fetch.ts'
import { checkedHeaderName, headersOf, keyOf } from './headers.ts'
import { checkHandler, commonOptions, describedActivity, timeLimit } from './options.ts'
import { refused } from './refusals.ts'
import { Secrets, secretOption, secretReference } from './secrets.ts'

const bytes = (about: string, max: number): Option<number> =>
  whole(about, [0, max], { otherwise: spelled(max) })

export const httpOptions = {
  ...commonOptions,
  ...guardOptions,
  /** By name, for headers: `{ authorization: { secret: 'billing', prefix: 'Bearer ' } }`. */
  secrets: byName(
    "Secrets that headers may name: `{ authorization: { secret: 'billing', prefix: 'Bearer ' } }`.",
    'an object of secrets: texts, functions, or `{ value, hosts }`',
    secretOption,
  ),
  /** In which header the idempotency key goes; false is in none. 'Idempotency-Key' */
  idempotencyHeader: option<string | false>(
    'The header that carries the idempotency key.',
    'the name of a header, or false for none',
    (value) => typeof value === 'string' || value === false,
    { otherwise: "'Idempotency-Key'" },
  ),
  /** For a request whose input has none. 30s */
  timeout: timeLimit('For a request whose input has none.', limits.httpTimeoutMs),
  maxResponseBytes: bytes('The longest answer it takes.', limits.httpResponseBytesMax),
  maxRequestBytes: bytes('The longest body it sends.', limits.httpRequestBytesMax),
  /** How many are followed. 5 */
  maxRedirects: bytes('How many redirects it follows.', limits.httpRedirectsMax),
} as const
export interface HttpOptions extends Described<typeof httpOptions> {}

type QueryValue = string | number | boolean

const methods: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

export const callInput = {
  url: required(filled('`http:` or `https:`, without credentials.')),
  /** GET, or POST if there is a body. */
  method: option<string>(
    'What to do there.',
    `one of ${methods.join(', ')}`,
    (value) => typeof value === 'string' && methods.includes(value.toUpperCase()),
    { otherwise: 'GET, or POST with a body' },
  ),
  headers: byName(
    'Texts, or secrets. Not `host`, `content-length` and others that frame the message.',
    "an object of texts, or `{ secret: '<its name>' }`",
    either(option<string>('', 'a text', isScalar), nested('', secretReference)),
  ),
  query: byName<QueryValue | readonly QueryValue[]>(
    'Is added to the URL; a list is the same name several times.',
    'an object',
    option('', 'a text, a number, true or false, or a list of them', (value) =>
      Array.isArray(value) ? value.every(isScalar) : isScalar(value),
    ),
  ),
  /** Sent as JSON. */
  body: given<unknown>('Sent as JSON.', 'what JSON can say'),
  /** Sent as it is, instead of `body`. */
  text: text('Sent as it is, instead of `body`; give a `content-type` if it is not plain text.'),
  /** The statuses that are a success. All from 200 to 299 */
  expect: option<readonly number[]>(
    'The statuses that are a success: `[200, 404]`.',
    'a list of numbers from 200 to 599',
    (value) => Array.isArray(value) && value.every((each) => isWhole(each, 200, 599)),
    { otherwise: 'all from 200 to 299' },
  ),
  /** For all of it: name, connection, redirects and body. */
  timeout: timeLimit('For all of it: name, connection, redirects and body.'),
  /** Of the answer. */
  maxBytes: whole('The longest answer it takes; the answer is recorded.', [
    1,
    limits.httpResponseBytesMax,
  ]),
} as const
export interface CallInput extends Described<typeof callInput> {}

export interface CallOutput {
  readonly status: number
  /** In lower case, without set-cookie. */
  readonly headers: Readonly<Record<string, string>>
  /** What the JSON says, else the text; null if there is none. */
  readonly body: Json
  /** `body` was no text, and is given in base64. */
  readonly encoding?: 'base64'
}

const NAME = 'call_external_service'

export function callExternalService(options: HttpOptions = {}): Activity<CallInput, CallOutput> {
  const name = checkHandler(httpOptions, options, NAME)
  const service = new Service(options, name)
  return describedActivity(name, options.activity, callInput, (input: CallInput, ctx) =>
    service.call(input, ctx),
  )
}

type CallFields = Fields<typeof callInput>

class Service {
  readonly #guard: Guard
  readonly #secrets: Secrets
  readonly #name: string
  readonly #keyHeader: string | undefined
  readonly #timeoutMs: number
  readonly #responseBytesMax: number
  readonly #requestBytesMax: number
  readonly #redirectsMax: number

  constructor(options: HttpOptions, name: string) {
    const { hosts, secrets = {}, idempotencyHeader = 'Idempotency-Key' } = options
    this.#name = name
    this.#guard = new Guard(options, name)
    this.#secrets = new Secrets(secrets, hosts, name)
    const what = `'idempotencyHeader' of ${name}`
    this.#keyHeader =
      idempotencyHeader === false ? undefined : checkedHeaderName(idempotencyHeader, what)
    this.#timeoutMs = milliseconds(options.timeout ?? limits.httpTimeoutMs)
    this.#responseBytesMax = options.maxResponseBytes ?? limits.httpResponseBytesMax
    this.#requestBytesMax = options.maxRequestBytes ?? limits.httpRequestBytesMax
    this.#redirectsMax = options.maxRedirects ?? limits.httpRedirectsMax
  }

  async call(input: unknown, ctx: ActivityContext): Promise<CallOutput> {
    const fields = new Fields(`the input of '${this.#name}'`, input, callInput)
    const call = await this.#callOf(fields, ctx)
    const answer = await guardedFetch(this.#guard, call, ctx.signal)
    return { status: answer.status, headers: plainHeaders(answer.headers), ...contentOf(answer) }
  }

  async #callOf(fields: CallFields, ctx: ActivityContext): Promise<Call> {
    const url = this.#guard.urlOf(fields.get('url'))
    addQuery(url, fields.get('query') ?? {})
    const content = contentOfInput(fields)
    const method = methodOf(fields, content !== undefined)
    if (content && content.bytes.byteLength > this.#requestBytesMax) {
      const message = `the body to send has ${content.bytes.byteLength} bytes, at most ${this.#requestBytesMax} are possible.`
      throw refused('REQUEST_TOO_LARGE', message)
    }
    const given = await headersOf(fields.get('headers') ?? {}, url, this.#secrets)
    const { responseBytesMax, timeoutMs } = this.#limitsOf(fields)
    return {
      method,
      url,
      headers: this.#withOwn(given, content?.type, ctx),
      body: content?.bytes,
      timeoutMs,
      responseBytesMax,
      overflow: 'refuse',
      redirectsMax: this.#redirectsMax,
      isSuccess: successOf(fields),
    }
  }

  #limitsOf(fields: CallFields): Pick<Call, 'responseBytesMax' | 'timeoutMs'> {
    const most = this.#responseBytesMax
    const responseBytesMax = fields.get('maxBytes') ?? most
    if (responseBytesMax > most)
      throw fields.wrong('maxBytes', `a whole number from 1 to ${most}, as the options say`)
    const timeout = fields.get('timeout')
    const timeoutMs = timeout === undefined ? this.#timeoutMs : milliseconds(timeout)
    return { responseBytesMax, timeoutMs }
  }

  #withOwn(given: readonly Header[], type: string | undefined, ctx: ActivityContext): Header[] {
    const own: Header[] = []
    if (type !== undefined) own.push({ name: 'content-type', value: type })
    if (this.#keyHeader !== undefined) {
      own.push({ name: this.#keyHeader, value: keyOf(ctx), isPortable: true })
    }
    const names = new Set(given.map(({ name }) => name.toLowerCase()))
    return [...own.filter(({ name }) => !names.has(name.toLowerCase())), ...given]
  }
}

function methodOf(fields: CallFields, hasBody: boolean): string {
  const method = fields.get('method')?.toUpperCase() ?? (hasBody ? 'POST' : 'GET')
  if (!hasBody || (method !== 'GET' && method !== 'HEAD')) return method
  throw refused('INPUT_INVALID', `${fields.what} has a body, and ${method} takes none.`)
}

function contentOfInput(fields: CallFields): { bytes: Buffer; type: string } | undefined {
  if (fields.has('body') && fields.has('text')) {
    throw refused('INPUT_INVALID', `${fields.what} has 'body' and 'text'; give one of them.`)
  }
  const text = fields.get('text')
  if (text !== undefined) return { bytes: Buffer.from(text), type: 'text/plain;charset=utf-8' }
  if (!fields.has('body')) return undefined
  return { bytes: jsonBytes(fields.get('body'), `'body' of ${fields.what}`), type: JSON_TYPE }
}

function isScalar(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

function addQuery(url: URL, query: NonNullable<CallInput['query']>): void {
  for (const [name, given] of Object.entries(query)) {
    for (const value of Array.isArray(given) ? given : [given]) {
      if (value !== undefined) url.searchParams.append(name, String(value))
    }
  }
  if (url.href.length <= limits.httpUrlLengthMax) return
  const message = `the URL and its query have ${url.href.length} characters, at most ${limits.httpUrlLengthMax} are possible.`
  throw refused('URL_REFUSED', message)
}

function successOf(fields: CallFields): Call['isSuccess'] {
  const expected = fields.get('expect')
  if (expected === undefined) return isSuccess
  const statuses = new Set(expected)
  return (status) => statuses.has(status)
}

/** Cookies are credentials, and what this gives is recorded. */
function plainHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const plain = Object.entries(headers).flatMap(([name, value]) => {
    if (value === undefined || name === 'set-cookie') return []
    return [[name, Array.isArray(value) ? value.join(', ') : value] as const]
  })
  return Object.fromEntries(plain)
}
