// Which wait gets which signal: the oldest wait for its name gets it. A signal that nothing waits for is kept for the
// next wait of its name.

export class Signals<Waiter, Signal> {
  readonly #kept = new Map<string, Signal[]>()
  readonly #waiting = new Map<string, Waiter[]>()

  /** The oldest waiter that still `wants` the signal. Without one, the signal is kept. */
  receive(name: string, signal: Signal, wants: (waiter: Waiter) => boolean = () => true): Waiter | undefined {
    const waiting = this.#waiting.get(name) ?? []
    for (let waiter = waiting.shift(); waiter !== undefined; waiter = waiting.shift()) if (wants(waiter)) return waiter
    put(this.#kept, name, signal)
    return undefined
  }

  /** The oldest signal that was kept, if there is one. Otherwise the waiter waits. */
  await(name: string, waiter: Waiter): { readonly signal: Signal } | undefined {
    const kept = this.#kept.get(name)
    if (kept && kept.length > 0) return { signal: kept.shift() as Signal }
    put(this.#waiting, name, waiter)
    return undefined
  }

  /** The waiter waits no longer, for a signal of this name or for any. */
  forget(waiter: Waiter, name?: string): void {
    const lists = name === undefined ? this.#waiting.values() : [this.#waiting.get(name) ?? []]
    for (const waiting of lists) {
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
