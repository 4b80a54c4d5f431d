// Signals and who waits for them, first come, first served, on both sides.
import type { Payload } from '../../base/value.ts'

export class Signals<Waiter> {
  readonly #early = new Map<string, Payload[]>()
  readonly #waiting = new Map<string, Waiter[]>()

  /** Answers with who has waited for it longest and still `wants` it; otherwise it is kept. */
  receive(name: string, payload: Payload, wants: (waiter: Waiter) => boolean): Waiter | undefined {
    const waiting = this.#waiting.get(name) ?? []
    for (let waiter = waiting.shift(); waiter !== undefined; waiter = waiting.shift())
      if (wants(waiter)) return waiter
    put(this.#early, name, payload)
    return undefined
  }

  /** Answers with one that came before. */
  await(name: string, waiter: Waiter): Payload | undefined {
    const early = this.#early.get(name)?.shift()
    if (early === undefined) put(this.#waiting, name, waiter)
    return early
  }

  forget(waiter: Waiter): void {
    for (const waiting of this.#waiting.values()) {
      const index = waiting.indexOf(waiter)
      if (index >= 0) waiting.splice(index, 1)
    }
  }
}

function put<T>(lists: Map<string, T[]>, name: string, item: T): void {
  const list = lists.get(name)
  if (list) list.push(item)
  else lists.set(name, [item])
}
