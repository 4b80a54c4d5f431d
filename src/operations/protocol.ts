// What a server and pawl's own client agree on. A browser can import it.
import { PawlError, type PawlErrorCode } from '../core/base/errors.ts'

/** Every path of the API begins with this. */
export const API = '/api/v1'
/** Below it, every operation by its name, with its whole input in the body: what pawl's own client uses. */
export const CALL = `${API}/call/`

export const JSON_TYPE = 'application/json'
export const EXACT_TYPE = 'application/vnd.pawl+json'
export const PROBLEM_TYPE = 'application/problem+json'

/** The body of an answer that is an error: `application/problem+json`. */
export interface Problem {
  readonly type: string
  /** The code as words. */
  readonly title: string
  readonly status: number
  /** What is wrong, what was expected and what to do. */
  readonly detail: string
  readonly code: string
  /** The log of the server names it. */
  readonly requestId: string
  /** More about the error as data, for some codes. */
  readonly details?: unknown
}

/** The error that a problem stands for. */
export function errorOfProblem({ code, detail, details }: Pick<Problem, 'code' | 'detail' | 'details'>): PawlError {
  return new PawlError(code as PawlErrorCode, detail, details === undefined ? {} : { details })
}
