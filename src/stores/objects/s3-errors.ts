// What an answer that is no success means: something that passes, or something a person must change.
import { PawlError, type PawlErrorCode } from '../../core/base/errors.ts'
import { unavailable } from '../../core/runtime/availability.ts'
import { readError } from './s3-xml.ts'

export interface Answer {
  readonly status: number
  readonly body: Buffer
  /** Where the bucket is, by the header that AWS sends along with a redirection. */
  readonly bucketRegion?: string
}

/** S3's own word for what went wrong, or '' if the answer is not S3's. */
export function errorCode(answer: Answer): string {
  return readError(answer.body.toString('utf8')).code
}

/** These say nothing about what was asked, whatever their status: the same request may go through the next time. */
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
  // New credentials are asked for; where they come from, somebody may be renewing them.
  'ExpiredToken',
])

/** The credentials are not good any more; where they come from there may be others by now. */
const STALE_CREDENTIALS: ReadonlySet<string> = new Set([
  'ExpiredToken',
  'InvalidToken',
  'TokenRefreshRequired',
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
])

export function isAboutCredentials(answer: Answer): boolean {
  return STALE_CREDENTIALS.has(errorCode(answer))
}

const CREDENTIALS = 'Check the access key, the secret key and the session token.'

const ADVICE: Readonly<Record<string, readonly [PawlErrorCode, string]>> = {
  SignatureDoesNotMatch: ['STORE_URL_INVALID', CREDENTIALS],
  InvalidAccessKeyId: ['STORE_URL_INVALID', CREDENTIALS],
  InvalidToken: ['STORE_URL_INVALID', CREDENTIALS],
  TokenRefreshRequired: ['STORE_URL_INVALID', CREDENTIALS],
  RequestTimeTooSkewed: ['STORE_URL_INVALID', 'Set the clock of this machine.'],
  NoSuchBucket: [
    'STORE_URL_INVALID',
    'Create the bucket first, or correct its name in the store URL.',
  ],
  InvalidBucketName: ['STORE_URL_INVALID', 'Correct the name of the bucket in the store URL.'],
  NotImplemented: ['STORE_UNSUITABLE', 'This server lacks what pawl needs of S3.'],
}

export function refusal(name: string, method: string, answer: Answer): PawlError {
  const { code, message, region = answer.bucketRegion } = readError(answer.body.toString('utf8'))
  const said = [code || `HTTP ${answer.status}`, message].filter(Boolean).join(': ')
  const { status } = answer
  const passing = status >= 500 && status !== 501 && code !== 'NotImplemented'
  if (passing || status === 429 || status === 408 || PASSING.has(code)) {
    return unavailable(`S3 bucket ${name}`, new Error(said))
  }
  const [what, advice] = ADVICE[code] ?? adviceFor(method, answer, region)
  return new PawlError(what, `S3 bucket ${name}: ${said.replace(/\.$/, '')}. ${advice}`)
}

function adviceFor(
  method: string,
  { status }: Answer,
  region: string | undefined,
): readonly [PawlErrorCode, string] {
  if (region !== undefined) {
    return [
      'STORE_URL_INVALID',
      `The bucket is in region ${region}: add region=${region} to the URL.`,
    ]
  }
  if (status >= 300 && status < 400) {
    return ['STORE_URL_INVALID', 'The bucket is elsewhere: correct region or endpoint in the URL.']
  }
  if (status === 401 || status === 403) {
    return method === 'PUT' || method === 'DELETE'
      ? ['STORE_READ_ONLY', 'pawl needs the right to s3:PutObject and s3:DeleteObject.']
      : ['STORE_URL_INVALID', 'pawl needs the right to s3:GetObject and s3:ListBucket.']
  }
  if (status === 404) return ['STORE_URL_INVALID', 'Check the endpoint and the bucket in the URL.']
  return ['STORE_UNSUITABLE', 'This server does not answer as S3 does.']
}
