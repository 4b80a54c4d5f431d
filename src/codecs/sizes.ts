import { PawlError } from '../kernel/errors.ts'

export function checkedSize(bytes: number, option: string, codec: string): number {
  if (Number.isSafeInteger(bytes) && bytes >= 0) return bytes
  throw new PawlError(
    'INPUT_INVALID',
    `${option} of ${codec} is ${bytes}; expected a whole number of bytes, 0 or more.`,
  )
}
