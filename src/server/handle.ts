// From a request to its answer: who asks, which operation, its input, the operation, its output.
import { PawlError } from '../core/base/errors.ts'
import { limits } from '../core/base/limits.ts'
import { visible } from '../core/base/visible.ts'
import type { Clock } from '../core/runtime/clock.ts'
import type { Logger } from '../core/runtime/logger.ts'
import type { Engine } from '../engine.ts'
import type { Caller, QueryCode, ServerBooks } from '../operations/handlers/context.ts'
import type { Batches, LiveEvent, WindowEvent } from '../operations/live/events.ts'
import type { StreamEvent } from '../operations/live/stream-events.ts'
import { type Operable, operate } from '../operations/operate.ts'
import type { Credential } from '../operations/outputs.ts'
import { internalProblem, type Problem, problemOf } from '../operations/problems.ts'
import { type OperationName, type Route, routes } from '../operations/routes.ts'
import { version } from '../operations/version.ts'
import { EXACT_TYPE, exactText, JSON_TYPE, PROBLEM_TYPE, plainText } from '../operations/wire.ts'
import { type Access, Refusal, tooMany, unauthenticated } from './access.ts'
import type { Audit } from './audit.ts'
import { audited } from './audited.ts'
import { type HttpAnswer, type HttpRequest, safeHeaders } from './http.ts'
import { inputSchemas, openApi, propertiesOf, readsQuery, statusFor } from './openapi.ts'
import { type Call, checkTaken, otherRoute } from './other-routes.ts'
import type { Probes } from './probes.ts'
import { bodyOf, type Fields, keyed, onlyOnce, pairsOf, queryOf, splitAt } from './read-input.ts'
import { API, match } from './router.ts'
import { METRICS_PATH, type Scrape } from './scrape.ts'
import { Streams } from './streams.ts'
import { traced } from './traced.ts'
import type { WebUi } from './ui.ts'
import { checkWebhook, type WebhookCall, webhookOf, webhookPayload } from './webhooks.ts'

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
  readonly query: QueryCode | undefined
  readonly probes: Probes
  /** The web UI, if it is served. */
  readonly ui: WebUi | undefined
  /** Absent if the server has no metrics. */
  readonly scrape: Scrape | undefined
}

/** What becomes known of a request on its way, for metrics. */
interface Known {
  operation?: string
  engine?: Engine
}

/** Proxies pass a stream on as it comes. */
const streamHeaders = { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' } as const

export class Handler {
  readonly #parts: HandlerParts
  readonly #streams: Streams
  readonly #inProgress = new Set<Promise<HttpAnswer>>()
  #openApi: object | undefined

  constructor(parts: HandlerParts) {
    this.#parts = parts
    this.#streams = new Streams(parts.clock)
  }

  /** Resolves when no request is in progress. */
  async finished(): Promise<void> {
    while (this.#inProgress.size > 0) await Promise.all(this.#inProgress)
  }

  get openStreams(): number {
    return this.#streams.size
  }

  async answer(request: HttpRequest): Promise<HttpAnswer> {
    const probed = await this.#parts.probes.answer(request)
    if (probed) return { ...probed, headers: { ...safeHeaders, ...probed.headers } }
    const answer = this.#answerAlways(request)
    this.#inProgress.add(answer)
    try {
      return await answer
    } finally {
      this.#inProgress.delete(answer)
    }
  }

  /** Answers errors, too. */
  async #answerAlways(request: HttpRequest): Promise<HttpAnswer> {
    const requestId = this.#parts.newId()
    const known: Known = {}
    const sent = this.#parts.clock.monotonic()
    const answer = await this.#answerKnown(request, requestId, known)
    this.#announce(request, { status: answer.status, requestId, ms: this.#parts.clock.monotonic() - sent }, known)
    return answer
  }

  #announce(
    { method }: HttpRequest,
    answered: { readonly status: number; readonly requestId: string; readonly ms: number },
    { operation, engine = Object.values(this.#parts.namespaces)[0]?.engine }: Known,
  ): void {
    const at = new Date(this.#parts.clock.now())
    const named = operation === undefined ? {} : { operation }
    engine?.announce(() => ({ type: 'http.answered', at, method, ...named, ...answered }))
  }

  async #answerKnown(request: HttpRequest, requestId: string, known: Known): Promise<HttpAnswer> {
    const headers = { ...safeHeaders, 'x-request-id': requestId, ...this.#parts.access.corsHeaders(request) }
    try {
      const answer = await this.#answer(request, requestId, known)
      return { ...answer, headers: { ...headers, ...answer.headers } }
    } catch (error) {
      const { status, ...problem } = this.#problem(request.signal.aborted ? clientGone : error, requestId)
      const more = error instanceof Refusal ? error.headers : status === 503 ? { 'retry-after': '1' } : {}
      const body = plainText({ ...problem, status })
      return { status, headers: { ...headers, 'content-type': PROBLEM_TYPE, ...more }, body }
    }
  }

  #problem(error: unknown, requestId: string): Problem {
    const known = problemOf(error, requestId)
    if (known && known.status !== 500) return known
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    this.#parts.logger.log('error', `request ${requestId} failed: ${visible(text)}`, { requestId })
    return internalProblem(requestId)
  }

  async #answer(request: HttpRequest, requestId: string, known: Known): Promise<HttpAnswer> {
    const { access, stopped } = this.#parts
    if (stopped.aborted) throw stopped.reason
    if (request.target.length > limits.requestUrlLengthMax) {
      const message = `the URL has ${request.target.length} characters; expected at most ${limits.requestUrlLengthMax}.`
      throw new PawlError('REQUEST_TOO_LARGE', message)
    }
    const [path, query] = splitAt(request.target, '?')
    // A person may look at the metrics, too.
    const page = path === METRICS_PATH ? undefined : this.#parts.ui?.answer(request)
    if (page) {
      // Links on other sites may lead to a page: it holds no data.
      access.checkHost(request)
      return page
    }
    access.checkPlace(request)
    if (request.method === 'OPTIONS') {
      return { status: 204, headers: { allow: methodsOf(path).join(', '), ...access.preflight(request) } }
    }
    if (this.#inProgress.size >= limits.requestsAtOnce) throw tooMany(1_000)
    const other = path.startsWith(`${API}/`)
      ? undefined
      : await this.#elsewhere(request, [path, query], requestId, known)
    if (other) return other
    const { name, route, fields } = found(request.method === 'HEAD' ? 'GET' : request.method, path)
    known.operation = name
    if (name === 'openapi.get') return jsonAnswer(200, (this.#openApi ??= openApi(version())), false)
    const credential = await this.#credentialOf(request)
    const read = readsQuery(route)
      ? queryOf(query, name)
      : await bodyOf(request, query, { name, schema: inputSchemas[name] })
    const input = { ...read, ...onlyOnce(fields, read, name) }
    keyed(input, route, request.header('idempotency-key'))
    const space = this.#namespaceOf(credential)
    known.engine = space.engine
    const change = {
      name,
      input,
      by: credential.name,
      scope: credential.scope,
      requestId,
      reason: reasonOf(request),
    }
    const caller = this.#caller(credential, space, request)
    if (route.form === 'events') return this.#stream(name, input, caller, request)
    const output = await traced(space.engine, { name, route, input, request, requestId }, async (given) => {
      const done = await audited(space.audit, change, () => operate(name, given, caller))
      return { status: statusFor(name, route, done), output: done }
    })
    if (route.form === 'lines')
      return { status: 200, headers: { 'content-type': 'application/x-ndjson' }, body: await lines(output) }
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
      const events = (await operate(name, input, { ...caller, signal })) as
        | Batches<LiveEvent | StreamEvent | WindowEvent>
        | undefined
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

  async #credentialOf(request: HttpRequest): Promise<Credential> {
    const credential = await this.#parts.access.credentialOf(request)
    if (credential) return credential
    throw unauthenticated('the request has no token')
  }

  /** Webhooks, and routes under the names of other engines. */
  async #elsewhere(
    request: HttpRequest,
    [path, query]: readonly [string, string],
    requestId: string,
    known: Known,
  ): Promise<HttpAnswer | undefined> {
    const { scrape } = this.#parts
    if (scrape && path === METRICS_PATH && (request.method === 'GET' || request.method === 'HEAD')) {
      known.operation = 'metrics'
      if (scrape.isListed(request)) return scrape.answer()
      const { namespace } = await this.#credentialOf(request)
      return scrape.answer(namespace)
    }
    const webhook = webhookOf(path, Object.keys(this.#parts.namespaces))
    if (webhook) {
      known.operation = 'webhook'
      return this.#webhook(request, webhook, requestId)
    }
    const matched = decodable(() => otherRoute(request.method, path))
    if (!matched) return undefined
    const credential = await this.#credentialOf(request)
    const { route, fields } = matched
    known.operation = 'other'
    const isRead = route.method === 'GET'
    const given = isRead ? Object.fromEntries(pairsOf(query)) : await bodyOf(request, query, { name: path })
    checkTaken(route, given)
    const space = this.#namespaceOf(credential)
    const caller = this.#caller(credential, space, request)
    const call: Call = (name, input) => {
      const change = {
        name,
        input,
        by: credential.name,
        scope: credential.scope,
        requestId,
        reason: reasonOf(request),
      }
      return audited(space.audit, change, () => operate(name as Operable, input, caller)) as Promise<never>
    }
    return jsonAnswer(route.status ?? 200, await route.answer(call, fields, given), false)
  }

  async #webhook(request: HttpRequest, { namespace, token }: WebhookCall, requestId: string): Promise<HttpAnswer> {
    checkWebhook(request)
    if (request.method !== 'POST') {
      throw new Refusal('METHOD_NOT_ALLOWED', `a webhook takes POST, not ${visible(request.method)}.`, {
        allow: 'POST',
      })
    }
    this.#parts.access.countWebhook(request)
    const credential = { name: 'webhook', scope: 'operate', namespace } as const
    const space = this.#namespaceOf(credential)
    const input = { token, payload: await webhookPayload(request) }
    const change = {
      name: 'completions.resolve',
      input,
      by: 'webhook',
      scope: 'operate',
      requestId,
      reason: undefined,
    } as const
    const caller = this.#caller(credential, space, request)
    // Callers need no credential: what they try in vain would push older entries out of the trail.
    const output = await operate('completions.resolve', input, caller)
    await audited(space.audit, change, async () => output)
    return jsonAnswer(202, output, false)
  }

  #namespaceOf({ namespace }: Credential): Namespace {
    const { namespaces } = this.#parts
    const space = Object.hasOwn(namespaces, namespace) ? namespaces[namespace] : undefined
    if (!space) throw unauthenticated(`the namespace of the token, '${namespace}', is not served here`)
    return space
  }

  #caller({ name, scope, namespace }: Credential, { engine, audit }: Namespace, { signal: gone }: HttpRequest): Caller {
    const { tokens, stopped, query } = this.#parts
    const signal = AbortSignal.any([gone, stopped])
    return { engine, name, scope, namespace, books: { tokens, audit }, signal, ...(query && { query }) }
  }
}

function found(
  method: string,
  path: string,
): { name: OperationName; route: Route; fields: Readonly<Record<string, string>> } {
  const matched = matchSafely(method, path)
  switch (matched.type) {
    case 'found': {
      const { name, fields, isCall } = matched
      // A call by name has its whole input in the body.
      const route: Route = isCall ? { ...routes[name], method: 'POST' } : routes[name]
      return { name, route, fields }
    }
    case 'method': {
      const allow = matched.allowed.join(', ')
      throw new Refusal('METHOD_NOT_ALLOWED', `${visible(method)} is no method of this path; expected ${allow}.`, {
        allow,
      })
    }
    case 'missing':
      throw missing(path)
  }
}

function missing(path: string): PawlError {
  const shown = visible(path).slice(0, 200)
  return new PawlError('ROUTE_NOT_FOUND', `there is no ${shown} here. The routes are in ${API}/openapi.json.`)
}

/** The methods of a path, as `Allow` lists them. */
function methodsOf(path: string): readonly string[] {
  const matched = matchSafely('OPTIONS', path)
  if (matched.type === 'missing') throw missing(path)
  return matched.type === 'method' ? matched.allowed : []
}

function matchSafely(method: string, path: string): ReturnType<typeof match> {
  return decodable(() => match(method, path))
}

function decodable<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof URIError)) throw error
    throw new PawlError(
      'INPUT_INVALID',
      'the path has a broken escape; expected % and two hexadecimal digits, of text in UTF-8.',
    )
  }
}

/** Headers are bytes, and this text is in UTF-8. Bytes that are not are taken as they are. */
function reasonOf(request: HttpRequest): string | undefined {
  const text = request.header('x-reason')
  const decoded = text === undefined ? undefined : Buffer.from(text, 'latin1').toString('utf8')
  return decoded?.includes('\ufffd') ? text : decoded
}

function isExact(accept: string | undefined): boolean {
  return accept?.includes(EXACT_TYPE) ?? false
}

function jsonAnswer(status: number, output: unknown, exact: boolean): HttpAnswer {
  const type = exact ? EXACT_TYPE : JSON_TYPE
  return { status, headers: { 'content-type': type }, body: exact ? exactText(output) : plainText(output) }
}

/** Nobody reads this answer, so it is no error that the log should have. */
const clientGone = new PawlError('TRY_LATER', 'the client is gone. Send the request again.')

/** The first line is made before the answer begins, so that an error that shows at once has a status. */
async function lines(output: unknown): Promise<AsyncIterable<string>> {
  const iterator = (output as AsyncIterable<string>)[Symbol.asyncIterator]()
  const first = await iterator.next()
  return linesAfter(first, iterator)
}

async function* linesAfter(first: IteratorResult<string>, iterator: AsyncIterator<string>): AsyncGenerator<string> {
  try {
    for (let next = first; !next.done; next = await iterator.next()) yield `${next.value}\n`
  } finally {
    await iterator.return?.()
  }
}
