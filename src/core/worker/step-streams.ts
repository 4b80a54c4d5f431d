// What an attempt at a step writes to streams. Items collect for a moment and travel in batches, one at a time for each
// stream, so that a batch that is sent again after a lost answer is known by its number.
import { checkOptions, type Described, flag } from '../base/described.ts'
import { PawlError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import type { StreamWriter } from '../definitions/contract.ts'
import { streamClosed, streamFull, streamName } from '../definitions/stream.ts'
import { encodeItem, ItemBatch } from '../kernel/items.ts'
import type { Appended, Lease, LoadAsk, StreamBatch, StreamPart } from '../stores/store.ts'
import type { WorkerContext } from './context.ts'

export const writeOptions = {
  /** Continue behind what earlier attempts wrote. Default: what they wrote is void. */
  resume: flag('Continue behind what earlier attempts wrote.', { otherwise: 'what they wrote is void' }),
} as const

/** Which attempt writes, and under which lease. */
export interface StreamsOf {
  readonly runId: string
  readonly generation: number
  /** Its generation when undefined. */
  readonly chapter: number | undefined
  readonly key: string
  readonly attempt: number
  readonly lease: Lease
  /** The task whose lease it is; the run's when absent. */
  readonly taskId?: string
}

type StreamContext = Pick<WorkerContext, 'clock' | 'random'> & { readonly line: Pick<WorkerContext['line'], 'send'> }

export class StepStreams {
  readonly #of: StreamsOf
  readonly #context: StreamContext
  readonly #writers = new Map<string, PartWriter>()

  constructor(of: StreamsOf, context: StreamContext) {
    this.#of = of
    this.#context = context
  }

  /** The writer of a stream: one for each attempt. */
  open(stream: unknown, options: Described<typeof writeOptions> = {}): PartWriter {
    const name = streamName('ctx.stream', stream)
    checkOptions(writeOptions, options, { of: 'ctx.stream' })
    const { resume = false } = options
    const writer = this.#writers.get(name) ?? new PartWriter(name, resume, this.#of, this.#context)
    this.#writers.set(name, writer)
    return writer
  }

  /** Streams that the step closes when it completes. */
  get closes(): string[] {
    return [...this.#writers.values()].filter(({ isClosed }) => isClosed).map(({ name }) => name)
  }

  /** Takes no more items, and resolves when all are durable. */
  async finish(): Promise<void> {
    await Promise.all([...this.#writers.values()].map((writer) => writer.finish()))
  }

  /** The attempt is over, and what it has not sent is dropped. */
  drop(reason: Error): void {
    for (const writer of this.#writers.values()) writer.fail(reason)
  }
}

/** The part of one attempt in one stream. Methods work without `this`, so that they can be destructured. */
export class PartWriter implements StreamWriter<unknown> {
  readonly name: string
  isClosed = false
  readonly #of: StreamsOf
  readonly #context: StreamContext
  readonly #partId: number
  readonly #resume: boolean
  /** Items that wait, the batch that collects at the end. */
  readonly #waiting: ItemBatch[] = []
  #bytes = 0
  #n = 0
  #kept: Promise<number> | undefined
  #sending: Promise<void> | undefined
  #failure: Error | undefined
  #isOver = false
  #cancelTimer: (() => void) | undefined
  /** Callers that wait for room. */
  #room: (() => void)[] = []

  constructor(name: string, resume: boolean, of: StreamsOf, context: StreamContext) {
    this.name = name
    this.#resume = resume
    this.#of = of
    this.#context = context
    this.#partId = context.random.integer()
  }

  readonly write = async (chunk: unknown): Promise<void> => {
    if (this.isClosed) throw streamClosed(this.name)
    this.#refuseFailed()
    if (this.#isOver) throw new PawlError('WORKER_STOPPED', `the attempt that writes to stream '${this.name}' is over`)
    this.#add(chunk)
    while (this.#bytes > limits.streamWaitingBytes && !this.#failure) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#room.push(resolve)
      await promise
    }
    this.#refuseFailed()
  }

  readonly flush = async (): Promise<void> => {
    while (this.#waiting.length > 0 || this.#sending) await this.#send()
    this.#refuseFailed()
  }

  readonly kept = (): Promise<number> => {
    this.#kept ??= this.#resume ? this.#lengthSoFar() : Promise.resolve(0)
    return this.#kept
  }

  readonly close = (): void => {
    this.isClosed = true
  }

  async finish(): Promise<void> {
    this.#isOver = true
    // What earlier attempts wrote is void even if this one writes nothing.
    if (this.#n === 0 && this.#waiting.length === 0 && !this.#sending && !this.#resume)
      this.#waiting.push(new ItemBatch())
    await this.flush()
  }

  fail(reason: Error): void {
    this.#failure ??= reason
    this.#isOver = true
    this.#cancelTimer?.()
    this.#waiting.length = 0
    this.#bytes = 0
    this.#tellRoom()
  }

  #refuseFailed(): void {
    if (this.#failure) throw this.#failure
  }

  #add(chunk: unknown): void {
    const item = encodeItem(this.name, chunk)
    const last = this.#waiting.at(-1)
    const batch = last && !last.isFull ? last : new ItemBatch()
    if (batch !== last) this.#waiting.push(batch)
    batch.add(item)
    this.#bytes += item.bytes
    if (batch.isFull) void this.#send()
    else this.#cancelTimer ??= this.#context.clock.after(limits.streamDelayMs, () => void this.#send())
  }

  /** Sends what waits; resolves when all that waited is durable, or sending has failed. */
  #send(): Promise<void> {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#sending ??= this.#sendAll()
      .catch((error: unknown) => this.fail(error instanceof Error ? error : new Error(String(error))))
      .finally(() => {
        this.#sending = undefined
      })
    return this.#sending
  }

  async #sendAll(): Promise<void> {
    const keep = await this.kept()
    for (let batch = this.#waiting.shift(); batch && !this.#failure; batch = this.#waiting.shift()) {
      const { bytes } = batch
      this.#take(await this.#append({ ...batch.take(), keep }))
      this.#bytes -= bytes
      this.#n++
      this.#tellRoom()
    }
  }

  #tellRoom(): void {
    const room = this.#room
    this.#room = []
    for (const tell of room) tell()
  }

  async #append(items: Pick<StreamBatch, 'items' | 'bytes' | 'body' | 'keep'>): Promise<Appended> {
    const { runId, generation, chapter = generation, key, attempt, lease, taskId } = this.#of
    const part = { writer: key, chapter, generation, attempt, partId: this.#partId, n: this.#n }
    const batch = { runId, stream: this.name, lease, ...(taskId !== undefined && { taskId }), ...part, ...items }
    const [answer] = await this.#context.line.send((store) => store.append([batch]))
    return answer ?? { outcome: 'fenced' }
  }

  #take({ outcome }: Appended): void {
    switch (outcome) {
      case 'applied':
      case 'duplicate':
        return
      case 'closed':
        throw streamClosed(this.name)
      case 'full': {
        const { streamItemsMax, streamBytesMax, streamPartsMax, streamsOfRun } = limits
        const most = `a stream has at most ${streamItemsMax} items, ${streamBytesMax} bytes and ${streamPartsMax} parts, and a run ${streamsOfRun} streams`
        throw streamFull(this.name, most)
      }
      case 'gap':
        throw new Error(`the store has lost items of stream '${this.name}': another attempt writes them again`)
      case 'fenced':
      case 'missing':
        throw new PawlError(
          'WORKER_STOPPED',
          `the step that writes to stream '${this.name}' is no longer this worker's`,
        )
    }
  }

  async #lengthSoFar(): Promise<number> {
    const { runId, generation, chapter = generation, key } = this.#of
    const ask: LoadAsk = { type: 'stream', runId, stream: this.name, from: 0, batches: 0, parts: 0 }
    const [loaded] = await this.#context.line.send((store) => store.load([ask]))
    const parts = loaded?.type === 'stream' ? (loaded.page?.parts ?? []) : []
    const isMine = (part: StreamPart): boolean => part.writer === key && part.chapter === chapter
    const newest = parts.findLast(isMine)
    return newest ? newest.keep + newest.items : 0
  }
}
