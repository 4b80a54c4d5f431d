// Errors as problem details (RFC 9457), and back. The codes are those of `PawlError`.
import { PawlError, type PawlErrorCode } from '../core/base/errors.ts'
import type { Problem } from './protocol.ts'

export { errorOfProblem, type Problem } from './protocol.ts'

/** Codes that are not listed are 400. */
const statuses: Readonly<Record<number, readonly PawlErrorCode[]>> = {
  401: ['UNAUTHENTICATED'],
  403: ['FORBIDDEN', 'ORIGIN_REFUSED'],
  404: ['RUN_NOT_FOUND', 'WORKFLOW_NOT_FOUND', 'QUERY_NOT_FOUND', 'TOKEN_INVALID', 'ROUTE_NOT_FOUND'],
  405: ['METHOD_NOT_ALLOWED'],
  408: ['REQUEST_TIMEOUT'],
  409: [
    ...([
      'RUN_ALREADY_EXISTS',
      'RUN_ENDED',
      'RUN_MOVED',
      'NOT_ENDED',
      'RUN_NOT_AT_REST',
      'DEFINITION_CONFLICT',
    ] as const),
    ...([
      'VERSION_MISMATCH',
      'DETERMINISM',
      'NON_DURABLE_AWAIT',
      'NO_CODE_HERE',
      'CODEC_MISSING',
      'CODEC_FAILED',
      'STREAM_CLOSED',
    ] as const),
  ],
  413: ['PAYLOAD_TOO_LARGE', 'REQUEST_TOO_LARGE'],
  415: ['MEDIA_TYPE_UNSUPPORTED'],
  421: ['HOST_REFUSED'],
  422: [
    ...(['DEFINITION_INVALID', 'OUTPUT_INVALID', 'UPDATE_REJECTED', 'UPDATE_FAILED', 'NOT_SERIALISABLE'] as const),
    ...(['STORE_REFUSED', 'NOT_SUPPORTED', 'DUPLICATE_STEP_KEY', 'NESTED_DURABLE_CALL', 'TOO_MANY_FAILURES'] as const),
    'STREAM_FULL',
  ],
  429: ['TOO_MANY_REQUESTS'],
  500: ['INTERNAL'],
  503: ['TRY_LATER', 'STORE_UNAVAILABLE', 'STORE_READ_ONLY', 'WORKER_STOPPED'],
}
const statusOf = new Map(
  Object.entries(statuses).flatMap(([status, codes]) => codes.map((code) => [code as string, Number(status)] as const)),
)

/** An error of a caller or of the store as a problem; undefined for one that is a bug, and may hold secrets. */
export function problemOf(error: unknown, requestId: string): Problem | undefined {
  if (!(error instanceof PawlError)) return undefined
  const { code, message, details } = error
  const status = statusOf.get(code) ?? 400
  const known = { type: `urn:pawl:error:${code}`, title: titleOf(code), status, detail: message, code, requestId }
  return details === undefined ? known : { ...known, details }
}

/** For an error that is a bug of pawl or of the user's code: the log has the rest. */
export function internalProblem(requestId: string): Problem {
  const detail = `the server failed to answer. Its log says why, under request ${requestId}.`
  const error = new PawlError('INTERNAL', detail)
  return problemOf(error, requestId) ?? ({} as Problem)
}

function titleOf(code: string): string {
  const words = code.toLowerCase().replaceAll('_', ' ')
  return words.slice(0, 1).toUpperCase() + words.slice(1)
}
