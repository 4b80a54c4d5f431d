// The messages of a held run, from their arrival until a turn that consumes them is committed. A message that cannot be
// read here stays in the store, and so do those after it: a worker that can read it gets them in their order.
import { PawlError } from '../base/errors.ts'
import { quote } from '../base/visible.ts'
import { decodeMessage } from '../kernel/codec.ts'
import { isStop, type Message, type Stop } from '../kernel/message.ts'
import type { StoredMessage } from '../stores/store.ts'

export class Inbox {
  /** Ids of messages that arrived and whose consumption is not committed. */
  readonly #seen = new Set<string>()
  #waiting: Message[] = []
  /** Ids of messages that this holder leaves in the store. */
  readonly left: string[] = []
  /** Why the first of them cannot be read. */
  unreadable: unknown
  stop: Stop | undefined
  #discards = false
  readonly #unreadable = new Set<string>()

  /** Whether a message must take effect now, even if the run cannot continue here. */
  get isPressing(): boolean {
    return this.stop !== undefined || this.#discards
  }

  /** How many messages wait for a turn. */
  get size(): number {
    return this.#waiting.length
  }

  get ids(): readonly string[] {
    return [...this.#seen]
  }

  /** Returns whether any of the messages is new. */
  receive(messages: readonly StoredMessage[]): boolean {
    let hasNew = false
    for (const message of messages) {
      if (this.#seen.has(message.id)) continue
      hasNew = true
      this.#seen.add(message.id)
      this.#put(message)
    }
    return hasNew
  }

  take(): Message[] {
    return this.#waiting.splice(0)
  }

  /** The consumption of these messages is committed. */
  forget(ids: readonly string[]): void {
    for (const id of ids) this.#seen.delete(id)
  }

  #put({ id, body }: StoredMessage): void {
    try {
      const message = decodeMessage(body)
      // A stop, and a discard of an unreadable message, take effect whatever came before them.
      if (isStop(message)) this.stop ??= message
      else if (message.type === 'discard') return this.#discard(message)
      else if (this.left.length > 0) return void this.left.push(id)
      this.#waiting.push(message)
    } catch (error) {
      this.unreadable ??= unreadableMessage(id, error)
      this.#unreadable.add(id)
      this.left.push(id)
    }
  }

  // A discard applies only to a message that arrived and cannot be read: any other is consumed as usual.
  #discard(message: Extract<Message, { type: 'discard' }>): void {
    const { id } = message
    this.#discards ||= this.#unreadable.has(message.message)
    this.#waiting.push(this.#unreadable.has(message.message) ? message : { type: 'nudge', id })
  }
}

function unreadableMessage(messageId: string, cause: unknown): PawlError {
  const code = cause instanceof PawlError ? cause.code : 'NOT_SERIALISABLE'
  const because = cause instanceof Error ? cause.message : String(cause)
  const message = `message ${quote(messageId)} cannot be read: ${because}`
  return new PawlError(code, message, { cause, details: { unreadableMessage: messageId } })
}
