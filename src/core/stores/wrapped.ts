// A store around another one: every call goes through one function, except those given as `different`.

import type { Clock } from '../runtime/clock.ts'
import type { Bus } from '../telemetry/announcement.ts'
import type { Store } from './store.ts'

export type StoreMethod = Exclude<keyof Store, 'traits' | 'wake' | 'close' | 'transact' | 'createIn'>

/** Wraps a call of a store. */
export type Around = <Args extends unknown[], Out>(
  method: StoreMethod,
  call: (...args: Args) => Promise<Out>,
) => (...args: Args) => Promise<Out>

export const asItIs: Around = (_method, call) => call

export function wrapped(store: Store, around: Around, different: Partial<Store> = {}): Store {
  const [ended, purge] = [store.ended?.bind(store), store.purge?.bind(store)]
  return {
    traits: store.traits,
    create: around('create', (runs) => store.create(runs)),
    post: around('post', (messages) => store.post(messages)),
    claim: around('claim', (request) => store.claim(request)),
    commit: around('commit', (turns) => store.commit(turns)),
    settle: around('settle', (outcomes) => store.settle(outcomes)),
    note: around('note', (notes) => store.note(notes)),
    records: around('records', (operations) => store.records(operations)),
    append: around('append', (batches) => store.append(batches)),
    renew: around('renew', (beat) => store.renew(beat)),
    transfer: around('transfer', (operations) => store.transfer(operations)),
    load: around('load', (asks) => store.load(asks)),
    list: around('list', (query) => store.list(query)),
    wake: (listener) => store.wake(listener),
    close: () => store.close(),
    ...(ended && purge && { ended: around('ended', ended), purge: around('purge', purge) }),
    ...(store.transact && { transact: store.transact.bind(store) }),
    ...(store.createIn && { createIn: store.createIn.bind(store) }),
    ...different,
  }
}

// Announces every call to a store, so that stores need to know nothing of telemetry.

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
