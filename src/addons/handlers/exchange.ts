// One request and its answer over HTTP/1.1, to addresses that were judged before. No agent, no proxy, no compression:
// nothing between the request and the address, and an answer is never larger than what comes over the wire.
import type { LookupAddress } from 'node:dns'
import { type IncomingMessage, request as plainRequest, type RequestOptions } from 'node:http'
import { request as secureRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import { urlToHttpOptions } from 'node:url'
import { limits } from '../../core/base/limits.ts'
import { placeOfUrl } from './places.ts'
import { refused, troubled } from './refusals.ts'

export interface Outgoing {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
}

/** Resolves when the head of the answer is there. The body is read by `bodyOf`, or the message destroyed. */
export function exchange(
  { method, url, headers, body }: Outgoing,
  addresses: readonly LookupAddress[],
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const options: RequestOptions = {
    ...urlToHttpOptions(url),
    method,
    headers,
    agent: false,
    lookup: fixed(addresses),
    maxHeaderSize: limits.httpHeaderBytesMax,
    signal,
  }
  return new Promise((resolve, reject) => {
    const request = url.protocol === 'https:' ? secureRequest(options) : plainRequest(options)
    // Also for what comes after the answer has begun: then the body tells, and this is for nobody.
    request.on('error', (error) => reject(networkError(method, url, error)))
    request.on('response', resolve)
    request.end(body)
  })
}

export interface Body {
  readonly bytes: Buffer
  /** Whether that is all of it. The connection is closed if it is not. */
  readonly isWhole: boolean
}

export async function bodyOf(
  message: IncomingMessage,
  bytesMax: number,
  { method, url }: Pick<Outgoing, 'method' | 'url'>,
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

/** Answers for whatever name with what was judged. */
function fixed(addresses: readonly LookupAddress[]): LookupFunction {
  return (_host, options, callback) => {
    if (options.all === true) return callback(null, [...addresses])
    const [first] = addresses
    return callback(null, first?.address ?? '', first?.family ?? 4)
  }
}

function networkError(method: string, url: URL, error: unknown): Error {
  const code = (error as { code?: unknown } | null)?.code
  const place = `${method} ${placeOfUrl(url)}`
  if (code === 'HPE_HEADER_OVERFLOW') {
    const message = `${place} was answered with more than ${limits.httpHeaderBytesMax} bytes of headers.`
    return refused('RESPONSE_TOO_LARGE', message, {}, error)
  }
  const why = error instanceof Error ? error.message : String(error)
  const details = typeof code === 'string' ? { network: code } : {}
  return troubled('NETWORK_FAILED', `${place} failed: ${why}`, { details, cause: error })
}
