import { PawlError } from '../../kernel/errors.ts'

/** `ctx` was called with something it does not take. */
export function misuse(expected: string, got: unknown): PawlError {
  const seen = got === null ? 'null' : Array.isArray(got) ? 'an array' : typeof got
  return new PawlError('INPUT_INVALID', `${expected}; got ${seen}.`)
}
