// Turns any thrown value into a Failure of bounded size, and a Failure back into an Error. No function here throws,
// because a failure that cannot be recorded would be lost.

import {
  ActivityError,
  CancelledError,
  type Failure,
  PawlError,
  type PawlErrorCode,
  PermanentError,
  RetryableError,
  RunError,
} from './errors.ts'
import { withoutOwnFrames } from './frames.ts'
import { limits } from './limits.ts'
import { tagOf } from './names.ts'
import { milliseconds } from './time.ts'
import { decode, encode, type Json } from './value.ts'

export type { Failure } from './errors.ts'

export function failureOf(error: unknown): Failure {
  return failureAt(error, [])
}

/** The failure as an error: its name is the failure's type, its stack is the recorded one. */
export function errorOf(failure: Failure): Error {
  return revive(failure, 0)
}

/** The pause that a RetryableError asks for, in ms; undefined if there is none or it is not a valid duration. */
export function retryAfter(error: unknown): number | undefined {
  try {
    if (!(error instanceof RetryableError) || error.after === undefined) return undefined
    return milliseconds(error.after)
  } catch {
    return undefined
  }
}

// ── from a thrown value to a failure ──

/** The details of all causes together then stay well below the limit of a payload. */
const detailsLengthMax = 65_536
const aggregateMax = 10
const summaryMax = 1000
const notAnError = 'NonError'

/** Mistakes in the program or its deployment, which another attempt would repeat. */
const programming: ReadonlySet<PawlErrorCode> = new Set([
  'RUN_ID_INVALID',
  'INPUT_INVALID',
  'OUTPUT_INVALID',
  'DEFINITION_INVALID',
  'DEFINITION_CONFLICT',
  'VERSION_MISMATCH',
  'DETERMINISM',
  'NON_DURABLE_AWAIT',
  'NESTED_DURABLE_CALL',
  'DUPLICATE_STEP_KEY',
  'PAYLOAD_TOO_LARGE',
  'NOT_SERIALISABLE',
  'NOT_SUPPORTED',
  'STREAM_CLOSED',
  'STREAM_FULL',
  'DRIVER_MISSING',
  'STORE_URL_INVALID',
  'STORE_UNSUITABLE',
])

/** Revived errors that were not retryable. They have lost their class, so this set remembers them. */
const revivedPermanent = new WeakSet<Error>()

function failureAt(error: unknown, above: readonly unknown[]): Failure {
  if (typeof error !== 'object' || error === null) return ofPrimitive(error)
  try {
    return isError(error) ? ofError(error, above) : ofObject(error)
  } catch {
    return plainFailure('an object that cannot be read was thrown')
  }
}

function ofPrimitive(thrown: unknown): Failure {
  if (typeof thrown === 'string') return plainFailure(clipMessage(thrown))
  if (typeof thrown === 'function') return plainFailure('a function was thrown')
  return plainFailure(clipMessage(`${String(thrown)} was thrown`))
}

function plainFailure(message: string): Failure {
  return { type: notAnError, message, retryable: true }
}

function isError(value: object): boolean {
  return value instanceof Error || tagOf(value) === 'Error'
}

function ofError(error: object, above: readonly unknown[]): Failure {
  return {
    type: typeOf(error),
    message: clipMessage(messageOf(error)),
    ...codeOf(error),
    retryable: isRetryable(error),
    ...detailsOf(error),
    ...stackOf(error),
    ...causeOf(error, [...above, error]),
  }
}

/** Thrown objects that are not errors, but may look like one. */
function ofObject(thrown: object): Failure {
  const message = read(thrown, 'message')
  const name = read(thrown, 'name')
  return {
    type: clip(typeof name === 'string' && name !== '' ? name : notAnError, limits.nameLengthMax),
    message: clipMessage(typeof message === 'string' ? message : describe(thrown)),
    ...codeOf(thrown),
    retryable: true,
  }
}

/**
 * The name of the class, unless the error has a name of its own, as AbortError does. An inherited name does not count:
 * `class Declined extends Error {}` has the name 'Error', but its type is 'Declined'.
 */
function typeOf(error: object): string {
  const own = nameOf(read(error, 'constructor'))
  const given = read(error, 'name')
  const name = typeof given !== 'string' || given === '' || ancestorsOf(error).includes(given) ? own : given
  return clip(name || 'Error', limits.nameLengthMax)
}

function ancestorsOf(error: object): string[] {
  const names: string[] = []
  let prototype: object | null = Object.getPrototypeOf(error)
  while (prototype !== null && names.length < 100) {
    prototype = Object.getPrototypeOf(prototype)
    if (prototype !== null) names.push(nameOf(read(prototype, 'constructor')))
  }
  return names
}

function nameOf(constructor: unknown): string {
  const name = typeof constructor === 'function' ? read(constructor, 'name') : undefined
  return typeof name === 'string' ? name : ''
}

function messageOf(error: object): string {
  const message = read(error, 'message')
  return typeof message === 'string' ? message : describe(message)
}

function codeOf(error: object): { readonly code?: string } {
  const code = read(error, 'code')
  if (typeof code !== 'string' && typeof code !== 'number') return {}
  return { code: clip(String(code), limits.nameLengthMax) }
}

function stackOf(error: object): { readonly stack?: string } {
  const stack = read(error, 'stack')
  if (typeof stack !== 'string') return {}
  return { stack: clip(withoutOwnFrames(stack), limits.stackLengthMax) }
}

function isRetryable(error: object): boolean {
  if (error instanceof ActivityError || error instanceof RunError) return error.failure.retryable
  if (error instanceof PermanentError || error instanceof CancelledError) return false
  if (error instanceof PawlError) return !programming.has(error.code)
  if (revivedPermanent.has(error as Error)) return false
  // By name, too, because an application may contain a second copy of pawl.
  return read(error, 'name') !== 'PermanentError'
}

function detailsOf(error: object): { readonly details?: Json } {
  const details = error instanceof AggregateError ? summaries(error) : read(error, 'details')
  if (details === undefined) return {}
  try {
    const { json } = encode(details, 'details')
    const length = JSON.stringify(json).length
    if (length <= detailsLengthMax) return { details: json }
    return { details: `left out: ${length} characters, the limit is ${detailsLengthMax}` }
  } catch (problem) {
    return { details: `left out: ${problem instanceof Error ? problem.message : 'unreadable'}` }
  }
}

function summaries(error: AggregateError): Json {
  const errors: unknown = read(error, 'errors')
  if (!Array.isArray(errors)) return { errors: [] }
  const kept = errors.slice(0, aggregateMax).map(summaryOf)
  return { errors: kept, count: errors.length }
}

/** Without causes and details, because errors may contain themselves. */
function summaryOf(error: unknown): Json {
  if (typeof error !== 'object' || error === null || !isError(error)) {
    return clip(ofPrimitive(typeof error === 'object' ? describe(error) : error).message, summaryMax)
  }
  return { type: typeOf(error), message: clip(messageOf(error), summaryMax) }
}

function causeOf(error: object, above: readonly unknown[]): { readonly cause?: Failure } {
  const left = limits.causeDepthMax - above.length + 1
  if (left <= 0) return {}
  if (error instanceof ActivityError || error instanceof RunError) {
    return { cause: shortened(error.failure, left) }
  }
  const cause = read(error, 'cause') ?? firstOf(error)
  if (cause === undefined || above.includes(cause)) return {}
  return { cause: failureAt(cause, above) }
}

function firstOf(error: object): unknown {
  const errors = error instanceof AggregateError ? read(error, 'errors') : undefined
  return Array.isArray(errors) ? errors[0] : undefined
}

/** The failure with at most `left` failures in its chain of causes, including itself. */
function shortened(failure: Failure, left: number): Failure {
  const { cause, ...rest } = failure
  if (cause === undefined || left <= 1) return rest
  return { ...rest, cause: shortened(cause, left - 1) }
}

function read(target: object, key: string): unknown {
  try {
    return (target as Readonly<Record<string, unknown>>)[key]
  } catch {
    return undefined
  }
}

function describe(value: unknown): string {
  try {
    return JSON.stringify(encode(value, 'it').json)
  } catch {
    return `a value of type ${typeof value} was thrown`
  }
}

function clipMessage(text: string): string {
  return clip(text, limits.messageLengthMax)
}

function clip(text: string, lengthMax: number): string {
  // Well-formed, because the cut may split a surrogate pair, and stores only take UTF-8.
  return (text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1)}…`).toWellFormed()
}

// ── from a failure to an error ──

function revive(failure: Failure, depth: number): Error {
  const error = new Error()
  try {
    const type = String(failure.type)
    const message = String(failure.message)
    if (type !== 'Error') hide(error, 'name', type)
    hide(error, 'message', message)
    // Without a recorded stack there is none, because the stack of this error would point into pawl.
    hide(error, 'stack', failure.stack ?? `${type}: ${message}`)
    if (failure.cause && depth < limits.causeDepthMax) {
      hide(error, 'cause', revive(failure.cause, depth + 1))
    }
    const shown: Error & { code?: string; details?: unknown } = error
    if (failure.code !== undefined) shown.code = failure.code
    if (failure.details !== undefined) shown.details = decode({ json: failure.details })
    if (!failure.retryable) revivedPermanent.add(error)
  } catch {
    // The failure is damaged. The error has what could be read of it.
  }
  return error
}

function hide(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, writable: true, configurable: true })
}
