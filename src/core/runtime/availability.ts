// What an error of a store means. Either the store says that one element can never be written (`refused`), or it has
// said nothing: what was sent may have been written, and the one right answer is to send the very same thing again
// until the store gives an answer. Anything that is not clearly the element's own fault is the second kind: wrong
// credentials, missing rights, another schema and a lost connection all look different, and all of them pass.
import { PawlError, type PawlErrorCode } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { type Clock, sleep } from './clock.ts'
import type { Random } from './random.ts'

export function unavailable(what: string, cause: unknown): PawlError {
  return new PawlError('STORE_UNAVAILABLE', `${what}: ${messageOf(cause)}`, { cause })
}

/** The element itself cannot be stored, by this store or at all: sending it again would end the same way. */
export function refused(what: string, cause: unknown): PawlError {
  return new PawlError('STORE_REFUSED', `${what} refused to store a value: ${messageOf(cause)}`, {
    cause,
  })
}

export function isRefused(error: unknown): boolean {
  return error instanceof PawlError && error.code === 'STORE_REFUSED'
}

const OUTAGES: ReadonlySet<PawlErrorCode> = new Set([
  'STORE_UNAVAILABLE',
  'STORE_READ_ONLY',
  'STORE_URL_INVALID',
  'STORE_UNSUITABLE',
  'STORE_TOO_OLD',
  'SCHEMA_TOO_NEW',
  'DRIVER_MISSING',
])

/** Whether the store could not be used, whatever the reason. */
export function isUnavailable(error: unknown): error is PawlError {
  return error instanceof PawlError && OUTAGES.has(error.code)
}

/** An error of a store as one that says what it means: what the store has not explained is unavailability. */
export function outageOf(error: unknown): PawlError {
  return error instanceof PawlError ? error : unavailable('the store failed', error)
}

/** Only another release of pawl, or another installation, helps: waiting a while does not. */
const LASTING: ReadonlySet<PawlErrorCode> = new Set([
  'SCHEMA_TOO_NEW',
  'STORE_TOO_OLD',
  'DRIVER_MISSING',
])

export interface Persistence {
  readonly clock: Clock
  readonly random: Random
  readonly patienceMs: number
  readonly signal?: AbortSignal
  /** Hears of every try that failed, and of the answer in the end. */
  readonly watch?: { failed(error: unknown): void; answered(): void }
  /** What is thrown instead of the last error when it is given up. */
  readonly givenUp?: (error: PawlError) => Error
}

/** A call on a store. `persistent` gives one that is repeated. */
export type Send<Target> = <T>(call: (target: Target) => Promise<T>) => Promise<T>

/** Sends calls to `target`, each repeated as `persist` does. */
export function persistent<Target>(target: Target, how: Persistence): Send<Target> {
  return (call) => persist(() => call(target), how)
}

/**
 * Repeats `call` while the store is unavailable, with growing pauses, until patience or the signal ends it. Somebody
 * whose patience is limited does not wait for what only a new release can change.
 */
export async function persist<T>(call: () => Promise<T>, how: Persistence): Promise<T> {
  const { clock, random, patienceMs, signal, watch } = how
  const isPatient = patienceMs === Number.POSITIVE_INFINITY
  const begun = isPatient ? 0 : clock.monotonic()
  for (
    let pause: number = limits.storeRetryMsMin;
    ;
    pause = Math.min(pause * 2, limits.storeRetryMsMax)
  ) {
    try {
      const answer = await call()
      watch?.answered()
      return answer
    } catch (error) {
      if (!isUnavailable(error)) throw error
      watch?.failed(error)
      const isLasting = LASTING.has(error.code)
      const isEnough = !isPatient && (isLasting || clock.monotonic() - begun >= patienceMs)
      if (!isEnough) await sleep(clock, pause * (0.5 + random.fraction()), signal)
      if (isEnough || signal?.aborted) throw how.givenUp?.(error) ?? error
    }
  }
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
