// The two errors that every layer throws: AssertionFailure, which is a bug in pawl, and PawlError, for everything pawl
// refuses or cannot do. They are in this file because it imports almost nothing; users get PawlError from errors.ts.
import { visibleLines } from './visible.ts'

export class AssertionFailure extends Error {
  override readonly name: string = 'AssertionFailure'
}

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionFailure(`pawl assertion failed: ${message}`)
}

/** For the `default` of a switch over a union: the compiler proves that it is never reached. */
export function unreachable(value: never): never {
  throw new AssertionFailure(`pawl assertion failed: unexpected ${describe(value)}`)
}

/** The codes of `PawlError`. docs/reference/errors.md says what each means and what to do. */
export type PawlErrorCode =
  | 'RUN_NOT_FOUND'
  | 'RUN_ALREADY_EXISTS'
  | 'RUN_ENDED'
  | 'RUN_MOVED'
  | 'NOT_ENDED'
  | 'RUN_NOT_AT_REST'
  | 'RUN_ID_INVALID'
  | 'WORKFLOW_NOT_FOUND'
  | 'QUERY_NOT_FOUND'
  | 'UPDATE_REJECTED'
  | 'UPDATE_FAILED'
  | 'INPUT_INVALID'
  | 'OUTPUT_INVALID'
  | 'DEFINITION_INVALID'
  | 'DEFINITION_CONFLICT'
  | 'VERSION_MISMATCH'
  | 'DETERMINISM'
  | 'NON_DURABLE_AWAIT'
  | 'NESTED_DURABLE_CALL'
  | 'DUPLICATE_STEP_KEY'
  | 'TOO_MANY_FAILURES'
  | 'NO_CODE_HERE'
  | 'PAYLOAD_TOO_LARGE'
  | 'NOT_SERIALISABLE'
  | 'CODEC_MISSING'
  | 'CODEC_FAILED'
  | 'STREAM_CLOSED'
  | 'STREAM_FULL'
  | 'TOKEN_INVALID'
  | 'NOT_SUPPORTED'
  | 'TRY_LATER'
  | 'WORKER_STOPPED'
  | 'DRIVER_MISSING'
  | 'STORE_UNAVAILABLE'
  | 'STORE_URL_INVALID'
  | 'STORE_READ_ONLY'
  | 'STORE_REFUSED'
  | 'STORE_TOO_OLD'
  | 'STORE_UNSUITABLE'
  | 'SCHEMA_TOO_NEW'
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'ORIGIN_REFUSED'
  | 'HOST_REFUSED'
  | 'ROUTE_NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'MEDIA_TYPE_UNSUPPORTED'
  | 'REQUEST_TIMEOUT'
  | 'REQUEST_TOO_LARGE'
  | 'TOO_MANY_REQUESTS'
  | 'SERVER_UNREACHABLE'
  | 'INTERNAL'

/**
 * pawl refused a call or could not carry it out. The `code` is stable, so that programs can test it; the message says
 * what is wrong and what to do.
 *
 * ```ts
 * if (error instanceof PawlError && error.code === 'RUN_NOT_FOUND') …
 * ```
 */
export class PawlError extends Error {
  readonly code: PawlErrorCode
  /** More about the error as data, for some codes. */
  declare readonly details?: unknown

  static {
    nameClass(this, 'PawlError')
  }

  constructor(code: PawlErrorCode, message: string, options?: ErrorOptions & { readonly details?: unknown }) {
    // Messages quote names and ids of users, and go to logs and terminals.
    super(visibleLines(message), options)
    this.code = code
    if (options?.details !== undefined) this.details = options.details
  }
}

/** Sets the name on the prototype, so that stacks begin with it and a user's subclass can have its own. */
export function nameClass(target: { readonly prototype: Error }, name: string): void {
  Object.defineProperty(target.prototype, 'name', {
    value: name,
    writable: true,
    configurable: true,
  })
}

function describe(value: unknown): string {
  try {
    return JSON.stringify(value)?.slice(0, 200) ?? String(value)
  } catch {
    return typeof value
  }
}
