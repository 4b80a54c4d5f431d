// The messages of a held run, from when they come until a turn has taken them for good. One that cannot be read here is
// left where it is, and so is what came after it: whoever can read it gets them in their order.

import { PawlError } from '../base/errors.ts'
import { quote } from '../base/visible.ts'
import { decodeMessage } from '../kernel/codec.ts'
import { isStop, type Message, type Stop } from '../kernel/message.ts'
import type { StoredMessage } from '../stores/store.ts'

export class Inbox {
  /** Ids of messages that came and are not consumed durably. */
  readonly #seen = new Set<string>()
  #waiting: Message[] = []
  /** Ids of those that are not for this holder. */
  readonly left: string[] = []
  /** Why the first of them is not. */
  unreadable: unknown
  stop: Stop | undefined
  #discards = false
  readonly #unreadable = new Set<string>()

  /** Whether there is something to do however long others have been unable to go on. */
  get isPressing(): boolean {
    return this.stop !== undefined || this.#discards
  }

  /** How many wait for a turn. */
  get size(): number {
    return this.#waiting.length
  }

  get ids(): readonly string[] {
    return [...this.#seen]
  }

  /** Whether any of them is new. */
  receive(messages: readonly StoredMessage[]): boolean {
    const fresh = messages.filter(({ id }) => !this.#seen.has(id))
    for (const message of fresh) {
      this.#seen.add(message.id)
      this.#put(message)
    }
    return fresh.length > 0
  }

  take(): Message[] {
    return this.#waiting.splice(0)
  }

  /** These are consumed durably. */
  forget(ids: readonly string[]): void {
    for (const id of ids) this.#seen.delete(id)
  }

  #put({ id, body }: StoredMessage): void {
    try {
      const message = decodeMessage(body)
      // What stops a run, or drops what cannot be read, is heard whatever came before it.
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

  // What can be read is taken, and what never came must be taken when it comes.
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
