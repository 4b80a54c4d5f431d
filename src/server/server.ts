// A server: engines behind HTTP, mounted in another program or listening by itself.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { checkOptions } from '../core/base/described.ts'
import { PawlError } from '../core/base/errors.ts'
import { limits } from '../core/base/limits.ts'
import { milliseconds } from '../core/base/time.ts'
import { type Clock, sleep } from '../core/runtime/clock.ts'
import { consoleLogger } from '../core/runtime/logger.ts'
import { Engine } from '../engine.ts'
import { Access, isLoopback } from './access.ts'
import { Audit } from './audit.ts'
import { fromFetch, toFetch } from './fetch.ts'
import { Handler, type HandlerParts } from './handle.ts'
import { Listener } from './listener.ts'
import { fromNode, toNode } from './node.ts'
import {
  type CloseOptions,
  closeOptions,
  type ListenOptions,
  listenOptions,
  type ServerOptions,
  serverOptions,
} from './options.ts'
import { Probes } from './probes.ts'
import { Scrape } from './scrape.ts'
import { Tokens } from './tokens.ts'
import { WebUi } from './ui.ts'

/** Where a server listens. */
export interface Listening {
  /** `http://127.0.0.1:7295` */
  readonly url: string
  readonly port: number
}

/** The namespace of a server with one engine. */
const ONLY = 'default'

/** Serves engines over HTTP. `server(engine)` makes one. */
export class Server {
  /** Tokens in the store. With none, a server on loopback needs none. */
  readonly tokens: Tokens
  readonly #handler: Handler
  readonly #audits: readonly Audit[]
  readonly #clock: Clock
  readonly #options: ServerOptions
  readonly #stopped = new AbortController()
  readonly #probes: Probes
  readonly #newId: () => string
  readonly #scrape: Scrape | undefined
  #listener: Listener | undefined
  #closed: Promise<void> | undefined
  #isLocal = false

  /** @internal */
  constructor(engines: Readonly<Record<string, Engine>>, options: ServerOptions) {
    const [first] = Object.entries(engines)
    if (!first) throw new PawlError('INPUT_INVALID', 'a server has no engine; expected one, or several by namespace.')
    const [namespace, engine] = first
    const { token, open = false, hosts = [], origins = [], logger = consoleLogger, query, ui = false } = options
    const { metrics = true, metricsFrom: addresses = [], otherMetrics: others } = options
    const { clock } = engine.world
    this.#clock = clock
    this.#options = options
    this.tokens = new Tokens(engine.records, clock, token === undefined ? undefined : { token, namespace })
    const isLocal = (): boolean => this.#isLocal
    const access = new Access(this.tokens, clock, { hosts, origins, open, isLocal, namespace })
    this.#newId = () => engine.host.newId()
    this.#probes = new Probes(Object.values(engines), clock)
    this.#audits = Object.values(engines).map((each) => new Audit(each.records, clock))
    const spaces = Object.entries(engines).map(([name, each], at) => [name, { engine: each, audit: this.#audits[at] }])
    const namespaces = Object.fromEntries(spaces) as HandlerParts['namespaces']
    const openStreams = (): number => this.#handler.openStreams
    this.#scrape = metrics ? new Scrape(engines, { addresses, others, openStreams }) : undefined
    const parts = {
      scrape: this.#scrape,
      tokens: this.tokens,
      access,
      logger,
      clock,
      query,
      probes: this.#probes,
      newId: this.#newId,
    }
    const webUi = ui ? new WebUi() : undefined
    this.#handler = new Handler({ namespaces, ...parts, ui: webUi, stopped: this.#stopped.signal })
  }

  /** Answers a request of `fetch`: mount it in Hono, Next or a serverless function. */
  readonly fetch = async (request: Request): Promise<Response> => {
    return toFetch(await this.#handler.answer(fromFetch(request)), request, this.#clock)
  }

  /** Answers a request of Node: mount it in Express or Fastify, before parsers of bodies. */
  readonly node = (message: IncomingMessage, response: ServerResponse): void => {
    void this.#answerNode(message, response)
  }

  async #answerNode(message: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const answer = await this.#handler.answer(fromNode(message, response))
      if (this.#closed) response.setHeader('connection', 'close')
      if (!response.destroyed) await toNode(answer, message, response, this.#clock)
    } catch {
      response.destroy()
    }
  }

  /** Listens by itself. Without a token only on this machine. */
  async listen(options: ListenOptions = {}): Promise<Listening> {
    checkOptions(listenOptions, options, { of: 'listen' })
    const { host = '127.0.0.1', port = limits.serverPort } = options
    const { open, logger = consoleLogger } = this.#options
    if (this.#closed) throw new PawlError('INPUT_INVALID', 'this server is closed. Make another one.')
    if (this.#listener) throw new PawlError('INPUT_INVALID', 'this server listens already. Make another one.')
    const isLocal = isLoopback(host.includes(':') ? `[${host}]` : host)
    if (!isLocal && !open && !(await this.tokens.areNeeded())) throw unprotected(host)
    const listener = new Listener({ answer: this.node, logger, newId: this.#newId })
    const { address, port: bound } = await listener.listen({ host, port })
    this.#isLocal = isLocal
    this.#listener = listener
    return { url: `http://${address.includes(':') ? `[${address}]` : address}:${bound}`, port: bound }
  }

  /**
   * Stops: `/readyz` says so at once, new connections are refused after `lameDuck`, requests in progress may finish
   * within `grace`. The engines stay open.
   */
  close(options: CloseOptions = {}): Promise<void> {
    checkOptions(closeOptions, options, { of: 'close' })
    this.#closed ??= this.#close(options)
    return this.#closed
  }

  async #close({ lameDuck = 0, grace = limits.serverGraceMs }: CloseOptions): Promise<void> {
    this.#probes.drain()
    const lameDuckMs = milliseconds(lameDuck, 'lameDuck')
    if (this.#listener && lameDuckMs > 0) await sleep(this.#clock, lameDuckMs)
    // Calls that wait for a run, and streams, end now: their callers continue on another server.
    this.#stopped.abort(new PawlError('TRY_LATER', 'this server stops. Send the request again.'))
    await this.#listener?.acceptWaiting(this.#clock)
    const isOver = new AbortController()
    const finished = Promise.all([this.#listener?.close(this.#clock), this.#handler.finished()])
    await Promise.race([finished, sleep(this.#clock, milliseconds(grace, 'grace'), isOver.signal)])
    isOver.abort()
    this.#listener?.cut()
    this.#scrape?.close()
    await Promise.allSettled(this.#audits.map((audit) => audit.flush()))
  }
}

/**
 * Makes a server for an engine, or for several by namespace; a token belongs to one namespace.
 *
 * ```ts
 * const api = server(await open('sqlite:./pawl.db'))
 * console.log((await api.listen()).url) // or mount api.fetch or api.node in another server
 * ```
 */
export function server(engines: Engine | Readonly<Record<string, Engine>>, options: ServerOptions = {}): Server {
  checkOptions(serverOptions, options, { of: 'server' })
  return new Server(engines instanceof Engine ? { [ONLY]: engines } : engines, options)
}

function unprotected(host: string): PawlError {
  const problem = `listening on ${host} without a token would let anyone in the network use this store`
  const todo = 'Pass `token`, or create one: pawl token create <name> --scope operate'
  return new PawlError('INPUT_INVALID', `${problem}. ${todo}`)
}
