// Values that all parts of the store seam use, and the order of texts.

import type { Head } from '../kernel/run.ts'

export type {
  AttributeChanges,
  StoredAttribute as AttributeValue,
  StoredAttributes as Attributes,
  StoredScalar as AttributeScalar,
} from '../kernel/attributes.ts'

/** What a run is created with, with its bodies as texts. */
export interface StoredHead extends Omit<Head, 'input' | 'extras' | 'keysOf' | 'chapter' | 'attempt'> {
  readonly input: string
  readonly extras?: string
}

export interface StoredMessage {
  readonly id: string
  readonly body: string
}

export { NEVER } from '../base/time.ts'

/** The code of a run as a writer to streams. Steps write under their keys, which are never empty. */
export const RUN_WRITER = ''

/** The build of a run that was paused by hand. */
export const BY_HAND = ''

// The order that every store sorts texts in.

/**
 * Compares by the bytes of UTF-8. JavaScript compares by UTF-16, which differs where one of the two has a
 * character beyond the first 65,536: those are written with the units from D800 to DFFF.
 */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index++) {
    const left = a.charCodeAt(index)
    const right = b.charCodeAt(index)
    if (left !== right) return rank(left) - rank(right)
  }
  return a.length - b.length
}

function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}
