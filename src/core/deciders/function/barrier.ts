// The rest barrier: resolves when the code of a workflow has run as far as it can. Node runs a tick that was scheduled
// from a microtask as soon as the microtask queue is empty, before any timer or I/O. That is the moment needed here;
// with `setImmediate`, I/O callbacks could run first.

/** Resolves when the code has come to rest. Code that itself uses process.nextTick gets one more round. */
export function rest(): Promise<void> {
  return new Promise((resolve) => whenDrained(() => whenDrained(resolve)))
}

/** Calls back when no microtask is left. */
function whenDrained(then: () => void): void {
  queueMicrotask(() => process.nextTick(then))
}

/** True if this JavaScript engine orders ticks and microtasks as the barrier needs. */
export async function barrierIsExact(): Promise<boolean> {
  let depth = 0
  void (async () => {
    for (; depth < 64; depth++) await Promise.resolve()
  })()
  await new Promise<void>(whenDrained)
  return depth === 64
}
