// A wait that ends when somebody wakes the sleeper, or its time is over. To wake nobody does nothing.

export class Nap {
  readonly #after: (ms: number, fire: () => void) => () => void
  #wake: () => void = () => {}

  constructor(after: (ms: number, fire: () => void) => () => void) {
    this.#after = after
  }

  wake(): void {
    this.#wake()
  }

  /** For ever, if it is told so: until somebody wakes it. */
  take(pause: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const callOff = Number.isFinite(pause) ? this.#after(pause, resolve) : () => {}
    this.#wake = resolve
    return promise.finally(() => {
      callOff()
      this.#wake = () => {}
    })
  }
}
