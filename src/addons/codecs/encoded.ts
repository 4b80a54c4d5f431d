// Wraps a store that sees only encoded bodies. Names, ids, queues, attributes, keys and times stay as they are, because
// a store works with those.
import { isEncoded } from '../../core/base/envelope.ts'
import { unavailable } from '../../core/runtime/availability.ts'
import { asItIs, bodies, type Store, wrapped } from '../../core/stores/driver.ts'
import { type Codec, Codecs } from './codec.ts'

type Walk<T> = (value: T, change: bodies.Change) => T

/** `tell` hears of errors that keep a worker from continuing. The worker retries by itself. */
export function encoded(store: Store, given: readonly Codec[], tell: (trouble: string) => void = () => {}): Store {
  const codecs = new Codecs(given)
  const into = async <T>(items: readonly T[], walk: Walk<T>): Promise<T[]> =>
    Promise.all(items.map((item) => through(item, walk, (text) => codecs.encode(text))))
  const from = async <T>(item: T, walk: Walk<T>): Promise<T> =>
    hasEncoded(item, walk) ? through(item, walk, (text) => codecs.decode(text)) : item
  const fromAll = async <T>(items: readonly T[], walk: Walk<T>): Promise<readonly T[]> =>
    Promise.all(items.map((item) => from(item, walk)))

  // A worker does not give up on a write: it waits, as for a store that is unavailable. Elements that are ready are
  // written meanwhile, and are duplicates when they are sent again with the rest.
  const insist = async <T, Out>(
    items: readonly T[],
    walk: Walk<T>,
    send: (ready: readonly T[]) => Promise<readonly Out[]>,
  ): Promise<readonly Out[]> => {
    const tried = await Promise.allSettled(items.map((item) => into([item], walk)))
    const ready = tried.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
    const failure = tried.find((each) => each.status === 'rejected')
    if (!failure) return send(ready)
    if (ready.length > 0) await send(ready)
    const error = unavailable('something cannot be written', failure.reason)
    tell(error.message)
    throw error
  }
  const { transact, createIn } = store
  return wrapped(store, asItIs, {
    create: async (runs) => fromAll(await store.create(await into(runs, bodies.inNewRun)), bodies.inCreated),
    post: async (posts) => store.post(await into(posts, bodies.inPost)),
    claim: async (request) =>
      from(await store.claim(request), bodies.inClaimed).catch((error: unknown) => {
        tell(`what was claimed cannot be read yet: ${String(error)}`)
        throw error
      }),
    commit: async (turns) =>
      fromAll(await insist(turns, bodies.inTurn, (ready) => store.commit(ready)), bodies.inCommitted),
    settle: (outcomes) => insist(outcomes, bodies.inOutcome, (ready) => store.settle(ready)),
    note: async (notes) => fromAll(await store.note(await into(notes, bodies.inNote)), bodies.inNoted),
    append: (batches) => insist(batches, bodies.inBatch, (ready) => store.append(ready)),
    records: async (operations) =>
      fromAll(await store.records(await into(operations, bodies.inOperation)), bodies.inRecords),
    load: async (asks) => fromAll(await store.load(asks), bodies.inLoaded),
    list: async (query) => from(await store.list(query), bodies.inListed),
    ...(transact && {
      transact: async (of, body) => {
        const text = await transact.call(store, of, async (sql) => codecs.encode(await body(sql)))
        return codecs.decode(text)
      },
    }),
    ...(createIn && {
      createIn: async (client, runs) =>
        fromAll(await createIn.call(store, client, await into(runs, bodies.inNewRun)), bodies.inCreated),
    }),
  })
}

function hasEncoded<T>(value: T, walk: Walk<T>): boolean {
  return textsIn(value, walk).some(isEncoded)
}

function textsIn<T>(value: T, walk: Walk<T>): string[] {
  const texts: string[] = []
  walk(value, (text) => {
    texts.push(text)
    return text
  })
  return texts
}

// One walk finds the texts and another replaces them, so that the walks themselves need not be asynchronous.
async function through<T>(value: T, walk: Walk<T>, code: (text: string) => Promise<string>): Promise<T> {
  const done = (await Promise.all(textsIn(value, walk).map(code))).values()
  return walk(value, (text) => done.next().value ?? text)
}
