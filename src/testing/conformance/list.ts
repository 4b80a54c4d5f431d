// Listing: newest first, with exact filters, and pages without gaps or repeats.
import type { ListQuery, Store } from '../../core/stores/store.ts'
import {
  apply,
  claim,
  created,
  ended,
  hold,
  idsOf,
  newRun,
  numbered,
  openSession,
  released,
  snapshot,
  turn,
} from './builders.ts'
import type { Case, Fixture } from './case.ts'
import { holds, only, same } from './check.ts'

async function listed(store: Store, query: Partial<ListQuery> = {}): Promise<string[]> {
  return idsOf((await store.list({ limit: 100, ...query })).runs)
}

/** Creates runs a millisecond apart, so that their order is certain. */
async function createApart({ store, clock }: Fixture, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await created(store, newRun(id))
    await clock.advance(1)
  }
}

/** Returns all pages; stops if a store never ends. */
async function pages(store: Store, query: ListQuery): Promise<string[][]> {
  const found: string[][] = []
  let cursor: string | undefined
  do {
    const page = await store.list({ ...query, ...(cursor !== undefined && { cursor }) })
    holds(page.runs.length <= query.limit, 'a page holds no more than asked for')
    found.push(idsOf(page.runs))
    cursor = page.cursor
  } while (cursor !== undefined && found.length < 100)
  return found
}

const filters: readonly Case[] = [
  {
    name: 'an empty store lists nothing',
    async run({ store }) {
      same(await store.list({ limit: 10 }), { runs: [] }, 'the page')
      same((await store.list({ limit: 10, count: true })).count, 0, 'the number')
    },
  },
  {
    name: 'runs are listed newest first',
    async run(fixture) {
      await createApart(fixture, ['b', 'c', 'a'])
      same(await listed(fixture.store), ['a', 'c', 'b'], 'the order')
    },
  },
  {
    name: 'INV20: a listed run is the same as the loaded one',
    async run({ store }) {
      const run = await hold(store, 'run', { extras: '"m"' })
      await apply(store, turn(run, { next: ended }))
      const { runs } = await store.list({ limit: 1 })
      same(only(runs, 'listed runs'), await snapshot(store, 'run'), 'the run')
    },
  },
  {
    name: 'names are matched exactly, any of those given',
    async run({ store }) {
      const of = (name: string) => newRun(`run ${name}`, { name })
      await store.create([of('order'), of('Order'), of('order-2'), of('ship')])
      same(await listed(store, { names: ['order'] }), ['run order'], 'one')
      const two = await listed(store, { names: ['ship', 'Order', 'ghost'] })
      same(two.sort(), ['run Order', 'run ship'], 'two')
    },
  },
  {
    name: 'INV20: statuses are those of now, any of those given',
    async run({ store }) {
      await openSession(store)
      const waiting = await hold(store, 'waiting')
      await apply(store, turn(waiting, { next: released() }))
      const failed = await hold(store, 'failed')
      await apply(store, turn(failed, { next: { type: 'end', status: 'failed' } }))
      await hold(store, 'running')
      await created(store, newRun('pending'))
      for (const status of ['waiting', 'failed', 'running', 'pending'] as const) {
        same(await listed(store, { statuses: [status] }), [status], status)
      }
      const some = await listed(store, { statuses: ['pending', 'failed', 'completed'] })
      same(some.sort(), ['failed', 'pending'], 'two of three')
    },
  },
  {
    name: 'all runs of a workflow id are found by it',
    async run({ store }) {
      const of = (id: string, workflowId: string) => newRun(id, { workflowId })
      await store.create([of('a', 'w'), of('b', 'W'), of('c', 'w'), of('d', 'w%')])
      same((await listed(store, { workflowId: 'w' })).sort(), ['a', 'c'], 'the runs')
    },
  },
  {
    name: 'times of creation: from createdAfter on, and before createdBefore',
    async run(fixture) {
      const start = fixture.clock.now()
      await createApart(fixture, ['0', '1', '2', '3', '4'])
      const { store } = fixture
      same(await listed(store, { createdAfter: start + 3 }), ['4', '3'], 'after')
      same(await listed(store, { createdBefore: start + 2 }), ['1', '0'], 'before')
      const between = { createdAfter: start + 1, createdBefore: start + 4 }
      same(await listed(store, between), ['3', '2', '1'], 'between')
    },
  },
  {
    name: 'filters are taken together',
    async run({ store, clock }) {
      const start = clock.now()
      await store.create([newRun('a', { workflowId: 'w' }), newRun('b', { workflowId: 'w' })])
      await store.create([newRun('c', { workflowId: 'w', name: 'ship' }), newRun('d')])
      await openSession(store)
      await clock.advance(10)
      await store.create([newRun('late', { workflowId: 'w' })])
      const query = { workflowId: 'w', names: ['order'], statuses: ['pending'] } as const
      const before = start + 5
      same((await listed(store, { ...query, createdBefore: before })).sort(), ['a', 'b'], 'runs')
      const counted = await store.list({ ...query, createdBefore: before, limit: 1, count: true })
      same(counted.count, 2, 'the number')
    },
  },
]

const paging: readonly Case[] = [
  {
    name: 'pages join without gaps or repeats',
    async run(fixture) {
      const ids = numbered('run', 23)
      await createApart(fixture, ids)
      const found = await pages(fixture.store, { limit: 5 })
      same(found.flat(), ids.toReversed(), 'all pages together')
      holds(
        found.slice(0, 4).every((page) => page.length === 5),
        'pages are full but the last',
      )
    },
  },
  {
    name: 'pages join without gaps or repeats when all runs were created in the same instant',
    async run({ store }) {
      const ids = numbered('run', 23)
      await store.create(ids.map((id) => newRun(id)))
      const found = (await pages(store, { limit: 4 })).flat()
      same(found.toSorted(), ids, 'all pages together')
    },
  },
  {
    name: 'the last page has no cursor, or an empty page after it',
    async run(fixture) {
      await createApart(fixture, numbered('run', 6))
      const found = await pages(fixture.store, { limit: 3 })
      same(found.flat().length, 6, 'all pages together')
      holds(found.length <= 3, 'the end comes')
      same((await fixture.store.list({ limit: 6 })).runs.length, 6, 'in one page')
    },
  },
  {
    name: 'a run created or changed between two pages makes no gap and no repeat in what was there',
    async run(fixture) {
      const { store } = fixture
      const ids = numbered('run', 6)
      await createApart(fixture, ids)
      const first = await store.list({ limit: 3 })
      await created(store, newRun('younger'))
      await openSession(store)
      const run = (await claim(store)).runs.find((each) => each.head.runId === 'run-05')
      holds(run !== undefined, 'the newest of them is claimed')
      await apply(store, turn(run, { next: ended }))
      holds(first.cursor !== undefined, 'there is a second page')
      const second = await store.list({ limit: 3, cursor: first.cursor })
      const together = [...idsOf(first.runs), ...idsOf(second.runs)]
      same(together, ids.toReversed(), 'both pages')
    },
  },
  {
    name: 'pages keep the filter',
    async run(fixture) {
      const { store } = fixture
      const ids = numbered('run', 10)
      for (const [index, id] of ids.entries()) {
        await created(store, newRun(id, { name: index % 2 === 0 ? 'even' : 'odd' }))
        await fixture.clock.advance(1)
      }
      const found = (await pages(store, { limit: 2, names: ['odd'] })).flat()
      same(found, ['run-09', 'run-07', 'run-05', 'run-03', 'run-01'], 'the odd ones')
    },
  },
  {
    name: 'the number counts all runs that match, whatever the limit',
    async run({ store }) {
      await store.create(numbered('run', 15).map((id) => newRun(id)))
      same((await store.list({ limit: 2, count: true })).count, 15, 'all')
      same((await store.list({ limit: 2, count: true, names: ['x'] })).count, 0, 'none')
    },
  },
]

export const listCases: readonly Case[] = [...filters, ...paging]
