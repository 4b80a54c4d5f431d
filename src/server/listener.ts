// Listening by itself: a server of Node with limits on connections, and answers to what is no HTTP.
import { createServer, type Server as NodeServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { PawlError } from '../core/base/errors.ts'
import { limits } from '../core/base/limits.ts'
import { visible } from '../core/base/visible.ts'
import { type Clock, sleep } from '../core/runtime/clock.ts'
import type { Logger } from '../core/runtime/logger.ts'
import { type Problem, problemOf } from '../operations/problems.ts'
import { PROBLEM_TYPE, plainText } from '../operations/wire.ts'
import { safeHeaders } from './http.ts'

export interface ListenerParts {
  readonly answer: RequestListener
  readonly logger: Logger
  readonly newId: () => string
}

/** A socket that listens, its connections, and the answers that are in progress on them. */
export class Listener {
  readonly #node: NodeServer
  readonly #parts: ListenerParts
  readonly #connections = new Set<Socket>()
  /** Answers that were not sent yet, of connections that wait for some. */
  readonly #answering = new Map<Socket, Set<ServerResponse>>()
  #accepted = 0

  constructor(parts: ListenerParts) {
    this.#parts = parts
    const settings = {
      maxHeaderSize: limits.requestHeaderBytesMax,
      headersTimeout: limits.requestHeadersMs,
      requestTimeout: limits.requestMs,
      connectionsCheckingInterval: 1_000,
    }
    const node = createServer(settings)
    node.maxConnections = limits.connectionsMax
    node.timeout = limits.connectionIdleMs
    const answer: RequestListener = (request, response) => {
      if (this.#note(request.socket, response)) parts.answer(request, response)
    }
    node.on('request', answer).on('checkContinue', (request, response) => {
      response.writeContinue()
      answer(request, response)
    })
    // Without this, Node would answer 417 without the headers that make an answer safe.
    node.on('checkExpectation', answer)
    node.on('clientError', (error: NodeJS.ErrnoException, socket) => this.#refuse(error, socket as Socket))
    node.on('connection', (socket) => {
      this.#accepted++
      this.#connections.add(socket)
      socket.once('close', () => this.#connections.delete(socket))
    })
    this.#node = node
  }

  /** Node reads as many requests at once as there are, and keeps all their answers. A client that sends more is cut. */
  #note(socket: Socket, response: ServerResponse): boolean {
    const answering = this.#answering.get(socket) ?? new Set()
    if (answering.size >= limits.requestsPipelined) {
      socket.destroy()
      return false
    }
    this.#answering.set(socket, answering.add(response))
    response.once('close', () => {
      answering.delete(response)
      if (answering.size === 0) this.#answering.delete(socket)
    })
    return true
  }

  listen({ host, port }: { readonly host: string; readonly port: number }): Promise<AddressInfo> {
    const node = this.#node
    return new Promise((resolve, reject) => {
      node.once('error', (error: NodeJS.ErrnoException) => reject(cannotListen(error, host, port)))
      node.listen(port, host, () => {
        // From here on errors are of single connections, for example that the process has no more file descriptors.
        node.on('error', (error) => this.#parts.logger.log('error', `the server: ${visible(error.message)}`, {}))
        resolve(node.address() as AddressInfo)
      })
    })
  }

  /**
   * Takes the connections that wait to be accepted: closing would reset them. Node accepts one in each turn of the event
   * loop, so that after a short turn without one, none waits. Under a flood some do, and are reset after all.
   */
  async acceptWaiting(clock: Clock): Promise<void> {
    const until = clock.monotonic() + limits.lastConnectionsMs
    while (clock.monotonic() < until) {
      const [before, begun] = [this.#accepted, clock.monotonic()]
      await clock.breathe()
      if (this.#accepted === before && clock.monotonic() - begun < 1) return
    }
  }

  /**
   * Resolves when no connection is left. Connections without a request in progress are closed at once, except new ones:
   * their first request may be on its way.
   */
  close(clock: Clock): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#node.close(() => resolve())
    })
    const idle = [...this.#connections].filter((socket) => !this.#answering.has(socket))
    for (const socket of idle) if (socket.bytesRead > 0) socket.destroy()
    const fresh = idle.filter(({ bytesRead }) => bytesRead === 0)
    if (fresh.length > 0) {
      void sleep(clock, limits.lastConnectionsMs).then(() => {
        for (const socket of fresh) if (!this.#answering.has(socket)) socket.destroy()
      })
    }
    return closed
  }

  /** Cuts what is left. */
  cut(): void {
    for (const socket of this.#connections) socket.destroy()
  }

  /** Answers a connection whose bytes are no request, or come too slowly, and closes it. */
  #refuse({ code = '' }: NodeJS.ErrnoException, socket: Socket): void {
    const answering = [...(this.#answering.get(socket) ?? [])].at(-1)
    if (answering?.req.complete) {
      // The bytes came after a whole request: a refusal would be taken for its answer.
      answering.once('close', () => socket.destroySoon())
      return
    }
    if (!socket.writable || code === 'ECONNRESET' || answering?.headersSent) {
      socket.destroy()
      return
    }
    const { status, ...problem } = problemFor(code, this.#parts.newId())
    const body = plainText({ ...problem, status })
    const headers = {
      ...safeHeaders,
      'content-type': PROBLEM_TYPE,
      'content-length': Buffer.byteLength(body),
      'x-request-id': problem.requestId,
      connection: 'close',
    }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.end(`HTTP/1.1 ${status} ${reasons[status]}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy())
  }
}

const reasons: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  413: 'Payload Too Large',
  431: 'Request Header Fields Too Large',
}

function problemFor(code: string, requestId: string): Problem {
  const [status, error] = refusalOf(code)
  return { ...(problemOf(error, requestId) as Problem), status }
}

function refusalOf(code: string): readonly [status: number, error: PawlError] {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT': {
      const seconds = [limits.requestHeadersMs, limits.requestMs].map((ms) => ms / 1_000)
      const message = `the request took too long; expected its headers within ${seconds[0]} s, and all of it within ${seconds[1]} s.`
      return [408, new PawlError('REQUEST_TIMEOUT', message)]
    }
    case 'HPE_HEADER_OVERFLOW': {
      const message = `the headers are too long; expected at most ${limits.requestHeaderBytesMax} bytes, URL included.`
      return [431, new PawlError('REQUEST_TOO_LARGE', message)]
    }
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return [413, new PawlError('REQUEST_TOO_LARGE', 'the chunk extensions are too long. Send none.')]
    default:
      return [400, new PawlError('INPUT_INVALID', 'this is no valid HTTP request; expected HTTP/1.1.')]
  }
}

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): PawlError {
  const why = error.code === 'EADDRINUSE' ? 'another program uses that port. Choose another port' : error.message
  return new PawlError('INPUT_INVALID', `cannot listen on ${host}:${port}: ${why}.`, { cause: error })
}
