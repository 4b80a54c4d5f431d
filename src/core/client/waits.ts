// Calls that wait for a run: for its end, or for an answer of its code. Each may give up: because its caller does, because
// its time is over, or because somebody who watches them all knows that nothing will come of it.
import type { Clock } from '../runtime/clock.ts'

export interface WaitLimits {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
}

export interface WaitingCall {
  readonly runId: string
  giveUp(error: unknown): void
}

export class Waits {
  /** Told of each call that begins to wait. */
  onWait: () => void = () => {}
  /** Whoever waits by looking again and again looks when it is nudged, and not by the clock. */
  isNudged = false
  #nudged = Promise.withResolvers<void>()
  readonly #clock: Clock
  readonly #calls = new Set<WaitingCall>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get calls(): readonly WaitingCall[] {
    return [...this.#calls]
  }

  nudge(): void {
    this.#nudged.resolve()
    this.#nudged = Promise.withResolvers()
  }

  /** Until it is worth another look. */
  async untilNextLook(pause: () => Promise<void>, signal: AbortSignal): Promise<void> {
    if (!this.isNudged) return pause()
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = (): void => resolve()
    signal.addEventListener('abort', stop, { once: true })
    await Promise.race([this.#nudged.promise, promise])
    signal.removeEventListener('abort', stop)
  }

  /** `tooLate` makes the error when the time is over. */
  async during<T>(
    runId: string,
    { signal, timeoutMs }: WaitLimits,
    wait: (signal: AbortSignal) => Promise<T>,
    tooLate: () => Promise<Error>,
  ): Promise<T> {
    const stop = new AbortController()
    const call = { runId, giveUp: (error: unknown) => stop.abort(error) }
    const forward = (): void => stop.abort(signal?.reason)
    if (signal?.aborted) forward()
    signal?.addEventListener('abort', forward, { once: true })
    const callOff =
      timeoutMs === undefined
        ? () => {}
        : this.#clock.after(timeoutMs, () => void tooLate().then(call.giveUp, call.giveUp))
    this.#calls.add(call)
    this.onWait()
    try {
      return await wait(stop.signal)
    } finally {
      this.#calls.delete(call)
      callOff()
      signal?.removeEventListener('abort', forward)
    }
  }
}
