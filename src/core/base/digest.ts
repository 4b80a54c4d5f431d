// Digests, and ids that are derived from other values: the same parts always give the same id.

import { hash } from 'node:crypto'
import { assert } from './assert.ts'
import { isUuid } from './names.ts'
import type { Payload } from './value.ts'

/** 64 bits of SHA-256, as 16 hexadecimal digits. */
export function digest(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 16)
}

/** The digest of a payload as written: the same properties in another order have another digest. */
export function digestPayload(payload: Payload): string {
  return digest(JSON.stringify([payload.json, payload.notes ?? []]))
}

/** A UUID (version 8) derived from these parts in this order. */
export function deriveUuid(...parts: string[]): string {
  return uuidOf(hash('sha256', joined(parts), 'hex'))
}

/** Like `deriveUuid`, but sorted next to `near`: the first 48 bits, which are its time, are copied. */
export function deriveUuidNear(near: string, ...parts: string[]): string {
  assert(isUuid(near), 'deriveUuidNear takes a canonical UUID')
  return near.slice(0, 13) + deriveUuid(near, ...parts).slice(13)
}

// Each part is preceded by its length, so that ('ab', 'c') and ('a', 'bc') differ.
function joined(parts: readonly string[]): string {
  return parts.map((part) => `${part.length}:${part}`).join('')
}

function uuidOf(hex: string): string {
  const variant = '89ab'[Number.parseInt(hex.slice(16, 17), 16) & 3]
  const third = `8${hex.slice(13, 16)}`
  const fourth = `${variant}${hex.slice(17, 20)}`
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${third}-${fourth}-${hex.slice(20, 32)}`
}
