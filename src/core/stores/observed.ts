// Announces every call to a store, so that stores need to know nothing of telemetry.
import type { Clock } from '../runtime/clock.ts'
import type { Bus } from '../telemetry/bus.ts'
import type { Store } from './store.ts'
import { wrapped } from './wrapped.ts'

export function observed(store: Store, bus: Bus, clock: Clock): Store {
  return wrapped(store, (method, call) => async (...args) => {
    if (!bus.heard) return call(...args)
    const begun = clock.monotonic()
    const tell = (ok: boolean): void =>
      bus.announce(() => ({
        type: 'store.call',
        at: new Date(clock.now()),
        method,
        ms: clock.monotonic() - begun,
        ok,
      }))
    try {
      const out = await call(...args)
      tell(true)
      return out
    } catch (error) {
      tell(false)
      throw error
    }
  })
}
