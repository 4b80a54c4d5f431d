// What a step sees is made anew for each, since it may change it; and only what it looks at, since there may be thousands
// of steps that see the same large thing.

/** A property that is made when somebody looks at it, and is like any other from then on. */
export function lazily(target: object, name: string, make: () => unknown): void {
  const define = (value: unknown): void =>
    void Object.defineProperty(target, name, { ...SHOWN, value, writable: true })
  Object.defineProperty(target, name, {
    ...SHOWN,
    get: () => {
      const value = make()
      define(value)
      return value
    },
    set: define,
  })
}

const SHOWN = { enumerable: true, configurable: true } as const
