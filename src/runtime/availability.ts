// A store that cannot be reached has said nothing: what was sent may have been written. The one right answer
// is to send the very same thing again until the store gives one.
import { PawlError } from '../kernel/errors.ts'
import { limits } from '../kernel/limits.ts'
import { type Clock, sleep } from './clock.ts'
import type { Random } from './random.ts'

export function unavailable(what: string, cause: unknown): PawlError {
  const because = cause instanceof Error ? cause.message : String(cause)
  return new PawlError('STORE_UNAVAILABLE', `${what}: ${because}`, { cause })
}

// A server that takes no writes for now is as good as none: during a switch-over it soon takes them again.
const PASSING: ReadonlySet<string> = new Set(['STORE_UNAVAILABLE', 'STORE_READ_ONLY'])

export function isUnavailable(error: unknown): boolean {
  return error instanceof PawlError && PASSING.has(error.code)
}

export interface Persistence {
  readonly clock: Clock
  readonly random: Random
  readonly patienceMs: number
  readonly signal?: AbortSignal
}

/** Repeats `call` while the store is unavailable, with growing pauses, until patience or the signal ends it. */
export async function persist<T>(call: () => Promise<T>, how: Persistence): Promise<T> {
  const { clock, random, patienceMs, signal } = how
  const begun = clock.monotonic()
  for (
    let pause: number = limits.storeRetryMsMin;
    ;
    pause = Math.min(pause * 2, limits.storeRetryMsMax)
  ) {
    try {
      return await call()
    } catch (error) {
      const impatient = clock.monotonic() - begun >= patienceMs
      if (!isUnavailable(error) || impatient || signal?.aborted) throw error
      await sleep(clock, pause * (0.5 + random.fraction()), signal)
      if (signal?.aborted) throw error
    }
  }
}
