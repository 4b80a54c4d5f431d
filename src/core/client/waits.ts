// Calls that wait for a run: for its end, or for the answer to an update. A call gives up when its caller aborts it,
// when its timeout has passed, or when the test engine knows that the run can make no more progress.
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
  /** Called for each call that starts to wait. */
  onWait: () => void = () => {}
  /** Calls that poll look again when `nudge` is called, and not after a pause. For tests with virtual time. */
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

  /** Resolves when a polling call should look again. */
  async untilNextLook(pause: () => Promise<void>, signal: AbortSignal): Promise<void> {
    if (!this.isNudged) return pause()
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = (): void => resolve()
    signal.addEventListener('abort', stop, { once: true })
    await Promise.race([this.#nudged.promise, promise])
    signal.removeEventListener('abort', stop)
  }

  /** `tooLate` makes the error for a timeout. */
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
    const cancelTimer =
      timeoutMs === undefined
        ? () => {}
        : this.#clock.after(timeoutMs, () => void tooLate().then(call.giveUp, call.giveUp))
    this.#calls.add(call)
    this.onWait()
    try {
      return await wait(stop.signal)
    } finally {
      this.#calls.delete(call)
      cancelTimer()
      signal?.removeEventListener('abort', forward)
    }
  }
}
