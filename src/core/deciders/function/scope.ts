// Scopes: a tree of contexts. A request belongs to the scope in which it was made, and is cancelled with it.
import type { CancelledError } from '../../base/errors.ts'

export class Scope {
  /** The prefix of all keys in this scope. */
  readonly path: string
  readonly #parent: Scope | undefined
  /** A shield is not cancelled with the scope around it. */
  readonly #isShield: boolean
  #cancelled: CancelledError | undefined

  constructor(path = '', parent?: Scope, isShield = false) {
    this.path = path
    this.#parent = parent
    this.#isShield = isShield
  }

  /** The reason why this scope allows no more requests. */
  get cancelled(): CancelledError | undefined {
    return this.#cancelled ?? (this.#isShield ? undefined : this.#parent?.cancelled)
  }

  cancel(error: CancelledError): void {
    this.#cancelled ??= error
  }

  /** True if cancelling this scope cancels the other, too. */
  covers(other: Scope): boolean {
    for (let scope: Scope | undefined = other; scope; scope = scope.#parent) {
      if (scope === this) return true
      if (scope.#isShield) return false
    }
    return false
  }
}
