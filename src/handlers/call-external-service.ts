// call_external_service: one HTTP request as a step.
import type { IncomingHttpHeaders } from 'node:http'
import { type Activity, activity } from '../definitions/activity.ts'
import type { ActivityContext } from '../definitions/contract.ts'
import type { Duration } from '../kernel/duration.ts'
import { limits } from '../kernel/limits.ts'
import type { Json } from '../kernel/value.ts'
import { contentOf, isSuccess, JSON_TYPE, jsonBytes } from './contents.ts'
import { Fields, type Plain, timeoutMs, wrong } from './fields.ts'
import { Guard, type GuardOptions } from './guard.ts'
import { type Call, guardedFetch, type Header } from './guarded-fetch.ts'
import { checkedHeaderName, headersOf, keyOf } from './headers.ts'
import { checkedSize, type HandlerOptions } from './options.ts'
import { refused } from './refusals.ts'
import { type Secret, Secrets } from './secrets.ts'

export interface HttpOptions extends GuardOptions, HandlerOptions {
  /** By name, for headers: `{ authorization: { secret: 'billing', prefix: 'Bearer ' } }`. */
  readonly secrets?: Readonly<Record<string, Secret>>
  /** In which header the idempotency key goes; false is in none. 'Idempotency-Key' */
  readonly idempotencyHeader?: string | false
  /** For a request whose input has none. 30s */
  readonly timeout?: Duration
  readonly maxResponseBytes?: number
  readonly maxRequestBytes?: number
  /** How many are followed. 5 */
  readonly maxRedirects?: number
}

type QueryValue = string | number | boolean

export interface CallInput {
  readonly url: string
  /** GET, or POST if there is a body. */
  readonly method?: string
  readonly headers?: Readonly<
    Record<string, string | { readonly secret: string; readonly prefix?: string }>
  >
  readonly query?: Readonly<Record<string, QueryValue | readonly QueryValue[]>>
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent as it is, instead of `body`. */
  readonly text?: string
  /** The statuses that are a success. All from 200 to 299 */
  readonly expect?: readonly number[]
  /** For all of it: name, connection, redirects and body. */
  readonly timeout?: Duration
  /** Of the answer. */
  readonly maxBytes?: number
}

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

const known = [
  'url',
  'method',
  'headers',
  'query',
  'body',
  'text',
  'expect',
  'timeout',
  'maxBytes',
] as const

const methods: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

export function callExternalService(options: HttpOptions = {}): Activity<CallInput, CallOutput> {
  const name = options.name ?? NAME
  const service = new Service(options, name)
  return activity(name, options.activity ?? {}, (input: CallInput, ctx) => service.call(input, ctx))
}

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
    this.#timeoutMs = timeoutMs(options.timeout ?? limits.httpTimeoutMs, `'timeout' of ${name}`)
    const size = (given: number | undefined, option: string, max: number): number =>
      checkedSize(given ?? max, `'${option}' of ${name}`, max)
    const { maxResponseBytes, maxRequestBytes, maxRedirects } = options
    this.#responseBytesMax = size(maxResponseBytes, 'maxResponseBytes', limits.httpResponseBytesMax)
    this.#requestBytesMax = size(maxRequestBytes, 'maxRequestBytes', limits.httpRequestBytesMax)
    this.#redirectsMax = size(maxRedirects, 'maxRedirects', limits.httpRedirectsMax)
  }

  async call(input: unknown, ctx: ActivityContext): Promise<CallOutput> {
    const fields = new Fields(`the input of '${this.#name}'`, input, known)
    const call = await this.#callOf(fields, ctx)
    const answer = await guardedFetch(this.#guard, call, ctx.signal)
    return { status: answer.status, headers: plainHeaders(answer.headers), ...contentOf(answer) }
  }

  async #callOf(fields: Fields, ctx: ActivityContext): Promise<Call> {
    const url = this.#guard.urlOf(fields.text('url'))
    addQuery(url, fields.optionalPlain('query') ?? {})
    const content = contentOfInput(fields)
    const method = methodOf(fields, content !== undefined)
    if (content && content.bytes.byteLength > this.#requestBytesMax) {
      const message = `the body to send has ${content.bytes.byteLength} bytes, at most ${this.#requestBytesMax} are possible.`
      throw refused('REQUEST_TOO_LARGE', message)
    }
    const given = await headersOf(fields.optionalPlain('headers') ?? {}, url, this.#secrets)
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

  #limitsOf(fields: Fields): Pick<Call, 'responseBytesMax' | 'timeoutMs'> {
    const asked = fields.optionalCount('maxBytes', this.#responseBytesMax)
    const timeoutMs = fields.optionalTimeoutMs('timeout') ?? this.#timeoutMs
    return { responseBytesMax: asked ?? this.#responseBytesMax, timeoutMs }
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

function methodOf(fields: Fields, hasBody: boolean): string {
  const method = fields.optionalText('method')?.toUpperCase() ?? (hasBody ? 'POST' : 'GET')
  if (!methods.includes(method)) throw fields.wrong('method', `one of ${methods.join(', ')}`)
  if (!hasBody || (method !== 'GET' && method !== 'HEAD')) return method
  throw refused('INPUT_INVALID', `${fields.what} has a body, and ${method} takes none.`)
}

function contentOfInput(fields: Fields): { bytes: Buffer; type: string } | undefined {
  if (fields.has('body') && fields.has('text')) {
    throw refused('INPUT_INVALID', `${fields.what} has 'body' and 'text'; give one of them.`)
  }
  const text = fields.get('text')
  if (text !== undefined) {
    if (typeof text !== 'string') throw fields.wrong('text', 'a text')
    return { bytes: Buffer.from(text), type: 'text/plain;charset=utf-8' }
  }
  if (!fields.has('body')) return undefined
  return { bytes: jsonBytes(fields.get('body'), `'body' of ${fields.what}`), type: JSON_TYPE }
}

function addQuery(url: URL, query: Plain): void {
  for (const [name, given] of Object.entries(query)) {
    for (const value of Array.isArray(given) ? (given as unknown[]) : [given]) {
      if (value === undefined) continue
      if (typeof value === 'string') url.searchParams.append(name, value)
      else if (typeof value === 'number' || typeof value === 'boolean') {
        url.searchParams.append(name, String(value))
      } else throw wrong(`'${name}' of the query`, value, 'a text, a number, true or false')
    }
  }
  if (url.href.length <= limits.httpUrlLengthMax) return
  const message = `the URL and its query have ${url.href.length} characters, at most ${limits.httpUrlLengthMax} are possible.`
  throw refused('URL_REFUSED', message)
}

function successOf(fields: Fields): Call['isSuccess'] {
  const expected = fields.optionalList('expect')
  if (expected === undefined) return isSuccess
  for (const status of expected) {
    if (!Number.isInteger(status) || Number(status) < 200 || Number(status) > 599) {
      throw wrong(`a status in 'expect' of ${fields.what}`, status, 'a number from 200 to 599')
    }
  }
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
