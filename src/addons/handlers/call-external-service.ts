// call_external_service: sends one HTTP request.
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
import { limits } from '../../core/base/limits.ts'
import { milliseconds } from '../../core/base/time.ts'
import type { Json } from '../../core/base/value.ts'
import type { Activity, ActivityContext } from '../../core/index.ts'
import { permanentError } from './errors.ts'
import { Guard, guardOptions } from './guard.ts'
import { type Call, guardedFetch, type Header } from './guarded-fetch.ts'
import { checkedHeaderName, headersOf, keyOf } from './headers.ts'
import { contentOf, isSuccess, JSON_TYPE, jsonBytes } from './http-body.ts'
import { InputReader, nonEmptyText } from './input-reader.ts'
import { checkedName, commonOptions, handlerActivity, timeLimit } from './options.ts'
import { Secrets, secretOption, secretReference } from './secrets.ts'

const upTo = (about: string, max: number): Option<number> => whole(about, [0, max], { otherwise: spelled(max) })

export const httpOptions = {
  ...commonOptions,
  ...guardOptions,
  /** Secrets by name, for headers: `{ authorization: { secret: 'billing', prefix: 'Bearer ' } }`. */
  secrets: byName(
    "Secrets by name, for headers: `{ authorization: { secret: 'billing', prefix: 'Bearer ' } }`.",
    'an object of secrets: strings, functions, or `{ value, hosts }`',
    secretOption,
  ),
  /** The header that carries the idempotency key; false for none. Default: 'Idempotency-Key'. */
  idempotencyHeader: option<string | false>(
    'The header that carries the idempotency key.',
    'the name of a header, or false for none',
    (value) => typeof value === 'string' || value === false,
    { otherwise: "'Idempotency-Key'" },
  ),
  /** How long a request may take whose input has no `timeout`. Default: 30s. */
  timeout: timeLimit('How long a request may take whose input has no `timeout`.', limits.httpTimeoutMs),
  maxResponseBytes: upTo('The largest response body.', limits.httpResponseBytesMax),
  maxRequestBytes: upTo('The largest request body.', limits.httpRequestBytesMax),
  /** The most redirects to follow. Default: 5. */
  maxRedirects: upTo('The most redirects to follow.', limits.httpRedirectsMax),
} as const
export interface HttpOptions extends Described<typeof httpOptions> {}

type QueryValue = string | number | boolean

const methods: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

export const callInput = {
  url: required(nonEmptyText('The URL: `http:` or `https:`, without credentials.')),
  /** The HTTP method. Default: GET, or POST with a body. */
  method: option<string>(
    'The HTTP method.',
    `one of ${methods.join(', ')}`,
    (value) => typeof value === 'string' && methods.includes(value.toUpperCase()),
    { otherwise: 'GET, or POST with a body' },
  ),
  headers: byName(
    'Strings or secrets. `host`, `content-length` and others that frame the message are refused.',
    "an object of strings, or `{ secret: '<name>' }`",
    either(option<string>('', 'a string', isScalar), nested('', secretReference)),
  ),
  query: byName<QueryValue | readonly QueryValue[]>(
    'Parameters added to the URL; a list repeats the name.',
    'an object',
    option('', 'a string, a number, a boolean, or a list of them', (value) =>
      Array.isArray(value) ? value.every(isScalar) : isScalar(value),
    ),
  ),
  /** The body, sent as JSON. */
  body: given<unknown>('The body, sent as JSON.', 'a JSON value'),
  /** The body as text, instead of `body`. Set `content-type` if it is not plain text. */
  text: text('The body as text, instead of `body`. Set `content-type` if it is not plain text.'),
  /** The statuses that count as a success. Default: 200 to 299. */
  expect: option<readonly number[]>(
    'The statuses that count as a success, such as `[200, 404]`.',
    'a list of numbers from 200 to 599',
    (value) => Array.isArray(value) && value.every((each) => isWhole(each, 200, 599)),
    { otherwise: '200 to 299' },
  ),
  /** How long name lookup, connection, redirects and body may take together. */
  timeout: timeLimit('How long name lookup, connection, redirects and body may take together.'),
  /** The largest response body. */
  maxBytes: whole('The largest response body; the response is recorded.', [1, limits.httpResponseBytesMax]),
} as const
export interface CallInput extends Described<typeof callInput> {}

export interface CallOutput {
  readonly status: number
  /** With names in lower case, without set-cookie. */
  readonly headers: Readonly<Record<string, string>>
  /** The parsed JSON, else the text; null if the body is empty. */
  readonly body: Json
  /** Set if the body is not UTF-8: `body` is then base64. */
  readonly encoding?: 'base64'
}

const NAME = 'call_external_service'

export function callExternalService(options: HttpOptions = {}): Activity<CallInput, CallOutput> {
  const name = checkedName(httpOptions, options, NAME)
  const service = new Service(options, name)
  return handlerActivity(name, options.activity, callInput, (input: CallInput, ctx) => service.call(input, ctx))
}

type CallFields = InputReader<typeof callInput>

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
    this.#keyHeader = idempotencyHeader === false ? undefined : checkedHeaderName(idempotencyHeader, what)
    this.#timeoutMs = milliseconds(options.timeout ?? limits.httpTimeoutMs)
    this.#responseBytesMax = options.maxResponseBytes ?? limits.httpResponseBytesMax
    this.#requestBytesMax = options.maxRequestBytes ?? limits.httpRequestBytesMax
    this.#redirectsMax = options.maxRedirects ?? limits.httpRedirectsMax
  }

  async call(input: unknown, ctx: ActivityContext): Promise<CallOutput> {
    const fields = new InputReader(`the input of '${this.#name}'`, input, callInput)
    const call = await this.#callOf(fields, ctx)
    const response = await guardedFetch(this.#guard, call, ctx.signal)
    const { status, headers } = response
    return { status, headers: plainHeaders(headers), ...contentOf(response) }
  }

  async #callOf(fields: CallFields, ctx: ActivityContext): Promise<Call> {
    const url = this.#guard.parseUrl(fields.get('url'))
    addQuery(url, fields.get('query') ?? {})
    const content = contentOfInput(fields)
    const method = methodOf(fields, content !== undefined)
    if (content && content.bytes.byteLength > this.#requestBytesMax) {
      const message = `the request body has ${content.bytes.byteLength} bytes; the limit is ${this.#requestBytesMax}. Send less.`
      throw permanentError('REQUEST_TOO_LARGE', message)
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
      throw fields.invalid('maxBytes', `a whole number from 1 to ${most}, the limit in the options`)
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
  throw permanentError(
    'INPUT_INVALID',
    `${fields.what} has a body, which ${method} does not allow. Leave it out, or use another method.`,
  )
}

function contentOfInput(fields: CallFields): { bytes: Buffer; type: string } | undefined {
  if (fields.has('body') && fields.has('text')) {
    throw permanentError('INPUT_INVALID', `${fields.what} has both 'body' and 'text'. Give one of them.`)
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
  const message = `the URL with its query has ${url.href.length} characters; the limit is ${limits.httpUrlLengthMax}. Send less in the query.`
  throw permanentError('URL_REFUSED', message)
}

function successOf(fields: CallFields): Call['isSuccess'] {
  const expected = fields.get('expect')
  if (expected === undefined) return isSuccess
  const statuses = new Set(expected)
  return (status) => statuses.has(status)
}

/** Drops set-cookie: cookies are credentials, and the output is recorded. */
function plainHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const plain = Object.entries(headers).flatMap(([name, value]) => {
    if (value === undefined || name === 'set-cookie') return []
    return [[name, Array.isArray(value) ? value.join(', ') : value] as const]
  })
  return Object.fromEntries(plain)
}
