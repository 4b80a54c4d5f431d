// Facts about a run from its creation that no store needs to read: kept as one text.

import { parseBody } from '../base/envelope.ts'
import type { Payload } from '../base/value.ts'
import type { StoredAttributes } from './attributes.ts'
import type { StoredTrace } from './run-trace.ts'

export interface Extras {
  readonly memo?: Payload
  /** The attributes the run was started with. Absent if there are none, or if an older release started the run. */
  readonly attributes?: StoredAttributes
  /** Limits of one generation and of all together, counted from `from` or from the creation of the run. */
  readonly runTimeoutMs?: number
  readonly executionTimeoutMs?: number
  readonly from?: number
  /** The run does not begin before it is triggered. */
  readonly pending?: true
  /** The version of a definition in the store. */
  readonly version?: number
  /** How long after its creation the run may begin. */
  readonly delayMs?: number
  /**
   * Whether the input is already the output of the workflow's schema. Absent or null: unknown; then the run parses its
   * input when it begins.
   */
  readonly parsed?: boolean | null
  readonly trace?: StoredTrace
}

/** Undefined if there are none. */
export function encodeExtras(extras: Extras): string | undefined {
  return Object.keys(extras).length === 0 ? undefined : JSON.stringify(extras)
}

export function decodeExtras(text: string | undefined): Extras {
  return text === undefined ? {} : (parseBody(text) as Extras)
}
