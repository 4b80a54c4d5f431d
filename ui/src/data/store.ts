// A value that components share and hear of.
import { useSyncExternalStore } from 'react'

export interface Shared<T> {
  readonly get: () => T
  readonly set: (value: T) => void
  readonly subscribe: (listener: () => void) => () => void
}

export function shared<T>(first: T): Shared<T> {
  const listeners = new Set<() => void>()
  let value = first
  return {
    get: () => value,
    set: (next) => {
      if (Object.is(next, value)) return
      value = next
      for (const each of listeners) each()
    },
    subscribe: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

export function useShared<T>({ subscribe, get }: Shared<T>): T {
  return useSyncExternalStore(subscribe, get)
}
