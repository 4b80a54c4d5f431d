// Reading streams: pages of the store as items, in order, each with the part that it belongs to.
import { type Described, given, whole } from '../base/described.ts'
import { PawlError } from '../base/errors.ts'
import type { Payload } from '../base/value.ts'
import { decodeItems } from '../kernel/items.ts'
import type { StreamPart as StoredPart, StreamPage } from '../stores/store.ts'
import type { StreamWatch } from './stream-watch.ts'

export const streamOptions = {
  /** The offset of the first item. Default: 0. */
  from: whole('The offset of the first item.', [0, Number.MAX_SAFE_INTEGER], { otherwise: '0' }),
  /** Ends the reading. */
  signal: given<AbortSignal>('Ends the reading.', 'an AbortSignal'),
} as const
/** Options of `run.stream`. */
export interface StreamOptions extends Described<typeof streamOptions> {}

/** What one attempt at a step wrote to a stream, or the code of the run in one generation. */
export interface StreamPart {
  /** Parts of a stream are numbered from 0, in the order in which they began. */
  readonly number: number
  /** The key of the step; absent for the code of the run. */
  readonly step?: string
  readonly generation: number
  /** The number of the attempt; 0 for the code of the run. */
  readonly attempt: number
  /** Raised by continue-as-new: the same step in another chapter is another writer. */
  readonly chapter: number
  /** Of all that this step, or the code, wrote in its chapter before, the first `keep` items stay; the rest is void. */
  readonly keep: number
}

/** An item of a stream, as `run.stream` yields it. */
export interface StreamItem<out Chunk> {
  readonly offset: number
  readonly chunk: Chunk
  readonly part: StreamPart
}

/** A stream of a run, as `run.streams` lists it. */
export interface StreamRecord {
  readonly name: string
  readonly items: number
  readonly bytes: number
  readonly parts: number
  /** Nothing more comes, unless the run is retried or reset. */
  readonly closed: boolean
}

/** What a look at a stream found: parts that began, then items. */
export interface StreamNews {
  readonly parts: readonly StreamPart[]
  readonly items: readonly { readonly offset: number; readonly part: StreamPart; readonly payload: Payload }[]
  /** The offset of the next item. */
  readonly next: number
  /** True if nothing comes after these. */
  readonly isLast: boolean
}

export interface StreamSource {
  readonly runId: string
  readonly stream: string
  readonly from: number
  readonly signal?: AbortSignal | undefined
}

/** Everything from an offset to the end of the stream, as it comes. The signal ends it early. */
export async function* newsOf(watch: StreamWatch, { from, signal, ...of }: StreamSource): AsyncGenerator<StreamNews> {
  const parts: StreamPart[] = []
  for (let at = from; !signal?.aborted; ) {
    const page = await watch.next({ ...of, from: at, parts: parts.length }, signal).catch((error: unknown) => {
      if (!signal?.aborted) throw error
    })
    if (!page && signal?.aborted) return
    if (!page) throw new PawlError('RUN_NOT_FOUND', `run ${of.runId} was deleted while its stream was read.`)
    const news = newsIn(page, parts, at)
    at = news.next
    yield news
    if (news.isLast) return
  }
}

/** What a page has from an offset. Its parts are added to those that are known. */
export function newsIn(page: StreamPage, known: StreamPart[], from: number): StreamNews {
  const parts = page.parts.map(shownPart)
  known.push(...parts)
  const items = page.batches.flatMap(({ first, part, body }) =>
    decodeItems(body).flatMap((payload, index) => {
      const of = known[part]
      return of && first + index >= from ? [{ offset: first + index, part: of, payload }] : []
    }),
  )
  const next = (items.at(-1)?.offset ?? from - 1) + 1
  return { parts, items, next, isLast: page.closed && next >= page.items }
}

function shownPart({ writer, items: _, ...part }: StoredPart): StreamPart {
  // The code of the run has no key.
  return { ...part, ...(writer !== '' && { step: writer }) }
}
