import fc from 'fast-check'
import { expect, test } from 'vitest'
import { deriveUuid, deriveUuidNear, digest, digestPayload } from './digest.ts'
import { PawlError } from './errors.ts'
import { limits } from './limits.ts'
import { checkId, checkKnownId, checkKnownName, checkName, isUuid } from './names.ts'

test.each(['a', 'charge card', 'déjà-vu', '支払い', '🦆', 'a/b:c.d', ' '])('%s is a name', (name) => {
  expect(checkName(name, 'name')).toBe(name)
  expect(checkId(name, 'id')).toBe(name)
})

test.each<[unknown, RegExp]>([
  ['', /is empty/],
  [undefined, /is undefined/],
  [null, /is null/],
  [5, /is a number/],
  [{}, /is an object/],
  [Symbol('a'), /is a symbol/],
  ['a\u0000b', /U\+0000 in "a\\u0000b"/],
  ['a\nb', /U\+000A/],
  ['\u001b[31m', /U\+001B/],
  ['a\u007f', /U\+007F in "a\\u007f"/],
  ['a\u009b31m', /U\+009B in "a\\u009b31m"/],
  ['a\ud800', /surrogate/],
  ['\udc00a', /surrogate/],
])('%s is refused', (value, problem) => {
  for (const check of [checkName, checkId]) {
    const error = refused(() => check(value, 'queue name'))
    expect(error.code).toBe('INPUT_INVALID')
    expect(error.message).toMatch(/^queue name .*expected a string of 1 to \d+ characters/)
    expect(error.message).toMatch(problem)
  }
})

test('faults 3.1: a name from an earlier release may hold C1, and still no C0 or DEL', () => {
  for (const check of [checkKnownName, checkKnownId]) {
    expect(check('a\u009b31m', 'name')).toBe('a\u009b31m')
    expect(refused(() => check('a\u007f', 'name')).message).toContain('"a\\u007f"')
  }
})

test('names and ids have lengths of their own', () => {
  const name = 'n'.repeat(limits.nameLengthMax)
  expect(checkName(name, 'name')).toBe(name)
  expect(refused(() => checkName(`${name}n`, 'name')).message).toContain('257 characters')
  const id = 'i'.repeat(limits.idLengthMax)
  expect(checkId(id, 'id')).toBe(id)
  expect(refused(() => checkId(`${id}i`, 'id')).message).toContain('1 to 512')
  expect(refused(() => checkId('x'.repeat(1e6), 'id')).message.length).toBeLessThan(300)
})

test('a digest is 16 hexadecimal digits of SHA-256', () => {
  expect(digest('abc')).toBe('ba7816bf8f01cfea')
  expect(digestPayload({ json: 1 })).toBe(digestPayload({ json: 1, notes: [] }))
  expect(digestPayload({ json: null })).not.toBe(digestPayload({ json: null, notes: [['nan']] }))
})

test('a derived UUID is of version 8 and the same every time', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (parts) => {
      const uuid = deriveUuid(...parts)
      expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(deriveUuid(...parts)).toBe(uuid)
    }),
  )
  expect(deriveUuid('a', 'b')).toBe(deriveUuid('a', 'b'))
})

test('different parts give different UUIDs, however they are cut', () => {
  const cuts = [[], [''], ['', ''], ['abc'], ['a', 'bc'], ['ab', 'c'], ['1:a'], ['a', ''], ['a']]
  expect(new Set(cuts.map((parts) => deriveUuid(...parts))).size).toBe(cuts.length)
})

test('a UUID near another begins with its 48 bits of time', () => {
  const near = '0198c0de-1234-7abc-8def-0123456789ab'
  const uuid = deriveUuidNear(near, 'child')
  expect(uuid).toMatch(/^0198c0de-1234-8/)
  expect(isUuid(uuid)).toBe(true)
  expect(deriveUuidNear(near, 'child')).toBe(uuid)
  expect(deriveUuidNear(near, 'other')).not.toBe(uuid)
  expect(() => deriveUuidNear('near', 'child')).toThrow(/^pawl assertion failed/)
})

test.each(['', 'x', '0198C0DE-1234-7abc-8def-0123456789ab', '0198c0de12347abc8def0123456789ab'])(
  '%s is no canonical UUID',
  (text) => {
    expect(isUuid(text)).toBe(false)
    expect(isUuid(`0198c0de-1234-7abc-8def-0123456789ab\n${text}`)).toBe(false)
  },
)

function refused(call: () => unknown): PawlError {
  try {
    call()
  } catch (error) {
    expect(error).toBeInstanceOf(PawlError)
    return error as PawlError
  }
  throw new Error('it was not refused')
}
