// Which texts may be the key of an object: what S3 accepts, without what URLs and folders cannot represent.
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'

/** Rejects a key that some storage would confuse with another key, or would return changed. */
export function checkKey(key: string): void {
  const problem = problemOf(key)
  if (problem === undefined) return
  throw new PawlError(
    'INPUT_INVALID',
    `${quoted(key)} cannot be the key of an object: it ${problem}. Use another prefix, or a shorter name.`,
  )
}

function problemOf(key: string): string | undefined {
  if (key.includes('\0')) return 'contains NUL'
  if (!key.isWellFormed()) return 'contains half a surrogate pair'
  if (Buffer.byteLength(key) > limits.objectKeyBytesMax) {
    return `is longer than ${limits.objectKeyBytesMax} bytes`
  }
  // URLs resolve `.` and `..` before a request is sent, even percent-encoded, and some servers merge double slashes.
  const segment = key.split('/').find((each) => each === '' || each === '.' || each === '..')
  return segment === undefined ? undefined : `has the segment '${segment}'`
}

function quoted(key: string): string {
  return `'${key.slice(0, 80).replaceAll('\0', '\\0').toWellFormed()}'`
}
