// Streams of live events: how many are open, and how their events are written as server-sent events.
import { limits } from '../core/base/limits.ts'
import type { Clock } from '../core/runtime/clock.ts'
import type { Batches } from '../operations/live/events.ts'
import { plainText } from '../operations/wire.ts'
import { tooManyStreams } from './access.ts'

/** An event as it is written: `data` becomes one line of JSON. */
interface Written {
  readonly event: string
  readonly id?: string | undefined
  readonly data: unknown
}

/** A stream that was counted. `stop` ends its reader; `signal` tells the reader. */
export interface Slot {
  readonly signal: AbortSignal
  readonly stop: () => void
}

/** Counts the open streams of a process, and of each token. */
export class Streams {
  readonly #clock: Clock
  readonly #byToken = new Map<string, number>()
  #all = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#all
  }

  /** Takes a place for a stream, until it ends or one of the signals aborts. */
  open(token: string, signals: readonly AbortSignal[]): Slot {
    const mine = this.#byToken.get(token) ?? 0
    if (this.#all >= limits.liveStreamsMax) throw tooManyStreams(`this server has ${this.#all} open streams`)
    if (mine >= limits.liveStreamsPerToken) throw tooManyStreams(`this token has ${mine} open streams`)
    this.#all++
    this.#byToken.set(token, mine + 1)
    const own = new AbortController()
    const stop = (): void => {
      if (own.signal.aborted) return
      for (const signal of signals) signal.removeEventListener('abort', stop)
      this.#release(token)
      own.abort()
    }
    for (const signal of signals) signal.addEventListener('abort', stop, { once: true })
    if (signals.some(({ aborted }) => aborted)) stop()
    return { signal: own.signal, stop }
  }

  #release(token: string): void {
    this.#all--
    const left = (this.#byToken.get(token) ?? 1) - 1
    if (left > 0) this.#byToken.set(token, left)
    else this.#byToken.delete(token)
  }

  /** The text of a stream. However its reading ends, its place is free then. */
  texts(batches: Batches<Written>, slot: Slot): AsyncIterable<string> {
    const texts = framed(batches, this.#clock, slot)
    const ended = async (): Promise<IteratorResult<string>> => {
      slot.stop()
      return texts.return(undefined)
    }
    const next = async (): Promise<IteratorResult<string>> => {
      try {
        const result = await texts.next()
        if (result.done) slot.stop()
        return result
      } catch (error) {
        slot.stop()
        throw error
      }
    }
    return { [Symbol.asyncIterator]: () => ({ next, return: ended }) }
  }
}

// Pulled: the next events are read when the client has taken these.
async function* framed(batches: Batches<Written>, clock: Clock, slot: Slot): AsyncGenerator<string, undefined> {
  const retry = `retry: ${limits.liveRetryMs}\n\n`
  const until = clock.monotonic() + limits.liveStreamMs
  const iterator = batches[Symbol.asyncIterator]()
  try {
    yield retry
    let next = iterator.next()
    while (clock.monotonic() < until) {
      const read = await within(clock, next, limits.liveHeartbeatMs)
      if (read === undefined) yield ':\n\n'
      else if (read.done || slot.signal.aborted) break
      else {
        yield* chunks(read.value)
        next = iterator.next()
      }
    }
    yield retry
  } finally {
    // Its reader may be waiting.
    slot.stop()
    await iterator.return?.()
  }
}

/** Pieces of bounded size, so that a slow client is seen to take them. */
function* chunks(events: readonly Written[]): Generator<string> {
  let text = ''
  for (const { event, id, data } of events) {
    const place = id === undefined ? '' : `id: ${id}\n`
    text += `${place}event: ${event}\ndata: ${plainText(data)}\n\n`
    while (text.length >= limits.liveChunkLength) {
      const length = lengthOfWhole(text, limits.liveChunkLength)
      yield text.slice(0, length)
      text = text.slice(length)
    }
  }
  if (text !== '') yield text
}

/** One less if the cut would divide a character that takes two units. */
function lengthOfWhole(text: string, length: number): number {
  const unit = text.charCodeAt(length - 1)
  return unit >= 0xd800 && unit <= 0xdbff ? length - 1 : length
}

/** Undefined if the promise is not settled within this time. */
async function within<T>(clock: Clock, promise: Promise<T>, ms: number): Promise<T | undefined> {
  let cancel = (): void => {}
  const late = new Promise<undefined>((resolve) => {
    cancel = clock.after(ms, () => resolve(undefined))
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    cancel()
  }
}
