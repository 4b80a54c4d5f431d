// The attributes of a run as its code sees them: those of its start, with what the code has set and removed.
import { type Attributes, attributesFrom, checkCount } from '../../definitions/attributes.ts'
import { type AttributeChanges, changedAttributes, type StoredAttributes } from '../../kernel/attributes.ts'

export class RunAttributes {
  #settled: StoredAttributes
  /** Changes since the code last came to rest, by the key of the call: cancelling its scope takes a call back. */
  readonly #fresh = new Map<string, AttributeChanges>()

  constructor(began: StoredAttributes = {}) {
    this.#settled = began
  }

  get current(): Attributes {
    return attributesFrom(this.#now)
  }

  /** Throws if these changes add attributes and the run would have more than the limit. */
  check(changes: AttributeChanges): void {
    const [before, after] = [this.#now, changedAttributes(this.#now, changes)]
    const count = Object.keys(after).length
    if (count > Object.keys(before).length) checkCount(count)
  }

  change(key: string, changes: AttributeChanges): void {
    this.#fresh.set(key, changes)
  }

  forget(key: string): void {
    this.#fresh.delete(key)
  }

  /** The code has come to rest: its changes can no longer be taken back. */
  settle(): void {
    if (this.#fresh.size === 0) return
    this.#settled = this.#now
    this.#fresh.clear()
  }

  get #now(): StoredAttributes {
    return [...this.#fresh.values()].reduce(changedAttributes, this.#settled)
  }
}
