// The server on Node's own requests and answers.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { PawlError } from '../core/base/errors.ts'
import { limits } from '../core/base/limits.ts'
import type { Clock } from '../core/runtime/clock.ts'
import type { HttpAnswer, HttpRequest } from './http.ts'

export function fromNode(message: IncomingMessage, response: ServerResponse): HttpRequest {
  const gone = new AbortController()
  response.once('close', () => {
    if (!response.writableFinished) gone.abort(new PawlError('TRY_LATER', 'the client is gone.'))
  })
  const address = message.socket.remoteAddress
  return {
    method: message.method ?? 'GET',
    // Frameworks that mount a server below a path shorten `url`.
    target: (message as { readonly originalUrl?: string }).originalUrl ?? message.url ?? '/',
    header: (name) => headerOf(message, name),
    body: (bytesMax) => bodyOf(message, bytesMax),
    ...(address !== undefined && { address }),
    signal: gone.signal,
  }
}

function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

async function bodyOf(message: IncomingMessage, bytesMax: number): Promise<string> {
  if (message.readableDidRead) {
    const problem = 'the body was read before pawl got the request'
    throw new PawlError('INPUT_INVALID', `${problem}. Mount pawl before body parsers such as express.json().`)
  }
  if (Number(message.headers['content-length'] ?? 0) > bytesMax) throw tooLarge(bytesMax)
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of message as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > bytesMax) throw tooLarge(bytesMax)
      chunks.push(chunk)
    }
  } catch (error) {
    if (error instanceof PawlError) throw error
    throw new PawlError('INPUT_INVALID', 'the body ended before it was complete.', { cause: error })
  }
  return textOf(Buffer.concat(chunks))
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
