// Scopes: a tree of contexts. What is asked for belongs to the scope it was asked for in, and is called off with it.
import type { CancelledError } from '../../base/errors.ts'

export class Scope {
  /** What the keys of this scope begin with. */
  readonly path: string
  readonly #parent: Scope | undefined
  /** It goes on when what surrounds it is cancelled. */
  readonly #isShield: boolean
  #cancelled: CancelledError | undefined

  constructor(path = '', parent?: Scope, isShield = false) {
    this.path = path
    this.#parent = parent
    this.#isShield = isShield
  }

  /** Why nothing may be asked for here any more. */
  get cancelled(): CancelledError | undefined {
    return this.#cancelled ?? (this.#isShield ? undefined : this.#parent?.cancelled)
  }

  cancel(error: CancelledError): void {
    this.#cancelled ??= error
  }

  /** Whether what happens to this scope happens to the other. */
  covers(other: Scope): boolean {
    for (let scope: Scope | undefined = other; scope; scope = scope.#parent) {
      if (scope === this) return true
      if (scope.#isShield) return false
    }
    return false
  }
}
