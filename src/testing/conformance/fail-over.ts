// A fail-over that loses the last writes: the store is older than what its clients remember. For stores whose
// durability is that of one server; the fixture must have `losing`.
import type { Store } from '../../core/stores/store.ts'
import {
  ALICE,
  apply,
  BOB,
  claim,
  commit,
  created,
  done,
  ended,
  fresh,
  history,
  hold,
  holdTasks,
  idsOf,
  message,
  newRun,
  newTask,
  openSession,
  postTo,
  released,
  take,
  turn,
} from './builders.ts'
import type { Case, Fixture } from './case.ts'
import { holds, only, present, same } from './check.ts'

/** Loses the writes of `work`, and returns its result. */
async function lost<T>({ losing }: Fixture, work: () => Promise<T>): Promise<T> {
  let out: { readonly value: T } | undefined
  await present(
    losing,
    'a fixture that can lose writes',
  )(async () => {
    out = { value: await work() }
  })
  return present(out, 'what was written before it was lost').value
}

async function outcomeOf(store: Store, one: Parameters<typeof commit>[1]): Promise<string> {
  return (await commit(store, one)).outcome
}

export const failOverCases: readonly Case[] = [
  {
    name: 'H7: a lease that was lost is fenced although its epoch is granted once more',
    async run(fixture) {
      const { store } = fixture
      await openSession(store)
      await openSession(store, BOB)
      await store.create([newRun('run')])
      const before = await lost(fixture, () => take(store, 'run'))
      const after = await take(store, 'run', BOB)
      same(after.lease.epoch, before.lease.epoch, 'the epoch is granted twice')
      same(await outcomeOf(store, turn(before)), 'fenced', 'the turn of the first')
      await apply(store, turn(after))
      same((await history(store, 'run')).length, 1, 'turns')
    },
  },
  {
    name: 'H7: a lease that was given with a lost creation is fenced when the run is created once more',
    async run(fixture) {
      const { store } = fixture
      await openSession(store)
      await openSession(store, BOB)
      const eager = newRun('run', { eager: { session: ALICE, nonce: fresh() } })
      const first = await lost(fixture, () => created(store, eager))
      holds(first.outcome === 'created' && first.run !== undefined, 'the creator has the lease')
      same((await created(store, newRun('run'))).outcome, 'created', 'it is created once more')
      await take(store, 'run', BOB)
      same(await outcomeOf(store, turn(first.run)), 'fenced', 'the turn of the first')
    },
  },
  {
    name: 'stores D3: a run whose last turn was lost has another last turn',
    async run(fixture) {
      const { store } = fixture
      const run = await hold(store)
      const kept = turn(run, { next: released(0) })
      await apply(store, kept)
      const gone = await lost(fixture, async () => {
        const one = turn(await take(store, 'run'), { seq: 1, next: released(0) })
        await apply(store, one)
        const again = await take(store, 'run')
        same(again.turnId, one.turnId, 'the last turn before')
        return one
      })
      const after = await take(store, 'run')
      same([after.turnId, after.seq], [kept.turnId, 1], 'the last turn after')
      await apply(store, { ...gone, lease: after.lease })
    },
  },
  {
    name: 'H7: an end that was decided on turns that were lost is fenced, whatever is unread',
    async run(fixture) {
      const { store } = fixture
      const run = await hold(store)
      await store.post([postTo('run', 'm')])
      const end = turn(run, { seq: 3, consumed: ['m'], next: ended })
      same((await store.commit([end]))[0]?.outcome, 'fenced', 'alone')
      const other = turn(run, { seq: 3, next: ended })
      same((await store.commit([other]))[0]?.outcome, 'fenced', 'with a message unread')
    },
  },
  {
    name: 'stores D7: a run is found under its own name although everything about that name was lost',
    async run(fixture) {
      const { store } = fixture
      await openSession(store)
      const charge = { name: 'charge', queue: 'q' }
      const destroy = { name: 'delete-everything', queue: 'q' }
      await lost(fixture, () => store.create([newRun('lost', charge)]))
      await store.create([newRun('other', destroy)])
      await store.create([newRun('run', charge)])
      await store.create([newRun('a', charge), newRun('b', charge)])
      const asked = { queues: ['q'], workflows: ['charge'] }
      const found = idsOf((await claim(store, asked)).runs).toSorted()
      same(found, ['a', 'b', 'run'], 'runs of that name')
      const { runs } = await claim(store, { queues: ['q'], workflows: ['delete-everything'] })
      same(idsOf(runs), ['other'], 'runs of the other name')
      same((await store.list({ limit: 9, names: ['charge'] })).runs.length, 3, 'listed')
    },
  },
  {
    name: 'a lease of a task that was lost is fenced, and the task is done once',
    async run(fixture) {
      const { store } = fixture
      const run = await hold(store)
      await openSession(store, BOB)
      await apply(store, turn(run, { tasks: [newTask('task')], next: released() }))
      const claimTask = async (session: number) =>
        only((await claim(store, { runs: 0 }, session)).tasks, 'claimed tasks')
      const before = await lost(fixture, () => claimTask(ALICE))
      const after = await claimTask(BOB)
      same(only(await store.settle([done(before)]), 'answers').outcome, 'fenced', 'the first')
      same(only(await store.settle([done(after)]), 'answers').outcome, 'applied', 'the second')
    },
  },
  {
    name: 'a task that was settled before its result was lost is granted again',
    async run(fixture) {
      const { store } = fixture
      const run = await hold(store)
      const [task] = await holdTasks(store, run, [newTask('task')])
      holds(task !== undefined, 'a task is claimed')
      await lost(fixture, () => store.settle([done(task)]))
      same(only(await store.settle([done(task)]), 'answers').outcome, 'applied', 'sent again')
      same(idsOf((await claim(store)).runs), ['run'], 'the run hears of it')
    },
  },
  {
    name: 'a message that was lost is taken when it is sent again',
    async run(fixture) {
      const { store } = fixture
      await openSession(store)
      await store.create([newRun('run', { startAt: 0 })])
      const send = async () => only(await store.post([postTo('run', 'm')]), 'answers').outcome
      same(await lost(fixture, send), 'accepted', 'the first')
      same(await send(), 'accepted', 'the second')
      same((await take(store, 'run')).messages, [message('m')], 'what the run hears')
    },
  },
  {
    name: 'a workflow id whose run was lost is free',
    async run(fixture) {
      const { store } = fixture
      const named = { workflowId: 'order-1', reuse: 'reject' } as const
      await lost(fixture, () => store.create([newRun('first', named)]))
      same((await created(store, newRun('second', named))).outcome, 'created', 'the second')
      const loaded = only(await store.load([{ type: 'named', workflowId: 'order-1' }]), 'answers')
      same(loaded, { type: 'named', runId: 'second' }, 'whom the id names')
    },
  },
  {
    name: 'a record is restored, and a put that expects a lost version is told so',
    async run(fixture) {
      const { store } = fixture
      const put = (version: number, body: string) =>
        ({ type: 'put', space: 's', key: 'k', version, body, writeId: fresh() }) as const
      await store.records([put(0, '"kept"')])
      await lost(fixture, () => store.records([put(1, '"lost"')]))
      const late = only(await store.records([put(2, '"late"')]), 'answers')
      const record = { key: 'k', version: 1, body: '"kept"' }
      same(late, { type: 'put', outcome: 'conflict', record }, 'the answer')
    },
  },
]
