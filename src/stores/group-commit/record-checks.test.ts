import { expect, test } from 'vitest'
import { limits } from '../../core/base/limits.ts'
import { type CheckedRecord, checkRecord } from './record-checks.ts'

const put = { space: 's', key: 'k', version: 0, body: '{}' }
const longest = 'k'.repeat(limits.recordKeyLengthMax)

test.each<CheckedRecord>([
  put,
  { space: 's', key: longest },
  { ...put, body: 'x'.repeat(limits.recordBytesMax), version: 2 ** 40 },
  { space: 's', limit: limits.recordsListedMax, after: 'a/b é 𝒳' },
])('%o is fine', (record) => {
  expect(() => checkRecord(record)).not.toThrow()
})

test.each<[string, CheckedRecord, string]>([
  ['an empty space', { ...put, space: '' }, 'INPUT_INVALID'],
  ['an empty key', { ...put, key: '' }, 'INPUT_INVALID'],
  ['a key that is too long', { ...put, key: `${longest}k` }, 'INPUT_INVALID'],
  ['a key with NUL', { ...put, key: 'a\0b' }, 'INPUT_INVALID'],
  ['half a character', { space: 's', after: '\ud800', limit: 1 }, 'INPUT_INVALID'],
  ['a version below 0', { ...put, version: -1 }, 'INPUT_INVALID'],
  ['half a version', { ...put, version: 0.5 }, 'INPUT_INVALID'],
  ['nothing to list', { space: 's', limit: 0 }, 'INPUT_INVALID'],
  ['too much to list', { space: 's', limit: limits.recordsListedMax + 1 }, 'INPUT_INVALID'],
  ['a large body', { ...put, body: 'é'.repeat(limits.recordBytesMax / 2 + 1) }, 'PAYLOAD_TOO_LARGE'],
])('%s is refused', (_, record, code) => {
  expect(() => checkRecord(record)).toThrow(expect.objectContaining({ code }))
})
