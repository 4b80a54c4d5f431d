// Errors about objects of the store that are missing or not readable.
import { PawlError } from '../../core/base/errors.ts'

const ASK_DOCTOR = 'Run `pawl doctor` to see what to restore.'

/** `fault` is the rest of a sentence that begins with the key. */
export function damagedObject(key: string, fault: string): PawlError {
  return new PawlError('STORE_UNSUITABLE', `${key} ${fault}. ${ASK_DOCTOR}`)
}

/** Another process has merged or deleted a segment: its runs are in another one, or were deleted. */
export class SegmentGone extends PawlError {
  constructor(key: string) {
    super('STORE_UNSUITABLE', `${key} is missing, with the ended runs in it. ${ASK_DOCTOR}`)
  }
}

/** Returns the fault alone, for a report that has its own advice. */
export function withoutAdvice(message: string): string {
  return message.replace(ASK_DOCTOR, '').trimEnd().replace(/\.$/, '')
}
