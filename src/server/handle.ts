// From a request to its answer: who asks, which operation, its input, the operation, its output.
import type { JsonSchema } from '../core/base/described.ts'
import { PawlError } from '../core/base/errors.ts'
import { limits } from '../core/base/limits.ts'
import { visible } from '../core/base/visible.ts'
import type { Clock } from '../core/runtime/clock.ts'
import type { Logger } from '../core/runtime/logger.ts'
import type { Engine } from '../engine.ts'
import type { Caller, ServerBooks } from '../operations/handlers/context.ts'
import type { Batches, LiveEvent, WindowEvent } from '../operations/live/events.ts'
import { type Operable, operate } from '../operations/operate.ts'
import type { Credential } from '../operations/outputs.ts'
import { internalProblem, type Problem, problemOf } from '../operations/problems.ts'
import { type OperationName, type Route, routes } from '../operations/routes.ts'
import { version } from '../operations/version.ts'
import {
  EXACT_TYPE,
  exactText,
  fromUrl,
  JSON_TYPE,
  PROBLEM_TYPE,
  parseBody,
  plainText,
  withDates,
} from '../operations/wire.ts'
import { type Access, Refusal, tooMany, unauthenticated } from './access.ts'
import type { Audit } from './audit.ts'
import { audited } from './audited.ts'
import type { HttpAnswer, HttpRequest } from './http.ts'
import { inputSchemas, openApi, propertiesOf, readsQuery, statusFor } from './openapi.ts'
import { API, match } from './router.ts'
import { Streams } from './streams.ts'

/** A namespace: an engine, and the trail of what was changed in its store. */
export interface Namespace {
  readonly engine: Engine
  readonly audit: Audit
}

export interface HandlerParts {
  readonly namespaces: Readonly<Record<string, Namespace>>
  readonly tokens: ServerBooks['tokens']
  readonly access: Access
  readonly logger: Logger
  readonly clock: Clock
  /** Aborted when the server stops. */
  readonly stopped: AbortSignal
  readonly newId: () => string
}

/** Headers of every answer. Nothing that this server sends is to be run, framed or kept. */
const safeHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
} as const

/** Proxies pass a stream on as it comes. */
const streamHeaders = { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' } as const

export class Handler {
  readonly #parts: HandlerParts
  readonly #streams: Streams
  #inProgress = 0
  #openApi: object | undefined

  constructor(parts: HandlerParts) {
    this.#parts = parts
    this.#streams = new Streams(parts.clock)
  }

  get inProgress(): number {
    return this.#inProgress
  }

  get openStreams(): number {
    return this.#streams.size
  }

  async answer(request: HttpRequest): Promise<HttpAnswer> {
    const requestId = this.#parts.newId()
    const headers = { ...safeHeaders, 'x-request-id': requestId, ...this.#parts.access.corsHeaders(request) }
    this.#inProgress++
    try {
      const answer = await this.#answer(request, requestId)
      return { ...answer, headers: { ...headers, ...answer.headers } }
    } catch (error) {
      const { status, ...problem } = this.#problem(error, requestId)
      const more = error instanceof Refusal ? error.headers : status === 503 ? { 'retry-after': '1' } : {}
      const body = plainText({ ...problem, status })
      return { status, headers: { ...headers, 'content-type': PROBLEM_TYPE, ...more }, body }
    } finally {
      this.#inProgress--
    }
  }

  #problem(error: unknown, requestId: string): Problem {
    const known = problemOf(error, requestId)
    if (known && known.status !== 500) return known
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    this.#parts.logger.log('error', `request ${requestId} failed: ${visible(text)}`, { requestId })
    return internalProblem(requestId)
  }

  async #answer(request: HttpRequest, requestId: string): Promise<HttpAnswer> {
    const { access } = this.#parts
    if (request.target.length > limits.requestUrlLengthMax) {
      const message = `the URL has ${request.target.length} characters; expected at most ${limits.requestUrlLengthMax}.`
      throw new PawlError('REQUEST_TOO_LARGE', message)
    }
    access.checkPlace(request)
    if (request.method === 'OPTIONS') return { status: 204, headers: access.preflight(request) }
    if (this.#inProgress > limits.requestsAtOnce) throw tooMany(1_000)
    const [path, query] = splitAt(request.target, '?')
    const { name, route, fields } = found(request.method === 'HEAD' ? 'GET' : request.method, path)
    if (name === 'openapi.get') return jsonAnswer(200, (this.#openApi ??= openApi(version())), false)
    const credential = await access.credentialOf(request)
    if (!credential) throw unauthenticated('the request has no token')
    const input = { ...(await bodyOf(request, name, route)), ...queryOf(query, name, route), ...fields }
    keyed(input, route, request.header('idempotency-key'))
    const space = this.#namespaceOf(credential)
    const change = { name, input, by: credential.name, requestId, reason: request.header('x-reason') }
    const caller = this.#caller(credential, space, request)
    if (route.form === 'events') return this.#stream(name, input, caller, request)
    const output = await audited(space.audit, change, () => operate(name, input, caller))
    if (route.form === 'lines')
      return { status: 200, headers: { 'content-type': 'application/x-ndjson' }, body: lines(output) }
    if (route.success === 204) return { status: 204, headers: {} }
    return jsonAnswer(statusFor(name, route, output), output, isExact(request.header('accept')))
  }

  // Only the beginning of a stream counts as a request in progress: this returns when the stream can be read.
  async #stream(name: Operable, input: Fields, caller: Caller, request: HttpRequest): Promise<HttpAnswer> {
    const last = request.header('last-event-id')
    // A browser connects again with the address it had, so the header is newer than the field.
    if (last !== undefined && last !== '' && Object.hasOwn(propertiesOf(name), 'after')) input['after'] = last
    const { signal, stop } = this.#streams.open(`${caller.namespace} ${caller.name}`, [caller.signal])
    try {
      const events = (await operate(name, input, { ...caller, signal })) as Batches<LiveEvent | WindowEvent> | undefined
      if (events && request.method !== 'HEAD') {
        return { status: 200, headers: streamHeaders, body: this.#streams.texts(events, { signal, stop }), signal }
      }
      stop()
      return events ? { status: 200, headers: streamHeaders } : { status: 204, headers: {} }
    } catch (error) {
      stop()
      throw error
    }
  }

  #namespaceOf({ namespace }: Credential): Namespace {
    const { namespaces } = this.#parts
    const space = Object.hasOwn(namespaces, namespace) ? namespaces[namespace] : undefined
    if (!space) throw unauthenticated(`the namespace of the token, '${namespace}', is not served here`)
    return space
  }

  #caller({ name, scope, namespace }: Credential, { engine, audit }: Namespace, { signal }: HttpRequest): Caller {
    const { tokens, stopped } = this.#parts
    return { engine, name, scope, namespace, books: { tokens, audit }, signal: AbortSignal.any([signal, stopped]) }
  }
}

function found(
  method: string,
  path: string,
): { name: OperationName; route: Route; fields: Readonly<Record<string, string>> } {
  const matched = matchSafely(method, path)
  switch (matched.type) {
    case 'found':
      return { name: matched.name, route: routes[matched.name], fields: matched.fields }
    case 'method': {
      const allow = matched.allowed.join(', ')
      throw new Refusal('METHOD_NOT_ALLOWED', `${visible(method)} is no method of this path; expected ${allow}.`, {
        allow,
      })
    }
    case 'missing': {
      const shown = visible(path).slice(0, 200)
      throw new PawlError('ROUTE_NOT_FOUND', `there is no ${shown} here. The routes are in ${API}/openapi.json.`)
    }
  }
}

function matchSafely(method: string, path: string): ReturnType<typeof match> {
  try {
    return match(method, path)
  } catch (error) {
    if (!(error instanceof URIError)) throw error
    throw new PawlError('INPUT_INVALID', 'the path has a broken escape; expected % and two hexadecimal digits.')
  }
}

type Fields = Record<string, unknown>

async function bodyOf(request: HttpRequest, name: OperationName, route: Route): Promise<Fields> {
  if (readsQuery(route)) return {}
  const type = request.header('content-type')?.split(';')[0]?.trim().toLowerCase()
  const text = await request.body(limits.requestBytesMax)
  if (type !== JSON_TYPE && type !== EXACT_TYPE) {
    if (type === undefined && text === '') return {}
    const message = `the content type is '${visible(type ?? 'missing')}'; expected ${JSON_TYPE}.`
    throw new PawlError('MEDIA_TYPE_UNSUPPORTED', message)
  }
  if (text === '') return {}
  const body = parseBody(text, type === EXACT_TYPE)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new PawlError('INPUT_INVALID', `the body of ${name} is not an object; expected { … }.`)
  }
  return (type === EXACT_TYPE ? body : withDates(body, inputSchemas[name])) as Fields
}

/** The fields of the query. Each may be given once. */
function queryOf(query: string, name: OperationName, route: Route): Fields {
  if (query === '') return {}
  const fields: Fields = {}
  for (const [field, text] of new URLSearchParams(query)) {
    if (Object.hasOwn(fields, field)) {
      throw new PawlError('INPUT_INVALID', `the query has \`${visible(field)}\` twice; expected it once.`)
    }
    if (!readsQuery(route)) {
      throw new PawlError('INPUT_INVALID', `${name} takes its fields in the body, not in the query.`)
    }
    const schema: JsonSchema | undefined = Object.hasOwn(propertiesOf(name), field)
      ? propertiesOf(name)[field]
      : undefined
    Object.defineProperty(fields, field, {
      value: withDates(fromUrl(text, schema), schema),
      ...{ enumerable: true, writable: true, configurable: true },
    })
  }
  return fields
}

function keyed(input: Fields, { key }: Route, header: string | undefined): void {
  if (header === undefined || key === undefined) return
  if (header === '' || header.length > 255) {
    const message = `the header \`Idempotency-Key\` has ${header.length} characters; expected 1 to 255.`
    throw new PawlError('INPUT_INVALID', message)
  }
  if (input[key] !== undefined && input[key] !== header) {
    throw new PawlError('INPUT_INVALID', `\`${key}\` and the header \`Idempotency-Key\` differ. Send one of them.`)
  }
  input[key] = header
}

function isExact(accept: string | undefined): boolean {
  return accept?.includes(EXACT_TYPE) ?? false
}

function jsonAnswer(status: number, output: unknown, exact: boolean): HttpAnswer {
  const type = exact ? EXACT_TYPE : JSON_TYPE
  return { status, headers: { 'content-type': type }, body: exact ? exactText(output) : plainText(output) }
}

async function* lines(output: unknown): AsyncGenerator<string> {
  for await (const line of output as AsyncIterable<string>) yield `${line}\n`
}

function splitAt(text: string, mark: string): readonly [string, string] {
  const at = text.indexOf(mark)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}
