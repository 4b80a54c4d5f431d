// A time limit around an operation that can be aborted. It covers every part of it: name lookup, handshake, slow body.
import { systemClock } from '../../core/runtime/clock.ts'
import { retryableError } from './errors.ts'

export async function withDeadline<T>(
  ms: number,
  outer: AbortSignal,
  what: string,
  body: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer.throwIfAborted()
  const stop = new AbortController()
  const pass = (): void => stop.abort(outer.reason)
  outer.addEventListener('abort', pass, { once: true })
  const cancelTimer = systemClock.after(ms, () =>
    stop.abort(retryableError('TIMED_OUT', `${what} took longer than ${ms} ms`)),
  )
  const { promise: stopped, reject } = Promise.withResolvers<never>()
  stop.signal.addEventListener('abort', () => reject(stop.signal.reason), { once: true })
  try {
    return await Promise.race([body(stop.signal), stopped])
  } catch (error) {
    // Once aborted, report the reason for the abort and not what failed because of it.
    if (stop.signal.aborted) throw stop.signal.reason
    throw error
  } finally {
    cancelTimer()
    outer.removeEventListener('abort', pass)
  }
}
