// The code of a test: what it was given, and stubs in front of it or in place of what is only declared.
import type { AnyActivityContract } from '../core/definitions/contract.ts'
import type { ActivityOptions } from '../core/definitions/options.ts'
import { type RegisteredActivity, Registry } from '../core/definitions/registry.ts'

/** What stands for an activity: a definition, or a contract alone. */
export type Stubbed = AnyActivityContract & { readonly options?: ActivityOptions }

/** @internal */
export class StubbedRegistry extends Registry {
  readonly #stubs = new Map<string, RegisteredActivity>()

  override activity(name: string): RegisteredActivity | undefined {
    const stub = this.#stubs.get(name)
    const known = super.activity(name)
    return stub ? { ...stub, ...(known && { options: known.options }) } : known
  }

  override get activityNames(): readonly string[] | null {
    const names = super.activityNames
    return names && [...new Set([...names, ...this.#stubs.keys()])]
  }

  /** Answers for the activity until the function it returns is called, or another stub is set. */
  stub({ name, options = {} }: Stubbed, handler: RegisteredActivity['handler']): () => void {
    const stub = { name, options, handler }
    this.#stubs.set(name, stub)
    return () => {
      if (this.#stubs.get(name) === stub) this.#stubs.delete(name)
    }
  }
}
