// What may be the key of an object, and the order of keys. Both are S3's, less what URLs and folders cannot carry.
import { PawlError } from '../../kernel/errors.ts'
import { limits } from '../../kernel/limits.ts'

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

/**
 * Compares by the bytes of UTF-8. JavaScript compares by UTF-16, which differs where one of the two has a
 * character beyond the first 65,536: those are written with the units from D800 to DFFF.
 */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index++) {
    const left = a.charCodeAt(index)
    const right = b.charCodeAt(index)
    if (left !== right) return rank(left) - rank(right)
  }
  return a.length - b.length
}

function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}
