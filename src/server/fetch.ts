// The server on the requests and answers of `fetch`, as Hono, Next and serverless functions have them.
import { PawlError } from '../core/base/errors.ts'
import { limits } from '../core/base/limits.ts'
import type { Clock } from '../core/runtime/clock.ts'
import type { HttpAnswer, HttpRequest } from './http.ts'
import { bodyWasRead, textOf, tooLarge } from './node.ts'

export function fromFetch(request: Request): HttpRequest {
  const { pathname, search, host } = new URL(request.url)
  return {
    method: request.method,
    target: pathname + search,
    // Some runtimes keep the host out of the headers.
    header: (name) => request.headers.get(name) ?? (name === 'host' ? host : undefined),
    body: (bytesMax) => bodyOf(request, bytesMax),
    signal: request.signal,
  }
}

async function bodyOf({ body, bodyUsed }: Request, bytesMax: number): Promise<string> {
  if (bodyUsed) throw bodyWasRead()
  if (!body) return ''
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
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

export function toFetch({ status, headers, body }: HttpAnswer, request: Request, clock: Clock): Response {
  const isEmpty = request.method === 'HEAD' || body === undefined
  const sent = isEmpty ? null : typeof body === 'string' ? body : streamOf(body, request, clock)
  return new Response(sent, { status, headers })
}

/** Keeps requests for as long as their streams: the signal of one that is collected as garbage is never aborted. */
const requests = new WeakMap<ReadableStream, Request>()

/** Reads a part only when the client has taken the one before. A client that takes nothing for long is cut off. */
function streamOf(parts: AsyncIterable<string>, request: Request, clock: Clock): ReadableStream<Uint8Array> {
  const iterator = parts[Symbol.asyncIterator]()
  const encoder = new TextEncoder()
  let cancelTimer = (): void => {}
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      cancelTimer()
      const { done, value } = await iterator.next()
      if (done) return controller.close()
      controller.enqueue(encoder.encode(value))
      cancelTimer = clock.after(limits.streamStallMs, () => {
        controller.error(new PawlError('TRY_LATER', 'the client took nothing of the stream for too long.'))
        void iterator.return?.()
      })
    },
    async cancel() {
      cancelTimer()
      await iterator.return?.()
    },
  })
  requests.set(stream, request)
  return stream
}
