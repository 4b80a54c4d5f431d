// What may be the key of an object. It is what S3 takes, less what URLs and folders cannot carry.
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'

/** Refuses a key that some storage would take for another one, or would not give back as it was. */
export function checkKey(key: string): void {
  const problem = problemOf(key)
  if (problem === undefined) return
  throw new PawlError('INPUT_INVALID', `${quoted(key)} cannot be the key of an object: ${problem}.`)
}

function problemOf(key: string): string | undefined {
  if (key.includes('\0')) return 'it contains NUL'
  if (!key.isWellFormed()) return 'it contains half a character'
  if (Buffer.byteLength(key) > limits.objectKeyBytesMax) {
    return `it is longer than ${limits.objectKeyBytesMax} bytes`
  }
  // URLs resolve `.` and `..` before anything is sent, even percent-encoded, and some servers join double slashes.
  const segment = key.split('/').find((each) => each === '' || each === '.' || each === '..')
  return segment === undefined ? undefined : `it has the segment '${segment}'`
}

function quoted(key: string): string {
  return `'${key.slice(0, 80).replaceAll('\0', '\\0').toWellFormed()}'`
}
