// The live events of a stream of a run. An item has its offset as its id, so a client that connects again continues
// behind it, on any server.

import type { Json, Note } from '../../core/base/value.ts'
import type { StreamPart } from '../../core/index.ts'

/** An item as it is sent: `notes` say what of the chunk JSON cannot represent. */
export interface SentItem {
  readonly offset: number
  /** The number of its part. */
  readonly part: number
  readonly chunk: Json
  readonly notes?: readonly Note[]
}

export type StreamEvent =
  /** A part began. At each connection, those before are told first. */
  | { readonly event: 'part'; readonly id?: undefined; readonly data: StreamPart }
  | { readonly event: 'item'; readonly id: string; readonly data: SentItem }
  /** The stream was closed or the run has ended, and all items were sent. */
  | { readonly event: 'end'; readonly id: string; readonly data: { readonly items: number } }

const POSITION = /^(end\.)?(\d{1,15})$/

export function isStreamPosition(text: unknown): boolean {
  return typeof text === 'string' && POSITION.test(text)
}

/** The offset that a client continues from, and whether it was told the end. */
export function streamPlace(after: string | undefined, from = 0): { readonly from: number; readonly toldEnd: boolean } {
  const [, end, offset] = POSITION.exec(after ?? '') ?? []
  if (offset === undefined) return { from, toldEnd: false }
  return { from: Number(offset) + (end ? 0 : 1), toldEnd: end !== undefined }
}
