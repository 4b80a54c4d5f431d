// The definitions of a test, with stubs that replace activities or stand in for declared ones.
import type { AnyActivityContract } from '../core/definitions/contract.ts'
import type { ActivityOptions } from '../core/definitions/options.ts'
import { type RegisteredActivity, Registry } from '../core/definitions/registry.ts'

/** An activity that can be stubbed: a definition, or a contract alone. */
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

  /** Replaces the activity until the returned function is called, or another stub is set. */
  stub({ name, options = {} }: Stubbed, handler: RegisteredActivity['handler']): () => void {
    const stub = { name, options, handler }
    this.#stubs.set(name, stub)
    return () => {
      if (this.#stubs.get(name) === stub) this.#stubs.delete(name)
    }
  }
}
