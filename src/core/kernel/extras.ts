// What is known of a run from its beginning, besides what every store can read: kept as one text.

import { parseBody } from '../base/envelope.ts'
import type { Payload } from '../base/value.ts'
import type { StoredAttributes } from './attributes.ts'

export interface Extras {
  readonly memo?: Payload
  /** What it is found by from its beginning. Absent if that is nothing, or if an older release started it. */
  readonly attributes?: StoredAttributes
  /** How long each generation may take, and all of them together, counted from `from` or from its creation. */
  readonly runTimeoutMs?: number
  readonly executionTimeoutMs?: number
  readonly from?: number
  /** It does not begin before it is triggered. */
  readonly pending?: true
  /** The version of a definition that is kept in the store. */
  readonly version?: number
  /** How long after its creation it began. */
  readonly delayMs?: number
  /**
   * Whether its input is what the schema of the workflow made of it. Absent or null: nobody has said; then the run
   * parses it when it begins, and not if it has begun.
   */
  readonly parsed?: boolean | null
}

/** Absent where there is nothing to say. */
export function encodeExtras(extras: Extras): string | undefined {
  return Object.keys(extras).length === 0 ? undefined : JSON.stringify(extras)
}

export function decodeExtras(text: string | undefined): Extras {
  return text === undefined ? {} : (parseBody(text) as Extras)
}
