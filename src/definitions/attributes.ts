// What a run is found by: flat, typed values under names.
import { PawlError } from '../kernel/errors.ts'
import type { AttributeValues } from '../kernel/event.ts'
import { limits } from '../kernel/limits.ts'
import { checkKnownName } from '../kernel/names.ts'

/** A value that runs can be found by. */
export type AttributeValue = string | number | boolean | Date
/** What runs are found by. */
export type Attributes = Readonly<Record<string, AttributeValue>>

/** As they are stored. An instant is told from a number. */
export function storedAttributes(attributes: Attributes): AttributeValues {
  const entries = Object.entries(attributes)
  if (entries.length > limits.attributesMax) {
    const message = `${entries.length} attributes are too many; a run has at most ${limits.attributesMax}.`
    throw new PawlError('INPUT_INVALID', message)
  }
  return Object.fromEntries(
    entries.map(([name, value]) => [
      checkKnownName(name, 'the name of an attribute'),
      storedAttribute(name, value),
    ]),
  )
}

export function storedAttribute(name: string, value: unknown): AttributeValues[string] {
  if (value instanceof Date && Number.isFinite(value.getTime())) return { at: value.getTime() }
  if (typeof value === 'boolean') return value
  // SQL has no negative zero, and JSON neither.
  if (typeof value === 'number' && Number.isFinite(value)) return Object.is(value, -0) ? 0 : value
  if (typeof value === 'string') {
    if (Buffer.byteLength(value) <= limits.attributeBytesMax && isSound(value)) return value
    const message = `attribute '${name}' is a text that is longer than ${limits.attributeBytesMax} bytes, or not well formed. Keep long texts in the memo.`
    throw new PawlError('INPUT_INVALID', message)
  }
  const message = `attribute '${name}' is not a string, a finite number, a boolean or a valid Date. Attributes are flat; keep the rest in the memo.`
  throw new PawlError('INPUT_INVALID', message)
}

function isSound(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

export function attributesFrom(stored: AttributeValues): Attributes {
  return Object.fromEntries(
    Object.entries(stored).map(([name, value]) => [
      name,
      typeof value === 'object' ? new Date(value.at) : value,
    ]),
  )
}
