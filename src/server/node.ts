// The server on Node's own requests and answers.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { PawlError } from '../core/base/errors.ts'
import { limits } from '../core/base/limits.ts'
import type { Clock } from '../core/runtime/clock.ts'
import type { HttpAnswer, HttpRequest } from './http.ts'
import { API } from './router.ts'

export function fromNode(message: IncomingMessage, response: ServerResponse): HttpRequest {
  const gone = new AbortController()
  response.once('close', () => {
    if (!response.writableFinished) gone.abort(new PawlError('TRY_LATER', 'the client is gone.'))
  })
  const address = message.socket.remoteAddress
  return {
    method: message.method ?? 'GET',
    target: targetOf(message),
    header: (name) => headerOf(message, name),
    body: (bytesMax) => bodyOf(message, bytesMax),
    ...(address !== undefined && { address }),
    signal: gone.signal,
  }
}

/**
 * The path and the query. Express shortens `url` by the path below which it mounts a server: `app.use('/api', …)` takes
 * away what belongs to this API, and `app.use('/pawl', …)` what does not.
 */
function targetOf(message: IncomingMessage): string {
  const { url = '/', originalUrl = url } = message as IncomingMessage & { readonly originalUrl?: string }
  return url.startsWith(`${API}/`) ? url : originalUrl
}

function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

async function bodyOf(message: IncomingMessage, bytesMax: number): Promise<string> {
  if (message.readableDidRead) throw bodyWasRead()
  const discardedMax = bytesMax * limits.requestDiscardFactor
  if (Number(message.headers['content-length'] ?? 0) > discardedMax) throw tooLarge(bytesMax)
  return textOf(await chunksOf(message, bytesMax, discardedMax))
}

// What is too much is read all the same, up to a limit: most clients read no answer before they have sent everything.
// Not with `for await`, which cuts the connection when it is left, and the answer with it.
function chunksOf(message: IncomingMessage, bytesMax: number, discardedMax: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const chunks: Buffer[] = []
  let bytes = 0
  const take = (chunk: Buffer): void => {
    bytes += chunk.length
    if (bytes <= bytesMax) chunks.push(chunk)
    else chunks.length = 0
    if (bytes > discardedMax) finish(tooLarge(bytesMax))
  }
  const end = (): void => finish(bytes > bytesMax ? tooLarge(bytesMax) : undefined)
  const cut = (): void => finish(new PawlError('INPUT_INVALID', 'the body ended before it was complete.'))
  const finish = (error: PawlError | undefined): void => {
    message.off('data', take).off('end', end).off('close', cut).pause()
    if (error) reject(error)
    else resolve(Buffer.concat(chunks))
  }
  // Errors of the connection close it, too.
  message
    .on('data', take)
    .on('end', end)
    .on('close', cut)
    .on('error', () => {})
  return promise
}

export function bodyWasRead(): PawlError {
  const problem = 'the body was read before pawl got the request'
  return new PawlError('INPUT_INVALID', `${problem}. Mount pawl before body parsers such as express.json().`)
}

export function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new PawlError('INPUT_INVALID', 'the body is not UTF-8; expected JSON in UTF-8.')
  }
}

export function tooLarge(bytesMax: number): PawlError {
  const message = `the body has more than ${bytesMax} bytes; expected fewer. Store large data elsewhere and pass a reference.`
  return new PawlError('REQUEST_TOO_LARGE', message)
}

export async function toNode(
  answer: HttpAnswer,
  message: IncomingMessage,
  response: ServerResponse,
  clock: Clock,
): Promise<void> {
  const { status, headers, body, signal } = answer
  // A body that was not read would be taken for the next request.
  if (!message.complete) response.setHeader('connection', 'close')
  // After a stream the connection is closed, so that a server that stops need not wait for it.
  if (typeof body === 'object') response.shouldKeepAlive = false
  response.writeHead(status, {
    ...headers,
    ...(typeof body === 'string' && { 'content-length': Buffer.byteLength(body) }),
  })
  if (message.method === 'HEAD' || body === undefined) {
    response.end()
  } else if (typeof body === 'string') {
    response.end(body)
  } else {
    await sendParts(body, response, { clock, signal })
  }
}

// Nothing is read from the store while the socket is full.
async function sendParts(parts: AsyncIterable<string>, response: ServerResponse, until: Until): Promise<void> {
  try {
    response.flushHeaders()
    for await (const part of parts) {
      if (response.destroyed) return
      if (!response.write(part)) await drained(response, until)
      if (response.destroyed) return
    }
    response.end()
  } catch {
    // The status has been sent, so the only way to say that the answer is incomplete is to cut it off.
    response.destroy()
  }
}

interface Until {
  readonly clock: Clock
  readonly signal: AbortSignal | undefined
}

/** Resolves when the client has taken what was sent, or is gone. One that takes nothing for long is cut off. */
function drained(response: ServerResponse, { clock, signal }: Until): Promise<void> {
  return new Promise((resolve) => {
    const cut = (): void => void response.destroy()
    const done = (): void => {
      cancelTimer()
      signal?.removeEventListener('abort', cut)
      response.off('drain', done)
      response.off('close', done)
      resolve()
    }
    const cancelTimer = clock.after(limits.streamStallMs, cut)
    signal?.addEventListener('abort', cut, { once: true })
    response.once('drain', done)
    response.once('close', done)
    // Without this, a client that left before would be waited for.
    if (response.destroyed) done()
  })
}
