// The rows of streams, as the rules read and write them, and as stores in memory keep them.
import type { PartOf, StoredBatch } from '../stream.ts'

export interface StreamRow {
  readonly name: string
  /** Items so far: the offset of the next one. */
  readonly items: number
  readonly bytes: number
  readonly parts: number
  /** The generation in which it was closed last; 0 if it was not. */
  readonly closedIn: number
}

export interface PartRow extends PartOf {
  readonly number: number
  readonly partId: number
  readonly items: number
  readonly batches: number
}

export interface BatchRow extends StoredBatch {
  readonly n: number
}

/** What happened to one stream of a run. */
export interface StreamChange {
  readonly row: StreamRow
  /** Parts that are new or have changed. */
  readonly parts: readonly PartRow[]
  readonly batches: readonly BatchRow[]
}

/** What the rules of streams need of a store. */
export interface StreamRows {
  stream(runId: string, name: string): StreamRow | undefined
  /** How many streams a run has. */
  countStreams(runId: string): number
  /** The part of this writer that began last. */
  newestPart(runId: string, name: string, of: Pick<PartOf, 'writer' | 'chapter'>): PartRow | undefined
  /** The offset of the first item of a batch; `undefined` if it had none. */
  offsetOf(runId: string, name: string, batch: Pick<BatchRow, 'part' | 'n'>): number | undefined
  /** Writes the row of a stream, with a part of it and a batch of items. */
  putStream(runId: string, row: StreamRow, part?: PartRow, batch?: BatchRow): void
}
