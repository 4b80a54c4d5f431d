// The part of the store seam about streams: items that a run writes and anybody reads, from any offset.
//
// The items of a stream have the offsets 0, 1, 2 … Each belongs to a part: what one attempt at a step wrote, or what
// the code of the run wrote in one generation. A later part of the same writer and chapter keeps the first `keep` items
// that the writer has in its parts before; the others are void. Nothing is rewritten: readers learn it from the part.
import type { Lease } from './claiming.ts'

/** Who writes, and as what. */
export interface PartOf {
  /** The key of a step, which is never empty; or an empty text, for the code of the run. */
  readonly writer: string
  /** Raised by continue-as-new alone: the same step key in another chapter is another writer. */
  readonly chapter: number
  readonly generation: number
  readonly attempt: number
  /** Items of the writer that stay valid. Counts in the first batch of a part; later ones repeat it. */
  readonly keep: number
}

/** Items as they travel: one text for all of them. */
export interface StreamItems {
  /** How many. A batch without items only begins its part. */
  readonly items: number
  /** What they count against the size of the stream. */
  readonly bytes: number
  readonly body: string
}

/** Items of a step, under the lease of its run or task. */
export interface StreamBatch extends PartOf, StreamItems {
  readonly runId: string
  readonly stream: string
  /** Unique to one execution of the step: an attempt that runs again after a crash may have the same number. */
  readonly partId: number
  /** The number of the batch in its part, from 0. */
  readonly n: number
  readonly lease: Lease
  /** The task whose lease it is; the run's when absent. */
  readonly taskId?: string
}

export type Appended =
  /** `offset` is that of the first item, if there is any. A duplicate was written before, and its answer was lost. */
  | { readonly outcome: 'applied' | 'duplicate'; readonly offset?: number }
  /** Nothing was written. The lease is stale, or a later attempt has begun to write. */
  | { readonly outcome: 'fenced' }
  /** Nothing was written: a batch of this part is missing before this one, or there is less than it wants to keep. */
  | { readonly outcome: 'gap' }
  /** Nothing was written: the stream was closed in this generation, or the run has ended. */
  | { readonly outcome: 'closed' }
  /** Nothing was written: the stream, or the run with its streams, is at a limit. */
  | { readonly outcome: 'full' }
  /** There is no such run. */
  | { readonly outcome: 'missing' }

/** What a turn does to a stream. The items belong to the part of the turn's generation. */
export type StreamTurn =
  | ({ readonly type: 'write'; readonly stream: string } & Pick<PartOf, 'chapter' | 'keep'> & StreamItems)
  | { readonly type: 'close'; readonly stream: string }

export interface StreamSnapshot {
  readonly name: string
  readonly items: number
  readonly bytes: number
  readonly parts: number
  /** It was closed in the run's current generation, or the run has ended: nothing more comes. */
  readonly closed: boolean
}

export interface StreamPart extends PartOf {
  /** Parts of a stream are numbered from 0, in the order in which they began. */
  readonly number: number
  readonly items: number
}

export interface StoredBatch {
  /** The offset of the first item. */
  readonly first: number
  readonly count: number
  readonly part: number
  readonly body: string
}

export interface StreamPage {
  /** Items of the stream. */
  readonly items: number
  readonly closed: boolean
  /** Parts from the one asked for. */
  readonly parts: readonly StreamPart[]
  /** Batches in order, from the one that has the offset asked for. */
  readonly batches: readonly StoredBatch[]
}
