// Announces every call to a store, once, in one place; the stores themselves know nothing of telemetry.
import type { Clock } from '../runtime/clock.ts'
import type { Bus } from '../telemetry/bus.ts'
import type { Store } from './store.ts'

export function observed(store: Store, bus: Bus, clock: Clock): Store {
  const watch = <Args extends unknown[], Out>(
    method: string,
    call: (...args: Args) => Promise<Out>,
  ): ((...args: Args) => Promise<Out>) => {
    return async (...args) => {
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
    }
  }
  return {
    traits: store.traits,
    create: watch('create', (runs) => store.create(runs)),
    post: watch('post', (messages) => store.post(messages)),
    claim: watch('claim', (request) => store.claim(request)),
    commit: watch('commit', (turns) => store.commit(turns)),
    settle: watch('settle', (outcomes) => store.settle(outcomes)),
    renew: watch('renew', (beat) => store.renew(beat)),
    load: watch('load', (asks) => store.load(asks)),
    list: watch('list', (query) => store.list(query)),
    wake: (listener) => store.wake(listener),
    close: () => store.close(),
  }
}
