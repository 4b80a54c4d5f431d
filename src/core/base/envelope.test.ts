import { expect, test } from 'vitest'
import { decodeMessage, decodePayload, decodeTurn } from '../kernel/codec.ts'
import { decodeExtras } from '../kernel/extras.ts'
import { codecsOf, isEncoded, isUnreadable, openEnvelope, sealEnvelope, unreadable, whyUnreadable } from './envelope.ts'
import { PawlError } from './errors.ts'

test('P12: an envelope is opened as it was sealed', () => {
  const bytes = new Uint8Array([0, 1, 30, 255])
  for (const ids of [[], ['a'], ['compress', 'encrypt:k2']]) {
    const text = sealEnvelope({ ids, bytes })
    expect(isEncoded(text)).toBe(true)
    expect(isUnreadable(text)).toBe(false)
    expect(codecsOf(text)).toEqual(ids)
    expect(new Uint8Array(openEnvelope(text).bytes)).toEqual(bytes)
    // Postgres gets many bodies in one text, separated by a control character.
    expect(text).toMatch(/^[ -~]+$/)
  }
})

test('P12: a part of a larger array is sealed as that part', () => {
  const whole = new Uint8Array([1, 2, 3, 4])
  const text = sealEnvelope({ ids: ['a'], bytes: whole.subarray(1, 3) })
  expect(new Uint8Array(openEnvelope(text).bytes)).toEqual(new Uint8Array([2, 3]))
})

test('P12: who reads an encoded body without codecs is told which it takes', () => {
  const text = sealEnvelope({ ids: ['compress', 'encrypt:k2'], bytes: new Uint8Array([1]) })
  for (const read of [decodeTurn, decodeMessage, decodePayload, decodeExtras]) {
    expect(() => read(text)).toThrow(
      expect.objectContaining({
        code: 'CODEC_MISSING',
        message: expect.stringMatching(/compress, encrypt:k2.*open\(url, \{ codecs \}\)/),
      }),
    )
  }
})

test('P12: what could not be decoded says why to its reader', () => {
  const text = unreadable(new PawlError('CODEC_FAILED', 'the key does not open it'))
  expect(isUnreadable(text)).toBe(true)
  expect(whyUnreadable(text)).toMatchObject({ code: 'CODEC_FAILED' })
  expect(() => decodePayload(text)).toThrow('the key does not open it')
})

test('P12: an envelope of a later version is refused as such', () => {
  expect(() => openEnvelope('~2 what=ever')).toThrow(expect.objectContaining({ code: 'SCHEMA_TOO_NEW' }))
})
