// Checks of operations on records. They run before a codec encodes the value, so the limits count the value itself.
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { checkKnownName, checkRecordKey } from '../../core/base/names.ts'

/** The fields of an operation on records that are checked. */
export interface CheckedRecord {
  readonly space: string
  readonly key?: string
  readonly version?: number
  readonly body?: string
  readonly after?: string
  readonly limit?: number
}

export function checkRecord({ space, key, version, body, after, limit }: CheckedRecord): void {
  checkKnownName(space, 'the space of a record')
  if (key !== undefined) checkRecordKey(key, 'the key of a record')
  if (after !== undefined) checkRecordKey(after, 'the key that records are listed from')
  if (version !== undefined && (!Number.isSafeInteger(version) || version < 0))
    throw refusal(`the version of a record is ${version}; expected a whole number from 0.`)
  if (body !== undefined) checkBody(body)
  const max = limits.recordsListedMax
  if (limit !== undefined && !(Number.isInteger(limit) && limit > 0 && limit <= max))
    throw refusal(`the limit of listed records is ${limit}; expected a whole number from 1 to ${max}.`)
}

function checkBody(body: string): void {
  const bytes = Buffer.byteLength(body)
  const max = limits.recordBytesMax
  if (bytes <= max) return
  const message = `a record has ${bytes} bytes; expected at most ${max}. Store it elsewhere and keep a reference.`
  throw new PawlError('PAYLOAD_TOO_LARGE', message, { details: { bytes, max } })
}

function refusal(message: string): PawlError {
  return new PawlError('INPUT_INVALID', message)
}
