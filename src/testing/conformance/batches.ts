// Batches: each element gets its own answer, and a refused element does not affect the others.

import type { ClaimedRun, Store } from '../../core/stores/store.ts'
import { coalesced } from '../../stores/group-commit/coalesced.ts'
import {
  ALICE,
  apply,
  claim,
  commit,
  created,
  ended,
  find,
  fresh,
  history,
  hold,
  message,
  newRun,
  newTask,
  numbered,
  openSession,
  postTo,
  released,
  snapshot,
  TTL_MS,
  turn,
} from './builders.ts'
import type { Case } from './case.ts'
import { holds, only, outcomes, same } from './check.ts'

async function holdMany(store: Store, count: number): Promise<ClaimedRun[]> {
  await openSession(store)
  await store.create(numbered('run', count).map((id) => newRun(id)))
  const { runs } = await claim(store, { runs: count })
  same(runs.length, count, 'claimed runs')
  return runs.toSorted((a, b) => (a.head.runId < b.head.runId ? -1 : 1))
}

export const batchCases: readonly Case[] = [
  {
    name: 'an empty batch has an empty answer',
    async run({ store }) {
      const answers = [
        await store.create([]),
        await store.post([]),
        await store.commit([]),
        await store.settle([]),
        await store.load([]),
      ]
      same(answers, [[], [], [], [], []] as typeof answers, 'the answers')
    },
  },
  {
    name: 'neighbours of a fenced turn in one batch are applied',
    async run({ store }) {
      const [a, b, c] = await holdMany(store, 3)
      holds(a !== undefined && b !== undefined && c !== undefined, 'three runs')
      const stale = turn(b, { lease: { ...b.lease, epoch: b.lease.epoch - 1 } })
      const answers = await store.commit([turn(a), stale, turn(c, { next: ended })])
      same(outcomes(answers), ['applied', 'fenced', 'applied'], 'the answers')
      const lengths = [a, b, c].map(async (run) => (await history(store, run.head.runId)).length)
      same(await Promise.all(lengths), [1, 0, 1], 'turns of each')
    },
  },
  {
    name: 'H18: in a batch of a hundred, each kind of refusal affects only its own element',
    async run({ store, clock }) {
      const runs = await holdMany(store, 100)
      await store.post([postTo('run-50', 'm1')])
      const recorded = turn(runs[60] as ClaimedRun)
      await apply(store, recorded)
      const batch = runs.map((run, index) => {
        if (index % 10 === 3) return turn(run, { lease: { ...run.lease, nonce: 5 } })
        if (index === 47) return turn(run, { seq: 9 })
        if (index === 48) return turn(run, { at: clock.now() + TTL_MS + 1 })
        if (index === 50) return turn(run, { next: ended })
        if (index === 60) return recorded
        return turn(run, { next: index % 2 === 0 ? ended : released() })
      })
      const expected = runs.map((_, index) => {
        if (index % 10 === 3 || index === 47) return 'fenced'
        if (index === 48) return 'ahead'
        if (index === 50) return 'more'
        return index === 60 ? 'duplicate' : 'applied'
      })
      same(outcomes(await store.commit(batch)) as string[], expected, 'the answers in order')
      const { count } = await store.list({ limit: 1, statuses: ['completed'], count: true })
      same(count, 47, 'runs that ended')
    },
  },
  {
    name: 'H18: through group commit, a turn no store could hold is refused alone, or kept whole',
    async run({ store }) {
      const runs = await holdMany(store, 100)
      const grouped = coalesced(store)
      const poison = `"${String.fromCharCode(0)}"`
      const answers = await Promise.all(
        runs.map((run, index) => commit(grouped, turn(run, index === 57 ? { body: poison } : {}))),
      )
      const answered = outcomes(answers)
      const odd = answered.splice(57, 1)
      same(
        answered,
        Array.from(answered, () => 'applied' as const),
        'the neighbours',
      )
      const bodies = (await history(store, 'run-57')).map((each) => each.body)
      same(bodies, odd[0] === 'applied' ? [poison] : [], `history when it is ${odd[0]}`)
    },
  },
  {
    name: 'the same turn twice in one group commit is written once',
    async run({ store }) {
      const run = await hold(store)
      const one = turn(run, { tasks: [newTask('t')] })
      const answers = await coalesced(store).commit([one, one])
      same(outcomes(answers), ['applied', 'duplicate'], 'the answers')
      same((await history(store, 'run')).length, 1, 'turns')
    },
  },
  {
    name: 'INV15: two different turns for one place, at the same time: one of them is written',
    async run({ store, other }) {
      const elsewhere = await other()
      const run = await hold(store)
      const [a, b] = await Promise.all([commit(store, turn(run)), commit(elsewhere, turn(run))])
      same([a.outcome, b.outcome].sort(), ['applied', 'fenced'], 'the answers')
      same((await history(store, 'run')).length, 1, 'turns')
    },
  },
  {
    name: 'INV15: one turn sent from two places at the same time is written once',
    async run({ store, other }) {
      const elsewhere = await other()
      const run = await hold(store)
      const one = turn(run, { next: released(), outbox: [] })
      const answers = await Promise.all([commit(store, one), commit(elsewhere, one)])
      same(outcomes(answers).sort(), ['applied', 'duplicate'], 'the answers')
      same((await history(store, 'run')).length, 1, 'turns')
    },
  },
  {
    name: 'H17: batches that touch the same runs in opposite orders all go through',
    async run({ store, other }) {
      const elsewhere = await other()
      const ids = numbered('run', 30)
      await store.create(ids.map((id) => newRun(id)))
      const posts = (tag: string, order: string[]) => order.map((id) => postTo(id, tag))
      await Promise.all([
        store.post(posts('a', ids)),
        elsewhere.post(posts('b', ids.toReversed())),
        store.post(posts('c', ids.toReversed())),
        elsewhere.post(posts('d', ids)),
      ])
      const unread = ids.map(async (id) => (await snapshot(store, id)).unread)
      same(new Set(await Promise.all(unread)), new Set([4]), 'messages of each')
    },
  },
  {
    name: 'H17: creates of the same runs in opposite orders all go through, each run once',
    async run({ store, other }) {
      const elsewhere = await other()
      const runs = numbered('run', 40).map((id) => newRun(id))
      const [there, back] = await Promise.all([store.create(runs), elsewhere.create(runs.toReversed())])
      const pairs = there.map((each, index) => [each.outcome, back.at(-1 - index)?.outcome])
      const sorted = pairs.map((pair) => pair.toSorted((a, b) => String(a).localeCompare(String(b))).join())
      same(new Set(sorted), new Set(['created,existing']), 'the two answers of each')
    },
  },
  {
    name: 'a batch of creates tells apart what is new and what was there',
    async run({ store }) {
      await store.create([newRun('b'), newRun('d')])
      const answers = await store.create(['a', 'b', 'c', 'd', 'e'].map((id) => newRun(id)))
      const expected = ['created', 'existing', 'created', 'existing', 'created'] as const
      same(outcomes(answers), [...expected], 'the answers in order')
    },
  },
  {
    name: 'a batch of creates mixes leases, delays, conflicts and refusals',
    async run({ store }) {
      await openSession(store)
      await created(store, newRun('there', { workflowId: 'w' }))
      const eager = { session: ALICE, nonce: fresh() }
      const answers = await store.create([
        newRun('eager', { eager }),
        newRun('there', { digest: 'digest-2' }),
        newRun('later', { delayMs: 1_000 }),
        newRun('refused', { workflowId: 'w', reuse: 'reject' }),
        newRun('plain'),
        newRun('there', { workflowId: 'w' }),
      ])
      const told = answers.map((each) => ('run' in each && each.run ? `${each.outcome} with a lease` : each.outcome))
      const expected = ['created with a lease', 'conflict', 'created', 'refused', 'created', 'existing']
      same(told, expected, 'the answers in order')
      same(await find(store, 'refused'), undefined, 'the refused one')
      same((await claim(store)).runs.length, 2, 'what is due')
    },
  },
  {
    name: 'a thousand runs go through create, claim and commit in large batches',
    async run({ store }) {
      await openSession(store)
      const ids = Array.from({ length: 1_000 }, (_, index) => `run-${index}`)
      for (let from = 0; from < 1_000; from += 250) {
        await store.create(ids.slice(from, from + 250).map((id) => newRun(id)))
      }
      let finished = 0
      for (let round = 0; round < 10 && finished < 1_000; round++) {
        const { runs } = await claim(store, { runs: 256 })
        const turns = runs.map((run) => turn(run, { next: ended, tasks: [] }))
        finished += outcomes(await store.commit(turns)).filter((each) => each === 'applied').length
      }
      same(finished, 1_000, 'runs that ended')
      const query = { limit: 1, statuses: ['completed'], count: true } as const
      same((await store.list(query)).count, 1_000, 'and are listed')
    },
  },
  {
    name: 'a turn with many messages, tasks and children is all there at once',
    async run({ store }) {
      const run = await hold(store)
      const ids = numbered('x', 60)
      await store.post(ids.map((id) => postTo('run', id)))
      const big = turn(run, {
        count: 200,
        consumed: ids,
        tasks: ids.map((id) => newTask(id)),
        outbox: ids.map((id) => ({
          type: 'start' as const,
          run: newRun(id, { queue: 'children' }),
          otherwise: message(id),
        })),
        next: released(),
      })
      await apply(store, big)
      same((await snapshot(store, 'run')).unread, 0, 'unread messages')
      const { tasks } = await claim(store, { tasks: 100 })
      same(tasks.length, 60, 'tasks')
      const children = await claim(store, { queues: ['children'], runs: 100 })
      same(children.runs.length, 60, 'children')
      same(only(await history(store, 'run'), 'turns').count, 200, 'events')
    },
  },
  {
    name: 'hints may be listened to and not, without any effect on the data',
    async run({ store }) {
      let heard = 0
      const stop = store.wake(() => heard++)
      await hold(store)
      stop()
      const before = heard
      await store.post([postTo('run', 'm1')])
      same(heard, before, 'nothing is heard after listening ended')
      same((await snapshot(store, 'run')).unread, 1, 'unread messages')
    },
  },
]
