// Knows when the code of a workflow has run as far as it can. Node runs ticks scheduled from a microtask when
// the microtask queue has just become empty, and before any timer or I/O: that is exactly the moment wanted.
// `setImmediate` would let I/O callbacks slip in between.

/** Resolves when the code has come to rest. Code that itself uses process.nextTick gets one more round. */
export function rest(): Promise<void> {
  return new Promise((resolve) => whenDrained(() => whenDrained(resolve)))
}

/** Calls back when no microtask is left to run. */
function whenDrained(then: () => void): void {
  queueMicrotask(() => process.nextTick(then))
}

/** Whether this JavaScript engine orders ticks and microtasks the way the barrier needs. */
export async function barrierIsExact(): Promise<boolean> {
  let depth = 0
  void (async () => {
    for (; depth < 64; depth++) await Promise.resolve()
  })()
  await new Promise<void>(whenDrained)
  return depth === 64
}
