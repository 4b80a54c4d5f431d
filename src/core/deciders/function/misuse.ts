// Errors of calls of `ctx` with wrong arguments, thrown where the call is made.
import { shown } from '../../base/described.ts'
import { PawlError } from '../../base/errors.ts'
import type { AnySchema } from '../../definitions/schema.ts'

/** `example` shows how the call is written. */
export function misuse(call: string, expected: string, got: unknown, example: string): PawlError {
  const { is, name } = marksOf(got)
  const value = is !== undefined && name !== undefined ? `${is} ${shown(name)}` : shown(got)
  const message = `${call} expects ${expected}, but got ${value}. Call it as ${example}.`
  return new PawlError('INPUT_INVALID', message)
}

/** A signal with both a handler and a wait: neither has a better claim to the next signal. */
export function mixed(signal: string): PawlError {
  const message = `signal '${signal}' has both a handler (ctx.on) and a wait (ctx.wait); expected one of them. Let the handler store what it gets, and wait for that with ctx.wait(() => …).`
  return new PawlError('INPUT_INVALID', message)
}

/** The properties by which `ctx` recognises the definitions, contracts and messages of users. */
interface Marks {
  readonly is?: string
  readonly name?: string
  readonly token?: string
  readonly schema?: AnySchema
}

export function marksOf(value: unknown): Marks {
  return typeof value === 'object' && value !== null ? value : {}
}
