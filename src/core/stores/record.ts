// The part of the store seam about shared values, and its checks.

import { PawlError } from '../base/assert.ts'
import { limits } from '../base/limits.ts'
import { checkKnownName, checkRecordKey } from '../base/names.ts'

export type RecordOperation =
  | { readonly type: 'get'; readonly space: string; readonly key: string }
  | {
      readonly type: 'put'
      readonly space: string
      readonly key: string
      /** The version the record must have; 0 if it must not exist. The new version is one higher. */
      readonly version: number
      readonly body: string
      /** Unique to this write: sent again, it is applied once. */
      readonly writeId: number
    }
  /** Records of a space behind `after`, in the order of their keys (by UTF-8 bytes). */
  | {
      readonly type: 'list'
      readonly space: string
      readonly after?: string
      readonly limit: number
    }

export interface StoredRecord {
  readonly key: string
  readonly version: number
  readonly body: string
}

export type RecordOutcome =
  | { readonly type: 'get'; readonly record?: StoredRecord }
  /** `applied` also if this very write was applied before and is still the newest; else the record as it is now. */
  | { readonly type: 'put'; readonly outcome: 'applied' }
  | { readonly type: 'put'; readonly outcome: 'conflict'; readonly record?: StoredRecord }
  | { readonly type: 'list'; readonly records: readonly StoredRecord[] }

// Checks of operations on records. They run before a codec encodes the value, so the limits count the value itself.

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
