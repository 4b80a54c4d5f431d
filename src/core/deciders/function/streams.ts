// What the code of a run has written to streams: enough to refuse what a stream cannot take, in every replay alike.
import { limits } from '../../base/limits.ts'
import { streamClosed, streamFull } from '../../definitions/stream.ts'

export class RunStreams {
  readonly #bytes = new Map<string, number>()
  readonly #closed = new Set<string>()

  /** Throws if the code has closed the stream, or has used it up. */
  write(stream: string, bytes: number): void {
    this.#refuseClosed(stream)
    const { streamsOfRun, streamBytesMax } = limits
    const before = this.#bytes.get(stream)
    if (before === undefined && this.#bytes.size >= streamsOfRun)
      throw streamFull(stream, `the code of the run writes to ${streamsOfRun} other streams, the most that it may`)
    const all = (before ?? 0) + bytes
    if (all > streamBytesMax) throw streamFull(stream, `it would have ${all} bytes, the limit is ${streamBytesMax}`)
    this.#bytes.set(stream, all)
  }

  close(stream: string): void {
    this.#refuseClosed(stream)
    this.#closed.add(stream)
  }

  #refuseClosed(stream: string): void {
    if (this.#closed.has(stream)) throw streamClosed(stream)
  }
}
