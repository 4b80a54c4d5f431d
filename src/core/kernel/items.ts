// Items of streams as text: each is a payload, and a batch is a list of them.
import { PawlError } from '../base/assert.ts'
import { byteLength } from '../base/bytes.ts'
import { parseBody } from '../base/envelope.ts'
import { limits } from '../base/limits.ts'
import { encode, type Payload } from '../base/value.ts'
import { encodePayload } from './codec.ts'

export interface Item {
  readonly text: string
  readonly bytes: number
}

export function encodeItem(stream: string, value: unknown): Item {
  const what = `an item of stream '${stream}'`
  const text = encodePayload(encode(value, what))
  const bytes = byteLength(text)
  const max = limits.streamItemBytesMax
  if (bytes <= max) return { text, bytes }
  const message = `${what} takes ${bytes} bytes as JSON, the limit is ${max}: write it in smaller pieces, or store it elsewhere and write a reference`
  throw new PawlError('PAYLOAD_TOO_LARGE', message, { details: { bytes, max } })
}

/** Items that are stored together. */
export class ItemBatch {
  #texts: string[] = []
  bytes = 0

  get items(): number {
    return this.#texts.length
  }

  get isFull(): boolean {
    return this.items >= limits.streamBatchItems || this.bytes >= limits.streamBatchBytes
  }

  add({ text, bytes }: Item): void {
    this.#texts.push(text)
    this.bytes += bytes
  }

  /** The batch as it is stored; it is empty afterwards. */
  take(): { readonly items: number; readonly bytes: number; readonly body: string } {
    const { items, bytes } = this
    const body = `[${this.#texts.join(',')}]`
    this.#texts = []
    this.bytes = 0
    return { items, bytes, body }
  }
}

export function decodeItems(body: string): readonly Payload[] {
  return parseBody(body) as readonly Payload[]
}
