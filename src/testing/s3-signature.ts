// SIMULATOR of S3's check of signatures (AWS Signature Version 4, in the header). It is written from the specification
// and shares no code with the signer, so that an error in one does not hide in the other.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

export interface SigningIdentity {
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

export interface SignedRequest {
  readonly method: string
  /** Path and query as received, not decoded. */
  readonly target: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export type SignatureProblem =
  | 'AccessDenied'
  | 'InvalidAccessKeyId'
  | 'RequestTimeTooSkewed'
  | 'SignatureDoesNotMatch'
  | 'XAmzContentSHA256Mismatch'

const SKEW_MS_MAX = 15 * 60_000

export function signatureProblem(
  request: SignedRequest,
  identity: SigningIdentity,
  nowMs: number,
): SignatureProblem | undefined {
  const { headers, body } = request
  const parts = partsOf(headers.authorization ?? '')
  if (!parts) return 'AccessDenied'
  if (parts.accessKeyId !== identity.accessKeyId) return 'InvalidAccessKeyId'
  const date = header(headers, 'x-amz-date')
  if (!(Math.abs(instantOf(date) - nowMs) <= SKEW_MS_MAX)) return 'RequestTimeTooSkewed'
  const digest = header(headers, 'x-amz-content-sha256')
  if (!parts.signedHeaders.includes('host') || !headersComplete(headers, parts.signedHeaders)) {
    return 'AccessDenied'
  }
  const scope = parts.scope.join('/')
  const text = ['AWS4-HMAC-SHA256', date, scope, sha256(canonical(request, parts, digest))]
  const key = parts.scope.reduce<string | Buffer>(hmac, `AWS4${identity.secretAccessKey}`)
  const expected = Buffer.from(hmac(key, text.join('\n')).toString('hex'))
  const given = Buffer.from(parts.signature)
  if (expected.length !== given.length || !timingSafeEqual(expected, given)) {
    return 'SignatureDoesNotMatch'
  }
  if (digest !== 'UNSIGNED-PAYLOAD' && digest !== sha256(body)) return 'XAmzContentSHA256Mismatch'
  return undefined
}

interface Parts {
  readonly accessKeyId: string
  /** Day, region, service, `aws4_request`. */
  readonly scope: readonly string[]
  readonly signedHeaders: readonly string[]
  readonly signature: string
}

function partsOf(authorization: string): Parts | undefined {
  const match =
    /^AWS4-HMAC-SHA256 Credential=([^/,]+)\/([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      authorization,
    )
  if (!match) return undefined
  const [, accessKeyId = '', scope = '', signed = '', signature = ''] = match
  return { accessKeyId, scope: scope.split('/'), signedHeaders: signed.split(';'), signature }
}

/** True if every `x-amz-` header is signed. */
function headersComplete(headers: IncomingHttpHeaders, signed: readonly string[]): boolean {
  return Object.keys(headers)
    .filter((name) => name.startsWith('x-amz-'))
    .every((name) => signed.includes(name))
}

function canonical({ method, target, headers }: SignedRequest, parts: Parts, digest: string): string {
  const [path = '', query = ''] = target.split('?')
  const pairs = query === '' ? [] : query.split('&').map(canonicalPair)
  const lines = parts.signedHeaders.map((name) => `${name}:${header(headers, name).trim().replace(/\s+/g, ' ')}\n`)
  return [
    method,
    path.split('/').map(recoded).join('/'),
    pairs.sort().join('&'),
    lines.join(''),
    parts.signedHeaders.join(';'),
    digest,
  ].join('\n')
}

function canonicalPair(pair: string): string {
  const [name = '', value = ''] = pair.split('=')
  return `${recoded(name)}=${recoded(value)}`
}

/** Decodes a text and encodes everything but letters, digits and `-._~`. */
function recoded(text: string): string {
  return encodeURIComponent(decodeURIComponent(text)).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function header(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[name]
  return Array.isArray(value) ? value.join(',') : (value ?? '')
}

function instantOf(date: string): number {
  return Date.parse(date.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ)$/, '$1-$2-$3:$4:$5'))
}

function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
