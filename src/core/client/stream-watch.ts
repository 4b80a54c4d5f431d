// The readers of streams in this process. What is written here is looked for at once; what other processes write, by one
// load for all readers, more rarely the longer nothing comes.
import { limits } from '../base/limits.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Hint, LoadAsk, Store, StreamPage } from '../stores/store.ts'

export type PageAsk = Omit<Extract<LoadAsk, { type: 'stream' }>, 'type' | 'batches'>

interface Reader {
  readonly ask: PageAsk
  readonly resolve: (page: StreamPage | undefined) => void
}

export class StreamWatch {
  readonly #store: Pick<Store, 'load' | 'wake'>
  readonly #clock: Clock
  readonly #readers = new Set<Reader>()
  #stopHints: (() => void) | undefined
  #cancelLook: (() => void) | undefined
  #pauseMs: number = limits.streamPollMsMin
  #isLooking = false
  #lookAgain = false
  #closed: Error | undefined

  constructor(store: Pick<Store, 'load' | 'wake'>, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /**
   * A page of a stream with something new: items, parts, or its end. Undefined if there is no such run. Throws the
   * reason of the signal when that aborts.
   */
  async next(ask: PageAsk, signal: AbortSignal | undefined): Promise<StreamPage | undefined> {
    signal?.throwIfAborted()
    const [loaded] = await this.#store.load([asked(ask)])
    const page = loaded?.type === 'stream' ? loaded.page : undefined
    if (!page || isNews(page, ask)) return page
    return this.#wait(ask, signal)
  }

  /** Every reader gets this error. */
  close(error: Error): void {
    this.#closed = error
    this.#lookSoon()
  }

  #wait(ask: PageAsk, signal: AbortSignal | undefined): Promise<StreamPage | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(this.#closed)
      signal?.throwIfAborted()
      const done = (): void => {
        this.#readers.delete(reader)
        signal?.removeEventListener('abort', abort)
        if (this.#readers.size === 0) this.#rest()
      }
      const abort = (): void => {
        done()
        reject(signal?.reason)
      }
      const reader: Reader = {
        ask,
        resolve: (page) => {
          done()
          if (this.#closed) reject(this.#closed)
          else resolve(page)
        },
      }
      signal?.addEventListener('abort', abort, { once: true })
      this.#readers.add(reader)
      this.#stopHints ??= this.#store.wake((hint) => this.#hear(hint))
      this.#schedule()
    })
  }

  #rest(): void {
    this.#cancelLook?.()
    this.#cancelLook = undefined
    this.#stopHints?.()
    this.#stopHints = undefined
    this.#pauseMs = limits.streamPollMsMin
  }

  #hear(hint: Hint): void {
    const isOf = hint.type === 'streamed' || hint.type === 'ended' ? hint.runId : undefined
    if (isOf === undefined) return
    for (const { ask } of this.#readers) if (ask.runId === isOf) return this.#lookSoon()
  }

  #schedule(): void {
    this.#cancelLook ??= this.#clock.after(this.#pauseMs, () => this.#lookSoon())
  }

  #lookSoon(): void {
    this.#lookAgain = true
    if (!this.#isLooking) void this.#lookAll()
  }

  async #lookAll(): Promise<void> {
    this.#isLooking = true
    while (this.#lookAgain) {
      this.#lookAgain = false
      this.#cancelLook?.()
      this.#cancelLook = undefined
      const readers = [...this.#readers]
      // A look that failed says nothing; the next one tries again.
      const loaded = this.#closed
        ? []
        : await this.#store.load(readers.map(({ ask }) => asked(ask))).catch(() => undefined)
      let isAny = false
      for (const [index, reader] of readers.entries()) {
        const found = loaded?.[index]
        const page = found?.type === 'stream' ? found.page : undefined
        const isSettled = this.#closed || (loaded && (!page || isNews(page, reader.ask)))
        if (!isSettled || !this.#readers.has(reader)) continue
        isAny = true
        reader.resolve(page)
      }
      this.#pauseMs = isAny ? limits.streamPollMsMin : Math.min(this.#pauseMs * 2, limits.streamPollMsMax)
      if (this.#readers.size > 0) this.#schedule()
    }
    this.#isLooking = false
  }
}

function asked(ask: PageAsk): LoadAsk {
  return { type: 'stream', ...ask, batches: limits.streamPageBatches }
}

function isNews({ items, closed, parts }: StreamPage, { from }: PageAsk): boolean {
  return closed || parts.length > 0 || items > from
}
