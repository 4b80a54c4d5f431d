// What the run is found by, as its code sees it: what it was started with, and what the code has set and removed since.
import { type Attributes, attributesFrom, checkCount } from '../../definitions/attributes.ts'
import {
  type AttributeChanges,
  changedAttributes,
  type StoredAttributes,
} from '../../kernel/attributes.ts'

export class FoundBy {
  #settled: StoredAttributes
  /** By the key of the call. The scope of a call that is cancelled in the same breath takes it back. */
  readonly #fresh = new Map<string, AttributeChanges>()

  constructor(began: StoredAttributes = {}) {
    this.#settled = began
  }

  get attributes(): Attributes {
    return attributesFrom(this.#now)
  }

  /** Throws if the run would have more attributes than it may, and more than it has. */
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

  /** The code has come to rest: what it asked for stands. */
  settle(): void {
    if (this.#fresh.size === 0) return
    this.#settled = this.#now
    this.#fresh.clear()
  }

  get #now(): StoredAttributes {
    return [...this.#fresh.values()].reduce(changedAttributes, this.#settled)
  }
}
