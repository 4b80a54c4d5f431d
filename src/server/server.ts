// A server: engines behind HTTP, mounted in another program or listening by itself.
import { createServer, type IncomingMessage, type Server as NodeServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { checkOptions } from '../core/base/described.ts'
import { PawlError } from '../core/base/errors.ts'
import { limits } from '../core/base/limits.ts'
import { type Clock, sleep } from '../core/runtime/clock.ts'
import { consoleLogger } from '../core/runtime/logger.ts'
import { Engine } from '../engine.ts'
import { Access, isLoopback } from './access.ts'
import { Audit } from './audit.ts'
import { fromFetch, toFetch } from './fetch.ts'
import { Handler, type HandlerParts } from './handle.ts'
import { fromNode, toNode } from './node.ts'
import { type ListenOptions, listenOptions, type ServerOptions, serverOptions } from './options.ts'
import { Tokens } from './tokens.ts'

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
  #node: NodeServer | undefined
  #isLocal = false

  /** @internal */
  constructor(engines: Readonly<Record<string, Engine>>, options: ServerOptions) {
    const [first] = Object.entries(engines)
    if (!first) throw new PawlError('INPUT_INVALID', 'a server has no engine; expected one, or several by namespace.')
    const [namespace, engine] = first
    const { token, open = false, hosts = [], origins = [], logger = consoleLogger } = options
    const { clock } = engine.world
    this.#clock = clock
    this.#options = options
    this.tokens = new Tokens(engine.records, clock, token === undefined ? undefined : { token, namespace })
    const isOpen = (): boolean => open || this.#isLocal
    const access = new Access(this.tokens, clock, { hosts, origins, isOpen, namespace })
    const newId = (): string => engine.host.newId()
    this.#audits = Object.values(engines).map((each) => new Audit(each.records, clock))
    const spaces = Object.entries(engines).map(([name, each], at) => [name, { engine: each, audit: this.#audits[at] }])
    const namespaces = Object.fromEntries(spaces) as HandlerParts['namespaces']
    const { tokens } = this
    this.#handler = new Handler({ namespaces, tokens, access, logger, clock, newId, stopped: this.#stopped.signal })
  }

  /** Answers a request of `fetch`: mount it in Hono, Next or a serverless function. */
  readonly fetch = async (request: Request): Promise<Response> => {
    return toFetch(await this.#handler.answer(fromFetch(request)), request.method, this.#clock)
  }

  /** Answers a request of Node: mount it in Express or Fastify, before parsers of bodies. */
  readonly node = (message: IncomingMessage, response: ServerResponse): void => {
    void this.#answerNode(message, response)
  }

  async #answerNode(message: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const answer = await this.#handler.answer(fromNode(message, response))
      if (!response.destroyed) await toNode(answer, message, response, this.#clock)
    } catch {
      response.destroy()
    }
  }

  /** Listens by itself. Without a token only on this machine. */
  async listen(options: ListenOptions = {}): Promise<Listening> {
    checkOptions(listenOptions, options, { of: 'listen' })
    const { host = '127.0.0.1', port = limits.serverPort } = options
    if (this.#node) throw new PawlError('INPUT_INVALID', 'this server listens already. Make another one.')
    const isLocal = isLoopback(host.includes(':') ? `[${host}]` : host)
    if (!isLocal && !this.#options.open && !(await this.tokens.areNeeded())) throw unprotected(host)
    this.#isLocal = isLocal
    const node = createServer(
      {
        maxHeaderSize: limits.requestHeaderBytesMax,
        headersTimeout: limits.requestHeadersMs,
        requestTimeout: limits.requestMs,
        connectionsCheckingInterval: 1_000,
      },
      this.node,
    )
    node.maxConnections = limits.connectionsMax
    this.#node = node
    const { address, port: bound } = await listening(node, { host, port })
    return { url: `http://${address.includes(':') ? `[${address}]` : address}:${bound}`, port: bound }
  }

  /** Takes no more requests, lets those in progress finish, and stops. The engines stay open. */
  async close(): Promise<void> {
    const node = this.#node
    this.#node = undefined
    const closed = new Promise<void>((resolve) => (node ? node.close(() => resolve()) : resolve()))
    node?.closeIdleConnections()
    // Calls that wait for a run, and streams, end now: their callers continue on another server.
    this.#stopped.abort(new PawlError('TRY_LATER', 'this server stops. Send the request again.'))
    await Promise.race([closed, sleep(this.#clock, limits.serverGraceMs)])
    node?.closeAllConnections()
    await closed
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

function listening(node: NodeServer, { host, port }: { host: string; port: number }): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    node.once('error', (error: NodeJS.ErrnoException) => reject(cannotListen(error, host, port)))
    node.listen(port, host, () => resolve(node.address() as AddressInfo))
  })
}

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): PawlError {
  const why = error.code === 'EADDRINUSE' ? 'another program uses that port. Choose another port' : error.message
  return new PawlError('INPUT_INVALID', `cannot listen on ${host}:${port}: ${why}.`, { cause: error })
}

function unprotected(host: string): PawlError {
  const problem = `listening on ${host} without a token would let anyone in the network use this store`
  const todo = 'Pass `token`, or create one: pawl token create <name> --scope operate'
  return new PawlError('INPUT_INVALID', `${problem}. ${todo}`)
}
