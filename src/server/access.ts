// Who may ask for what: hosts, origins and tokens, before a request is read.
import { hash } from 'node:crypto'
import { PawlError } from '../core/base/errors.ts'
import { limits } from '../core/base/limits.ts'
import { quote } from '../core/base/visible.ts'
import type { Clock } from '../core/runtime/clock.ts'
import type { Credential } from '../operations/outputs.ts'
import { Rate } from './counters.ts'
import type { HttpRequest } from './http.ts'
import type { Tokens } from './tokens.ts'

export interface AccessOptions {
  /** Names of this server that a request may use as its host, with their ports. */
  readonly hosts: readonly string[]
  /** Origins of pages that may use this server from a browser. */
  readonly origins: readonly string[]
  /** Requests without a token are let in, because the program that mounts the server checks them. */
  readonly open: boolean
  /** True if the server listens on loopback: requests without a token are let in until there is one. */
  readonly isLocal: () => boolean
  readonly namespace: string
}

/** Refused with details that only the header of the answer needs. */
export class Refusal extends PawlError {
  declare readonly headers: Readonly<Record<string, string>>

  constructor(code: 'UNAUTHENTICATED' | 'TOO_MANY_REQUESTS' | 'METHOD_NOT_ALLOWED', message: string, headers: object) {
    super(code, message)
    Object.defineProperty(this, 'headers', { value: headers, enumerable: false })
  }
}

export class Access {
  readonly #tokens: Tokens
  readonly #options: AccessOptions
  readonly #requests: Rate
  readonly #wrong: Rate
  readonly #isListed: (host: string) => boolean
  readonly #webhooks: Rate
  /** Tokens that were valid, by digest: wrong tokens from the same address do not lock them out. */
  readonly #valid = new Set<string>()

  constructor(tokens: Tokens, clock: Clock, options: AccessOptions) {
    this.#tokens = tokens
    this.#options = options
    this.#isListed = listed(options.hosts)
    this.#requests = new Rate(clock, { perSecond: limits.requestsPerSecond, burst: limits.requestBurst })
    const perMinute = limits.wrongTokensPerMinute
    const webhooks = limits.webhooksPerMinute
    this.#webhooks = new Rate(clock, { perSecond: webhooks / 60, burst: webhooks })
    this.#wrong = new Rate(clock, { perSecond: perMinute / 60, burst: perMinute })
  }

  /** Refuses a request that another web page sent through the browser of a user, or under a name of its own. */
  checkPlace(request: HttpRequest): void {
    this.checkHost(request)
    const origin = request.header('origin')
    if (origin !== undefined && !this.#isOwn(origin, request)) {
      const message = `requests from the origin ${quote(origin)} are refused. Add it to \`origins\` if you trust its pages.`
      throw new PawlError('ORIGIN_REFUSED', message)
    }
    if (origin === undefined && request.header('sec-fetch-site') === 'cross-site')
      throw new PawlError('ORIGIN_REFUSED', 'requests of other sites are refused. Use the API from its own origin.')
  }

  /** A page under a name that its owner points to 127.0.0.1 has that name as the host of its requests. */
  checkHost(request: HttpRequest): void {
    const host = request.header('host') ?? ''
    const { hosts, open, isLocal } = this.#options
    if (isLoopback(host) || this.#isListed(host.toLowerCase())) return
    if (hosts.length === 0 && !open && !isLocal()) return
    const message = `this server is not ${quote(host)}; expected localhost, or one of its \`hosts\`. Add the name to \`hosts\`.`
    throw new PawlError('HOST_REFUSED', message)
  }

  #isOwn(origin: string, request: HttpRequest): boolean {
    if (this.#options.origins.includes(origin)) return true
    const host = request.header('host')
    return host !== undefined && (origin === `http://${host}` || origin === `https://${host}`)
  }

  /** The headers that let a page of a listed origin read the answer. */
  corsHeaders(request: HttpRequest): Readonly<Record<string, string>> {
    const origin = request.header('origin')
    if (origin === undefined || !this.#options.origins.includes(origin)) return {}
    return {
      'access-control-allow-origin': origin,
      vary: 'origin',
      'access-control-expose-headers': 'x-request-id, retry-after',
    }
  }

  /** The answer to the question of a browser whether a page may send a request. */
  preflight(request: HttpRequest): Readonly<Record<string, string>> {
    const cors = this.corsHeaders(request)
    if (!cors['access-control-allow-origin']) return {}
    return {
      ...cors,
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers': 'authorization, content-type, idempotency-key, last-event-id, x-reason',
      'access-control-max-age': '600',
    }
  }

  /** The credential of a request; undefined if it has none and needs one. */
  async credentialOf(request: HttpRequest): Promise<Credential | undefined> {
    const given = bearerOf(request.header('authorization'))
    const address = request.address ?? ''
    if (given === undefined) {
      if (!(await this.#isOpen())) return undefined
      this.#count(`address ${address}`)
      return { name: 'local', scope: 'admin', namespace: this.#options.namespace }
    }
    const digest = hash('sha256', given)
    // Clients behind one proxy share its address, so a token that was valid is looked up all the same.
    if (this.#wrong.isEmpty(address) && !this.#valid.has(digest)) throw tooMany(60_000 / limits.wrongTokensPerMinute)
    const credential = await this.#tokens.find(given)
    if (credential) {
      if (this.#valid.size >= limits.countersKept) this.#valid.clear()
      this.#valid.add(digest)
      this.#count(`token ${digest}`)
      return credential
    }
    this.#valid.delete(digest)
    this.#wrong.take(address)
    throw unauthenticated('the token is unknown, expired or revoked')
  }

  /** Anyone can call a webhook, so an address gets few tries to guess a token. */
  countWebhook({ address = '' }: HttpRequest): void {
    const waitMs = this.#webhooks.take(address)
    if (waitMs > 0) throw tooMany(waitMs)
  }

  async #isOpen(): Promise<boolean> {
    const { open, isLocal } = this.#options
    return open || (isLocal() && !(await this.#tokens.areNeeded()))
  }

  #count(key: string): void {
    const waitMs = this.#requests.take(key)
    if (waitMs > 0) throw tooMany(waitMs)
  }
}

export function unauthenticated(problem: string): Refusal {
  const message = `${problem}; expected the header \`Authorization: Bearer <token>\` with a token of this server.`
  return new Refusal('UNAUTHENTICATED', message, { 'www-authenticate': 'Bearer realm="pawl"' })
}

export function tooMany(waitMs: number): Refusal {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000))
  const message = `there are too many requests. Send the request again after ${seconds} s.`
  return new Refusal('TOO_MANY_REQUESTS', message, { 'retry-after': String(seconds) })
}

export function tooManyStreams(problem: string): Refusal {
  const message = `${problem}, and may have no more. Close one, or follow several runs in one stream: live.runs.`
  return new Refusal('TOO_MANY_REQUESTS', message, { 'retry-after': '10' })
}

function bearerOf(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const [, token] = /^Bearer +([\x21-\x7e]{1,256}) *$/i.exec(header) ?? []
  if (token === undefined) throw unauthenticated('the header `Authorization` is not a bearer token')
  return token
}

/** A host that is listed without a port is meant with any. Requests leave out the ports 80 and 443. */
function listed(hosts: readonly string[]): (host: string) => boolean {
  const names = new Set(hosts.map((host) => host.toLowerCase()))
  return (host) =>
    [host, host.replace(/:\d+$/, '')].some((each) => names.has(each)) ||
    [80, 443].some((port) => names.has(`${host}:${port}`))
}

/** True for names of this machine, with any port. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i.test(host)
}
