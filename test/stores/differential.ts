// Sends the same random calls to several stores with one clock, and compares all answers and rows with those of the
// memory store, which is the rule book in its plainest form. The same seed gives the same calls.
import { MemoryDatabase, MemoryStore } from '../../src/core/stores/memory/store.ts'
import type { Claimed, LoadAsk, Loaded, Store } from '../../src/core/stores/store.ts'
import { SeededRandom } from '../../src/testing/seeded-random.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import { RandomCalls } from './random-calls.ts'
import { runsOf, type StoreCall } from './store-call.ts'

export interface Other {
  readonly name: string
  readonly open: (clock: VirtualClock) => Promise<Store>
}

/** All rows are compared after so many calls; those a call names, after each. */
const ROWS_EVERY = 100

export async function compareStores(seed: number, batches: number, others: readonly Other[]): Promise<void> {
  const clock = new VirtualClock()
  const database = new MemoryDatabase()
  const memory = new MemoryStore({ clock, database })
  const random = new SeededRandom(seed)
  const calls = new RandomCalls(
    random,
    () => clock.now(),
    () => database.tables,
  )
  const stores = await Promise.all(others.map(async ({ name, open }) => ({ name, store: await open(clock) })))
  const compare = async (what: string, ask: (store: Store) => Promise<unknown>): Promise<void> => {
    const [expected = [], ...answers] = await Promise.all(
      [memory, ...stores.map(({ store }) => store)].map(async (store) => texts(await ask(store))),
    )
    for (const [index, answer] of answers.entries()) {
      const at = expected.findIndex((text, place) => text !== answer[place])
      if (at < 0) continue
      const { name } = stores[index] as { name: string }
      throw new Error(`${what}\n  memory: ${expected[at]}\n  ${name}: ${answer[at]}`)
    }
  }
  try {
    for (let batch = 1; batch <= batches; batch++) {
      clock.set(clock.now() + calls.pauseMs())
      const call = calls.next()
      const what = `seed ${seed}, batch ${batch}: ${JSON.stringify(call)}`
      await compare(what, async (store) => comparable(call, await send(store, call)))
      const runIds = runsOf(call)
      await compare(`rows after ${what}`, (store) => loadRuns(store, runIds))
      if (batch % ROWS_EVERY !== 0 && batch !== batches) continue
      const { live, ended } = database.tables
      const all = [...live.keys(), ...ended.keys()].sort()
      await compare(`all rows after ${what}`, (store) => loadAll(store, all))
    }
  } finally {
    await Promise.all(stores.map(({ store }) => store.close()))
  }
}

function send(store: Store, { method, given }: StoreCall): Promise<unknown> {
  const call = store[method] as (given: unknown) => Promise<unknown>
  return call.call(store, given)
}

/** An answer without what the seam leaves open: the order of what a claim grants, and a cursor's text. */
function comparable(call: StoreCall, answer: unknown): unknown {
  if (call.method === 'list' || call.method === 'ended') {
    const { cursor: _, next: __, ...listed } = answer as { cursor?: string; next?: unknown }
    if (call.method === 'ended') return listed
    return { ...listed, hasMore: (answer as { cursor?: string }).cursor !== undefined }
  }
  if (call.method !== 'claim') return answer
  const claimed = answer as Claimed
  return {
    ...claimed,
    runs: sorted(claimed.runs, ({ head }) => head.runId),
    tasks: sorted(claimed.tasks, ({ taskId }) => taskId),
    news: sorted(claimed.news, ({ runId }) => runId),
    late: sorted(claimed.late ?? [], ({ session }) => String(session)),
  }
}

function loadRuns(store: Store, runIds: readonly string[]): Promise<readonly Loaded[]> {
  return store.load(runIds.flatMap((runId) => [{ type: 'run', runId } as const, ...asksOfStreams(runId)]))
}

function asksOfStreams(runId: string): LoadAsk[] {
  const page = { type: 'stream', runId, stream: 't1', batches: 3 } as const
  return [
    { type: 'streams', runId },
    { ...page, from: 0, parts: 0 },
    { ...page, from: 4, parts: 1 },
  ]
}

async function loadAll(store: Store, runIds: readonly string[]): Promise<unknown> {
  const asks = runIds.flatMap((runId) => [
    { type: 'run', runId } as const,
    { type: 'tasks', runId } as const,
    ...asksOfStreams(runId),
    ...[1, 2, 3].map((generation) => ({ type: 'history', runId, generation, after: 0, turns: 100 }) as const),
    { type: 'notes', runId, generation: 1, key: 'k1' } as const,
  ])
  const names = ['a', 'b', 'c', 'd', 'e', 'f'].map((workflowId) => ({ type: 'named', workflowId }) as const)
  const loaded = await store.load([...asks, ...names, { type: 'sessions' }, { type: 'queues' }])
  return loaded.map((each) => {
    if (each.type === 'queues') return each.queues
    if (each.type === 'tasks') return { tasks: sorted(each.tasks, ({ taskId }) => taskId) }
    if (each.type !== 'sessions') return each
    const sessions = each.sessions.map(({ session, worker, beat, expiresAt, about }) => ({
      session,
      worker,
      beat,
      expiresAt,
      about,
    }))
    return { sessions: sorted(sessions, ({ session }) => String(session)) }
  })
}

function sorted<T>(items: readonly T[], by: (item: T) => string): T[] {
  return items.toSorted((a, b) => (by(a) < by(b) ? -1 : 1))
}

/** The elements of an answer as texts, with the fields of every object in one order. */
function texts(answer: unknown): string[] {
  const elements: readonly unknown[] = Array.isArray(answer) ? answer : [answer]
  return elements.map((element) =>
    JSON.stringify(element, (_key, each: unknown) => {
      if (typeof each !== 'object' || each === null || Array.isArray(each)) return each
      return Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
    }),
  )
}
