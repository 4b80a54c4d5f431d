// A time limit around something that can be aborted, whatever of it takes so long: a name server, a handshake, a body
// that comes one byte at a time.
import { systemClock } from '../../core/runtime/clock.ts'
import { troubled } from './refusals.ts'

export async function within<T>(
  ms: number,
  outer: AbortSignal,
  what: string,
  body: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer.throwIfAborted()
  const stop = new AbortController()
  const pass = (): void => stop.abort(outer.reason)
  outer.addEventListener('abort', pass, { once: true })
  const callOff = systemClock.after(ms, () =>
    stop.abort(troubled('TIMED_OUT', `${what} took longer than ${ms} ms`)),
  )
  const { promise: stopped, reject } = Promise.withResolvers<never>()
  stop.signal.addEventListener('abort', () => reject(stop.signal.reason), { once: true })
  try {
    return await Promise.race([body(stop.signal), stopped])
  } catch (error) {
    // What breaks because it was aborted is not what went wrong.
    if (stop.signal.aborted) throw stop.signal.reason
    throw error
  } finally {
    callOff()
    outer.removeEventListener('abort', pass)
  }
}
