// Parts of a stored value while it is decoded. Each is checked to have the kind that its note says.
import { PawlError } from './assert.ts'

export function dateOf(value: unknown): Date {
  if (typeof value === 'string' || value === null) return new Date(value ?? Number.NaN)
  throw mismatch('date', 'text')
}

export function bigintOf(value: unknown): bigint {
  if (typeof value === 'string' && /^-?\d+$/.test(value)) return BigInt(value)
  throw mismatch('bigint', 'a text of digits')
}

export function urlOf(value: unknown): URL {
  const url = typeof value === 'string' ? URL.parse(value) : null
  if (url !== null) return url
  throw mismatch('url', 'a URL')
}

export function bytesOf(value: unknown): Uint8Array {
  // A copy, because a Buffer may share its memory with other Buffers.
  if (typeof value === 'string') return new Uint8Array(Buffer.from(value, 'base64'))
  throw mismatch('bytes', 'text')
}

export function listOf(value: unknown, kind: string): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw mismatch(kind, 'a list')
}

export function pairOf(value: unknown): readonly [unknown, unknown] {
  if (Array.isArray(value) && value.length === 2) return [value[0], value[1]]
  throw mismatch('map', 'a list of pairs')
}

export function mismatch(kind: string, expected: string): PawlError {
  return damaged(`a note says '${kind}', but the value is not ${expected}`)
}

export function damaged(problem: string): PawlError {
  return new PawlError('NOT_SERIALISABLE', `a stored value cannot be read: ${problem}`)
}
