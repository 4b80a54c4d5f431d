// Errors of the built-in handlers: permanent or retryable. Each carries a stable code in its details, so that workflows
// and graphs can tell them apart.

import { defined } from '../../core/base/defined.ts'
import { PermanentError, RetryableError } from '../../core/base/errors.ts'
import type { Duration } from '../../core/base/time.ts'
import type { Json } from '../../core/base/value.ts'

export type HandlerRefusal =
  | 'INPUT_INVALID'
  | 'URL_REFUSED'
  | 'HOST_REFUSED'
  | 'ADDRESS_REFUSED'
  | 'REDIRECT_REFUSED'
  | 'SECRET_UNKNOWN'
  | 'SECRET_REFUSED'
  | 'REQUEST_TOO_LARGE'
  | 'RESPONSE_TOO_LARGE'
  | 'RESPONSE_INVALID'
  | 'STATUS_REFUSED'
  | 'MODEL_REFUSED'
  | 'TEMPLATE_UNKNOWN'
  | 'VARIABLE_MISSING'
  | 'ATTACHMENT_REFUSED'
  | 'MAIL_TOO_LARGE'
  | 'MAIL_REFUSED'
  | 'SIGNATURE_INVALID'

export type HandlerTrouble = 'NETWORK_FAILED' | 'TIMED_OUT' | 'STATUS_UNAVAILABLE' | 'MAIL_DEFERRED'

type Details = Readonly<Record<string, Json>>

/** An error that is not retried. */
export function permanentError(
  code: HandlerRefusal,
  message: string,
  details: Details = {},
  cause?: unknown,
): PermanentError {
  return new PermanentError(message, defined({ details: { code, ...details }, cause }))
}

interface RetryableDetails {
  readonly details?: Details
  readonly after?: Duration | undefined
  readonly cause?: unknown
}

/** An error that is retried, after `after` if the server asked for that delay. */
export function retryableError(
  code: HandlerTrouble,
  message: string,
  { details = {}, after, cause }: RetryableDetails = {},
): RetryableError & { readonly details: Details } {
  const error = new RetryableError(message, defined({ after, cause }))
  return Object.assign(error, { details: { code, ...details } })
}

// URLs for errors and logs.

/** The URL without its query and fragment, which may hold secrets. */
export function safeUrl(url: URL): string {
  return `${url.origin}${url.pathname.length > 200 ? `${url.pathname.slice(0, 200)}…` : url.pathname}`
}
