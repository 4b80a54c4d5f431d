// Errors of calls that a server did not answer, and of runs that did not do in time what a caller waits for.
import { PawlError } from '../core/base/errors.ts'
import type { Why } from '../core/index.ts'
import type { OperationName } from '../operations/routes.ts'

interface Cause {
  readonly code?: string
  readonly message?: string
  readonly cause?: Cause
  readonly errors?: readonly Cause[]
}

/** No answer came, or only a part of one. */
export function unreachable(url: string, name: OperationName, error: unknown, isUnsure = false): PawlError {
  const cause = innermost(error as Cause)
  const why = cause.message || cause.code || 'no answer'
  const todo = isUnsure
    ? `${name} may have been done: look before you repeat it.`
    : 'Check the address, and that the server runs.'
  return new PawlError('SERVER_UNREACHABLE', `the server at ${url} cannot be reached (${why}). ${todo}`, {
    cause: error,
  })
}

// `fetch` says only that it failed. In Node, its causes say why.
function innermost(error: Cause): Cause {
  const inner = error.cause ?? error.errors?.[0]
  return inner ? innermost(inner) : error
}

/** True if no server got the request, so that any call can be sent again. Browsers do not tell. */
export function wasNotSent(error: unknown): boolean {
  return ['ECONNREFUSED', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'].includes(innermost(error as Cause).code ?? '')
}

export function notPawl(url: string, { status, headers }: Response): PawlError {
  const type = headers.get('content-type') ?? 'no content type'
  const problem = `${url} answered with status ${status} and ${type}; expected a pawl server`
  return new PawlError('SERVER_UNREACHABLE', `${problem}. Check the address.`)
}

/** The run did not do in time what the caller waits for. `what` is a verb phrase: `has not ended within 5 s`. */
export function notEnded(runId: string, what: string, { why, text }: { why: Why; text: string }): PawlError {
  const advice = why.suggestion === undefined ? '' : `\n${why.suggestion}`
  return new PawlError('NOT_ENDED', `run ${runId} ${what}: ${text}${advice}`, { details: { why } })
}

export function notSupported(what: string, todo: string): PawlError {
  return new PawlError('NOT_SUPPORTED', `${what} is not possible over HTTP. ${todo}`)
}
