// The messages of a held run, from when they come until a turn has taken them for good. One that cannot be read here is
// left where it is, and so is what came after it: whoever can read it gets them in their order.
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
      if (isStop(message)) this.stop ??= message
      // What stops a run is heard whatever came before it.
      else if (this.left.length > 0) return void this.left.push(id)
      this.#waiting.push(message)
    } catch (error) {
      this.unreadable ??= error
      this.left.push(id)
    }
  }
}
