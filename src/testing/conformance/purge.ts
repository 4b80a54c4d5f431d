// Deleting runs that have ended. Only for stores that have `purge`.
import type { EndedPage, EndedRun, NewRun, Purged, Store } from '../../core/stores/store.ts'
import {
  apply,
  continued,
  created,
  done,
  ended,
  find,
  generationOf,
  history,
  hold,
  holdTask,
  message,
  newRun,
  newTask,
  numbered,
  postTo,
  released,
  reopen,
  take,
  tasksOf,
  turn,
} from './builders.ts'
import type { Case, Fixture } from './case.ts'
import { holds, only, outcomes, present, same } from './check.ts'

function purge(store: Store, runs: readonly EndedRun[]): Promise<readonly Purged[]> {
  return present(store.purge, 'the method').call(store, runs)
}

function endedPage(store: Store, limit = 100, cursor?: string): Promise<EndedPage> {
  const query = { minAgeMs: 0, limit, ...(cursor !== undefined && { cursor }) }
  return present(store.ended, 'the method').call(store, query)
}

/** Runs it to its end. */
async function finish({ store }: Pick<Fixture, 'store'>, runId: string, overrides: Partial<NewRun> = {}) {
  const run = await hold(store, runId, overrides)
  await apply(store, turn(run, { next: ended }))
  return present(
    (await endedPage(store)).runs.find((each) => each.runId === runId),
    `run '${runId}' among those that have ended`,
  )
}

async function named(store: Store, workflowId: string): Promise<string | undefined> {
  const loaded = only(await store.load([{ type: 'named', workflowId }]), 'answers')
  return loaded.type === 'named' ? loaded.runId : undefined
}

export const purgeCases: readonly Case[] = [
  {
    name: 'P14: a run that has ended is deleted wholly: its id, history, inbox, attributes, notes and place in lists',
    async run({ store }) {
      const attributes = { customer: 'a', tags: ['x', 'y'], paid: true }
      const run = await hold(store, 'run', { workflowId: 'w', attributes, message: message('m1') })
      await store.note([{ runId: 'run', generation: 1, key: 'k', name: 'n', body: '"note"' }])
      const item = { items: 1, bytes: 1, body: '[]' }
      const write = { type: 'write', stream: 'tokens', chapter: 1, keep: 0, ...item } as const
      await apply(store, turn(run, { count: 2, streams: [write] }))
      await store.post([postTo('run', 'm2')])
      const consumed = ['m1', 'm2']
      await apply(store, turn({ ...run, seq: 2 }, { consumed, tasks: [newTask('task')], next: ended }))
      const one = only((await endedPage(store)).runs, 'runs that have ended')
      same(outcomes(await purge(store, [one])), ['purged'], 'the outcome')
      same(await find(store, 'run'), undefined, 'the run')
      same([...(await history(store, 'run')), ...(await tasksOf(store, 'run'))], [], 'its history and tasks')
      same(await named(store, 'w'), undefined, 'its workflow id')
      same(await store.load([{ type: 'streams', runId: 'run' }]), [{ type: 'streams' }], 'its streams')
      same((await store.list({ limit: 5 })).runs, [], 'the list')
      same((await store.list({ limit: 0, count: true })).count, 0, 'the count')
      const byTag = [{ name: 'tags', is: 'eq', value: 'x' }] as const
      same((await store.list({ limit: 5, attributes: byTag })).runs, [], 'the list by an attribute')
      same((await endedPage(store)).runs, [], 'those that have ended')
    },
  },
  {
    name: 'P14: a run that was purged is missing for messages and another purge, and its id can be used again',
    async run(fixture) {
      const { store } = fixture
      const one = await finish(fixture, 'run', { workflowId: 'w', attributes: { customer: 'a' } })
      same(outcomes(await purge(store, [one])), ['purged'], 'the outcome')
      same(outcomes(await purge(store, [one])), ['missing'], 'once more')
      same(outcomes(await store.post([postTo('run', 'm')])), ['missing'], 'a message')
      const again = await created(store, newRun('run', { workflowId: 'w', reuse: 'reject', digest: 'another' }))
      same(again.outcome, 'created', 'a start with the same ids and another input')
      const run = await take(store, 'run')
      same([run.seq, run.messages, run.deliveries], [0, [], 1], 'it begins anew')
      same(await store.load([{ type: 'streams', runId: 'run' }]), [{ type: 'streams', streams: [] }], 'its streams')
      same(await history(store, 'run'), [], 'its history')
    },
  },
  {
    name: 'P14: only runs that have ended are listed, oldest first, in pages that look at so many runs',
    async run(fixture) {
      const { store, clock } = fixture
      const labels = numbered('run', 7)
      for (const [index, label] of labels.entries()) {
        await clock.advance(10)
        if (index % 3 === 1) await store.create([newRun(label, { startAt: clock.now() + 1_000_000 })])
        else await finish(fixture, label, { name: `w${index}` })
      }
      const found: EndedRun[] = []
      const sizes: number[] = []
      for (let cursor: string | undefined; ; ) {
        const page = await endedPage(store, 2, cursor)
        found.push(...page.runs)
        sizes.push(page.runs.length)
        cursor = page.next?.cursor
        if (cursor === undefined) break
      }
      const finished = [0, 2, 3, 5, 6]
      same(
        found.map(({ name }) => name),
        finished.map((index) => `w${index}`),
        'the names',
      )
      same(sizes.slice(0, 4), [1, 2, 1, 1], 'the sizes of the pages')
      same(new Set(found.map(({ status }) => status)), new Set(['completed'] as const), 'their status')
      const age = clock.now() - present(found[1], 'the second').endedAt
      const older = await present(store.ended, 'the method').call(store, { minAgeMs: age + 1, limit: 10 })
      same(older.runs.length, 1, 'those that are older than the second')
      same(older.now, clock.now(), 'the time')
    },
  },
  {
    name: 'P14: runs in progress stay, whatever the caller believes',
    async run(fixture) {
      const { store } = fixture
      const run = await hold(store)
      const wrong = { runId: 'run', name: 'order', status: 'completed', endedAt: 0 } as const
      same(outcomes(await purge(store, [wrong])), ['kept'], 'a run that is held')
      await apply(store, turn(run, { next: released() }))
      same(outcomes(await purge(store, [wrong])), ['kept'], 'a run that waits')
      same((await find(store, 'run'))?.status, 'waiting', 'the run')
    },
  },
  {
    name: 'P14: a run that began again since it was read stays, also if it has ended again',
    async run(fixture) {
      const { store, clock } = fixture
      const one = await finish(fixture, 'run')
      await clock.advance(5)
      holds(await reopen(store), 'it begins again')
      same(outcomes(await purge(store, [one])), ['kept'], 'in progress')
      await apply(store, turn(await take(store, 'run'), { next: ended }))
      same(outcomes(await purge(store, [one])), ['kept'], 'ended again')
      const newer = only((await endedPage(store)).runs, 'runs that have ended')
      holds(newer.endedAt > one.endedAt, 'it ended later')
      same(outcomes(await purge(store, [newer])), ['purged'], 'as it was read last')
      same([...(await generationOf(store, 'run', 1)), ...(await generationOf(store, 'run', 2))], [], 'both generations')
    },
  },
  {
    name: 'P14: a child stays while its parent is in progress, and not longer',
    async run(fixture) {
      const { store } = fixture
      const parent = await hold(store, 'mother')
      const child = await finish(fixture, 'child', { parent: { runId: 'mother', generation: 1, key: 'child#1' } })
      same(outcomes(await purge(store, [child])), ['kept'], 'the parent is in progress')
      await apply(store, turn(parent, { next: ended }))
      const all = (await endedPage(store)).runs
      const mother = present(
        all.find(({ runId }) => runId === 'mother'),
        'the mother',
      )
      same(outcomes(await purge(store, [child])), ['purged'], 'the parent has ended')
      same(outcomes(await purge(store, [mother])), ['purged'], 'the parent')
    },
  },
  {
    name: 'P14: a child of an earlier generation can be purged, whatever its parent does now',
    async run(fixture) {
      const { store } = fixture
      const parent = await hold(store, 'mother')
      const child = await finish(fixture, 'child', { parent: { runId: 'mother', generation: 1, key: 'child#1' } })
      same(outcomes(await purge(store, [child])), ['kept'], 'in the generation that started it')
      await apply(store, turn(parent, { next: continued() }))
      same(outcomes(await purge(store, [child])), ['purged'], 'in the next one')
    },
  },
  {
    name: 'P14: a child whose parent is gone can be purged',
    async run(fixture) {
      const child = await finish(fixture, 'child', { parent: { runId: 'nobody', generation: 1, key: 'child#1' } })
      same(outcomes(await purge(fixture.store, [child])), ['purged'], 'the outcome')
    },
  },
  {
    name: 'P14: the newest run that is left has the workflow id',
    async run(fixture) {
      const { store, clock } = fixture
      const labels = ['one', 'two', 'three']
      const runs: EndedRun[] = []
      for (const label of labels) {
        await clock.advance(10)
        runs.push(await finish(fixture, label, { workflowId: 'w' }))
      }
      const [one, two, three] = runs as [EndedRun, EndedRun, EndedRun]
      await purge(store, [one])
      same(await named(store, 'w'), 'three', 'after the oldest')
      await purge(store, [three])
      same(await named(store, 'w'), 'two', 'after the newest')
      const refused = await created(store, newRun('four', { workflowId: 'w', reuse: 'reject' }))
      same(refused, { outcome: 'refused', runId: 'two' }, 'a start that rejects a second run')
      await purge(store, [two])
      same(await named(store, 'w'), undefined, 'after the last')
    },
  },
  {
    name: 'P14: runs of one workflow id that go together leave the name to the newest that stays',
    async run(fixture) {
      const { store, clock } = fixture
      const first = await finish(fixture, 'one', { workflowId: 'w' })
      await clock.advance(10)
      await store.create([newRun('two', { workflowId: 'w', startAt: clock.now() + 1_000_000 })])
      await clock.advance(10)
      const third = await finish(fixture, 'three', { workflowId: 'w' })
      same(outcomes(await purge(store, [third, first])), ['purged', 'purged'], 'the outcomes')
      same(await named(store, 'w'), 'two', 'the name')
    },
  },
  {
    name: 'P14: a worker that settles a task of a run that is gone is fenced, and leaves nothing behind',
    async run(fixture) {
      const { store } = fixture
      const task = await holdTask(store)
      await store.post([postTo('run', 'm')])
      const run = await take(store, 'run')
      await apply(store, turn(run, { consumed: ['m'], next: ended }))
      same(outcomes(await purge(store, [only((await endedPage(store)).runs, 'ended')])), ['purged'], 'the run')
      same(outcomes(await store.settle([done(task)])), ['fenced'], 'the result of its task')
      same(await tasksOf(store, 'run'), [], 'its tasks')
      same(await find(store, 'run'), undefined, 'the run')
    },
  },
]
