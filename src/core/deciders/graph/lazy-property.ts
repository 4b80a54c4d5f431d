// Properties that are computed when they are first read. Each step gets its own copy of what it can see, because it may
// change it, and only of what it reads, because thousands of steps may see the same large value.

/** Defines a property that is computed at the first read, and is a plain property from then on. */
export function lazyProperty(target: object, name: string, make: () => unknown): void {
  const define = (value: unknown): void =>
    void Object.defineProperty(target, name, { ...ORDINARY, value, writable: true })
  Object.defineProperty(target, name, {
    ...ORDINARY,
    get: () => {
      const value = make()
      define(value)
      return value
    },
    set: define,
  })
}

const ORDINARY = { enumerable: true, configurable: true } as const
