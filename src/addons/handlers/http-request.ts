// Sends one HTTP/1.1 request to addresses the guard has checked. It uses no agent, no proxy and no compression: nothing
// stands between the request and the address, and a response is never larger than what comes over the wire.
import type { LookupAddress } from 'node:dns'
import { type IncomingMessage, request as plainRequest, type RequestOptions } from 'node:http'
import { request as secureRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import { urlToHttpOptions } from 'node:url'
import { limits } from '../../core/base/limits.ts'
import { permanentError, retryableError, safeUrl } from './errors.ts'

export interface HttpRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
}

/** Resolves with the response head. The caller reads the body with `readBody` or destroys the message. */
export function sendRequest(
  { method, url, headers, body }: HttpRequest,
  addresses: readonly LookupAddress[],
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const options: RequestOptions = {
    ...urlToHttpOptions(url),
    method,
    headers,
    agent: false,
    lookup: fixedLookup(addresses),
    maxHeaderSize: limits.httpHeaderBytesMax,
    signal,
  }
  return new Promise((resolve, reject) => {
    const request = url.protocol === 'https:' ? secureRequest(options) : plainRequest(options)
    // An error after the response has begun also arrives here; it changes nothing, and `readBody` reports it.
    request.on('error', (error) => reject(networkError(method, url, error)))
    request.on('response', resolve)
    request.end(body)
  })
}

export interface Body {
  readonly bytes: Buffer
  /** False if the body was longer than the limit; its connection is closed then. */
  readonly isWhole: boolean
}

export async function readBody(
  message: IncomingMessage,
  bytesMax: number,
  { method, url }: Pick<HttpRequest, 'method' | 'url'>,
): Promise<Body> {
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of message as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      length += chunk.byteLength
      if (length > bytesMax) break
    }
  } catch (error) {
    throw networkError(method, url, error)
  }
  const bytes = Buffer.concat(chunks, Math.min(length, bytesMax))
  return { bytes, isWhole: length <= bytesMax }
}

/** A lookup that returns the checked addresses, whatever the name. */
function fixedLookup(addresses: readonly LookupAddress[]): LookupFunction {
  return (_host, options, callback) => {
    if (options.all === true) return callback(null, [...addresses])
    const [first] = addresses
    return callback(null, first?.address ?? '', first?.family ?? 4)
  }
}

function networkError(method: string, url: URL, error: unknown): Error {
  const code = (error as { code?: unknown } | null)?.code
  const place = `${method} ${safeUrl(url)}`
  if (code === 'HPE_HEADER_OVERFLOW') {
    const message = `${place} returned more than ${limits.httpHeaderBytesMax} bytes of headers, which is the limit.`
    return permanentError('RESPONSE_TOO_LARGE', message, {}, error)
  }
  const why = error instanceof Error ? error.message : String(error)
  const details = typeof code === 'string' ? { network: code } : {}
  return retryableError('NETWORK_FAILED', `${place} failed: ${why}`, { details, cause: error })
}
