// Turns an error response of S3 into an error of pawl: an outage that may pass, or something a person must change.
import { PawlError, type PawlErrorCode } from '../../core/base/errors.ts'
import { unavailable } from '../../core/runtime/availability.ts'
import { readError } from './s3-xml.ts'

export interface S3Response {
  readonly status: number
  readonly body: Buffer
  /** The region of the bucket, from the header that AWS sends with a redirect. */
  readonly bucketRegion?: string
}

/** S3's error code; '' if the body is not an error of S3. */
export function errorCode(response: S3Response): string {
  return readError(response.body.toString('utf8')).code
}

/** Errors that may pass, with any status: the same request may succeed the next time. */
const PASSING: ReadonlySet<string> = new Set([
  'RequestTimeout',
  'IncompleteBody',
  'BadDigest',
  'XAmzContentSHA256Mismatch',
  'SlowDown',
  'TooManyRequests',
  'OperationAborted',
  'ConditionalRequestConflict',
  'TemporaryRedirect',
  // New credentials are requested, and their provider may be renewing them.
  'ExpiredToken',
])

/** Errors after which the provider is asked for new credentials. */
const STALE_CREDENTIALS: ReadonlySet<string> = new Set([
  'ExpiredToken',
  'InvalidToken',
  'TokenRefreshRequired',
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
])

export function isAboutCredentials(response: S3Response): boolean {
  return STALE_CREDENTIALS.has(errorCode(response))
}

const CREDENTIALS = 'Check the access key, the secret key and the session token.'

const ADVICE: Readonly<Record<string, readonly [PawlErrorCode, string]>> = {
  SignatureDoesNotMatch: ['STORE_URL_INVALID', CREDENTIALS],
  InvalidAccessKeyId: ['STORE_URL_INVALID', CREDENTIALS],
  InvalidToken: ['STORE_URL_INVALID', CREDENTIALS],
  TokenRefreshRequired: ['STORE_URL_INVALID', CREDENTIALS],
  RequestTimeTooSkewed: ['STORE_URL_INVALID', 'Correct the clock of this machine.'],
  NoSuchBucket: ['STORE_URL_INVALID', 'Create the bucket first, or correct its name in the store URL.'],
  InvalidBucketName: ['STORE_URL_INVALID', 'Correct the name of the bucket in the store URL.'],
  NotImplemented: [
    'STORE_UNSUITABLE',
    'This server does not support a request that pawl needs. Use another one, for example Ceph radosgw.',
  ],
}

export function s3Error(name: string, method: string, response: S3Response): PawlError {
  const { code, message, region = response.bucketRegion } = readError(response.body.toString('utf8'))
  const said = [code || `HTTP ${response.status}`, message].filter(Boolean).join(': ')
  const { status } = response
  const passing = status >= 500 && status !== 501 && code !== 'NotImplemented'
  if (passing || status === 429 || status === 408 || PASSING.has(code)) {
    return unavailable(`S3 bucket ${name}`, new Error(said))
  }
  const [what, advice] = ADVICE[code] ?? adviceFor(method, response, region)
  return new PawlError(what, `S3 bucket ${name}: ${said.replace(/\.$/, '')}. ${advice}`)
}

function adviceFor(
  method: string,
  { status }: S3Response,
  region: string | undefined,
): readonly [PawlErrorCode, string] {
  if (region !== undefined) {
    return ['STORE_URL_INVALID', `The bucket is in region ${region}. Add region=${region} to the store URL.`]
  }
  if (status >= 300 && status < 400) {
    return ['STORE_URL_INVALID', 'The server redirects to another place. Correct region or endpoint in the store URL.']
  }
  if (status === 401 || status === 403) {
    return method === 'PUT' || method === 'DELETE'
      ? ['STORE_READ_ONLY', 'Allow these credentials s3:PutObject and s3:DeleteObject.']
      : ['STORE_URL_INVALID', 'Allow these credentials s3:GetObject and s3:ListBucket.']
  }
  if (status === 404) return ['STORE_URL_INVALID', 'Check the endpoint and the bucket in the store URL.']
  return ['STORE_UNSUITABLE', 'This server does not answer like S3. Check the endpoint in the store URL.']
}
