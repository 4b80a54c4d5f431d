// What is wrong with a call of `ctx`, said where it is made.
import { PawlError } from '../../base/errors.ts'

/** `ctx` was called with something it does not take. */
export function misuse(expected: string, got: unknown): PawlError {
  const seen = got === null ? 'null' : Array.isArray(got) ? 'an array' : typeof got
  return new PawlError('INPUT_INVALID', `${expected}; got ${seen}.`)
}

/** Who of the two should get the next one, nobody could say. */
export function mixed(signal: string): PawlError {
  const message = `signal '${signal}' has a handler (ctx.on) and is waited for (ctx.wait). Use one of them: a handler that notes what came, and ctx.wait(() => …) for what it noted.`
  return new PawlError('INPUT_INVALID', message)
}
