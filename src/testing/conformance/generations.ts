// Continue-as-new: the next generation begins in the turn that ends the one before. And runs created with a history.
import { limits } from '../../core/base/limits.ts'
import type { StoredTurn } from '../../core/stores/store.ts'
import {
  ALICE,
  apply,
  BOB,
  beginning,
  claim,
  commit,
  continued,
  created,
  dieHolding,
  ended,
  fresh,
  generationOf,
  history,
  hold,
  message,
  messageIds,
  newRun,
  newTask,
  openSession,
  postTo,
  released,
  snapshot,
  sweep,
  take,
  tasksOf,
  turn,
} from './builders.ts'
import type { Case } from './case.ts'
import { holds, only, outcomes, present, same } from './check.ts'

function bodiesOf(turns: readonly StoredTurn[]): string[] {
  return turns.map(({ body }) => body)
}

const continuing: readonly Case[] = [
  {
    name: 'a run that continues is due at once, as the next generation, with what it begins with',
    async run({ store, clock }) {
      const run = await hold(store)
      const past = beginning(2)
      await apply(store, turn(run, { count: 3, next: continued(past) }))
      const { head, status, session, wakeAt } = await snapshot(store, 'run')
      same([head.generation, status, session], [2, 'running', undefined], 'the state')
      same(wakeAt, clock.now(), 'when it is due')
      const next = await take(store, 'run')
      same([next.head.generation, next.seq, next.deliveries], [2, 2, 1], 'what is claimed')
      holds(next.lease.epoch > run.lease.epoch, 'the epoch grows')
      const first = only(await history(store, 'run'), 'turns of the newest generation')
      const { turnId, count, body } = past
      same({ ...first, epoch: 0 }, { seq: 0, count, turnId, epoch: 0, body }, 'its first turn')
    },
  },
  {
    name: 'a run that continues keeps its head, but for the generation',
    async run({ store, clock }) {
      const parent = { runId: 'mother', generation: 1, key: 'child#1' }
      const run = await hold(store, 'run', { workflowId: 'w', extras: '"note"', parent })
      await clock.advance(10)
      await apply(store, turn(run, { next: continued() }))
      const next = await take(store, 'run')
      same(next.head, { ...run.head, generation: 2 }, 'the head when claimed')
      same((await snapshot(store, 'run')).head, next.head, 'when loaded')
      same(only((await store.list({ limit: 5 })).runs, 'runs').head, next.head, 'when listed')
    },
  },
  {
    name: 'continuing, sent again after a lost answer, is a duplicate',
    async run({ store }) {
      const run = await hold(store)
      const over = turn(run, { next: continued(beginning(2)) })
      await apply(store, over)
      same(await commit(store, over), { outcome: 'duplicate' }, 'at once')
      const next = await take(store, 'run')
      same(await commit(store, over), { outcome: 'duplicate' }, 'when it is held again')
      await apply(store, turn(next))
      same(await commit(store, over), { outcome: 'duplicate' }, 'when it has gone on')
      same((await history(store, 'run')).length, 2, 'turns of the next generation')
      same((await generationOf(store, 'run', 1)).length, 1, 'turns of the first')
    },
  },
  {
    name: 'INV5: continuing takes the lease, and turns of the old generation are fenced',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { next: continued(beginning(2)) }))
      same(await commit(store, turn(run, { seq: 1 })), { outcome: 'fenced' }, 'the next turn')
      same(await commit(store, turn(run)), { outcome: 'fenced' }, 'another one at the same place')
      const next = await take(store, 'run')
      const old = { lease: next.lease, generation: 1, seq: 1 }
      same(await commit(store, turn(run, old)), { outcome: 'fenced' }, 'under the new lease')
      const late = turn(next, { lease: run.lease })
      same(await commit(store, late), { outcome: 'fenced' }, 'the new generation by the old lease')
      await apply(store, turn(next))
    },
  },
  {
    name: 'turns of the next generation follow what it begins with',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { count: 7, next: continued(beginning(3)) }))
      const next = await take(store, 'run')
      same(await commit(store, turn(next, { seq: 0 })), { outcome: 'fenced' }, 'at its beginning')
      same(await commit(store, turn(next, { seq: 8 })), { outcome: 'fenced' }, 'as if it went on')
      await apply(store, turn(next, { seq: 3, count: 2, next: released() }))
      await store.post([postTo('run', 'm')])
      same((await take(store, 'run')).seq, 5, 'events then')
    },
  },
  {
    name: 'INV7: messages that were not taken survive, and those that were do not come again',
    async run({ store }) {
      const run = await hold(store)
      await store.post(['m1', 'm2', 'm3'].map((id) => postTo('run', id)))
      await apply(store, turn(run, { consumed: ['m2'], next: continued() }))
      same((await snapshot(store, 'run')).unread, 2, 'unread messages')
      same(messageIds((await take(store, 'run')).messages), ['m1', 'm3'], 'what comes with it')
    },
  },
  {
    name: 'INV7: a message that is posted while the run continues is not lost',
    async run({ store, other }) {
      const elsewhere = await other()
      const run = await hold(store)
      const ids = Array.from({ length: 10 }, (_, index) => `m${index}`)
      const posts = ids.map((id) => elsewhere.post([postTo('run', id)]))
      await Promise.all([...posts, apply(store, turn(run, { next: continued() }))])
      const next = await take(store, 'run')
      same(messageIds(next.messages).toSorted(), ids, 'the messages')
    },
  },
  {
    name: 'the history of every generation can be read, by default the newest',
    async run({ store }) {
      let run = await hold(store)
      const bodies: string[][] = []
      for (const generation of [1, 2, 3]) {
        const before = await history(store, 'run')
        const [one, two] = [turn(run), turn(run, { seq: run.seq + 1, next: continued() })]
        bodies.push([...bodiesOf(before), one.body, two.body])
        await apply(store, one)
        await apply(store, two)
        run = await take(store, 'run')
        same(run.head.generation, generation + 1, 'the generation')
      }
      for (const [index, expected] of bodies.entries()) {
        const found = await generationOf(store, 'run', index + 1)
        same(bodiesOf(found), expected, `generation ${index + 1}`)
      }
      same(await history(store, 'run'), await generationOf(store, 'run', 4), 'the newest')
      same(await generationOf(store, 'run', 5), [], 'one that is not there yet')
    },
  },
  {
    name: 'history is read in pages within a generation',
    async run({ store }) {
      const run = await hold(store)
      for (const seq of [0, 1, 2]) await apply(store, turn(run, { seq }))
      await apply(store, turn(run, { seq: 3, next: continued(beginning(9)) }))
      const ask = { type: 'history', runId: 'run', generation: 1 } as const
      const [loaded] = await store.load([{ ...ask, after: 1, turns: 2 }])
      holds(loaded?.type === 'history', 'history is answered with history')
      same(
        loaded.turns.map(({ seq }) => seq),
        [1, 2],
        'the page',
      )
    },
  },
  {
    name: 'a run that continues ends like any other, and tells its last generation',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { next: continued() }))
      const next = await take(store, 'run')
      const last = turn(next, { next: ended })
      await apply(store, last)
      const { head, status, last: body } = await snapshot(store, 'run')
      same([head.generation, status, body], [2, 'completed', last.body], 'the run')
      same((await history(store, 'run')).length, 2, 'turns of its last generation')
      same((await generationOf(store, 'run', 1)).length, 1, 'turns of its first')
    },
  },
  {
    name: 'what a turn sends out and hands to workers goes with it when it continues',
    async run({ store }) {
      const run = await hold(store)
      await created(store, newRun('friend', { queue: 'elsewhere' }))
      await apply(
        store,
        turn(run, {
          tasks: [newTask('task')],
          outbox: [
            { type: 'start', run: newRun('child'), otherwise: message('refused') },
            { type: 'post', ...postTo('friend', 'hello') },
          ],
          next: continued(),
        }),
      )
      await sweep(store)
      same((await snapshot(store, 'child')).status, 'pending', 'the new run')
      same((await snapshot(store, 'friend')).unread, 1, 'messages of the other')
      same((await tasksOf(store, 'run')).length, 1, 'tasks')
    },
  },
  {
    name: 'a holder that dies in a later generation is counted in it',
    async run(fixture) {
      const { store } = fixture
      const run = await hold(store)
      await apply(store, turn(run, { next: continued(beginning(2)) }))
      await dieHolding(fixture)
      const next = await take(store, 'run')
      same([next.head.generation, next.deliveries, next.seq], [2, 2, 2], 'what is claimed')
    },
  },
  {
    name: 'a workflow id belongs to a run in all its generations',
    async run({ store }) {
      const run = await hold(store, 'run', { workflowId: 'w' })
      await apply(store, turn(run, { next: continued() }))
      const another = { workflowId: 'w', reuse: 'reject' } as const
      const refused = await created(store, newRun('another', another))
      same(refused, { outcome: 'refused', runId: 'run' }, 'the answer to another start')
      const found = await created(store, newRun('third', { ...another, reuse: 'returnExisting' }))
      same(found, { outcome: 'existing', runId: 'run' }, 'and if it may be any')
    },
  },
  {
    name: `histories of ${limits.generationsKept} generations are kept, and no more`,
    async run({ store }) {
      let run = await hold(store)
      for (let generation = 1; generation <= limits.generationsKept; generation++) {
        const [oldest] = await generationOf(store, 'run', 1)
        holds(generation === 1 || oldest !== undefined, `the first is there in the ${generation}th`)
        await apply(store, turn(run, { next: continued() }))
        run = await take(store, 'run')
      }
      same(run.head.generation, limits.generationsKept + 1, 'the newest')
      same(await generationOf(store, 'run', 1), [], 'the oldest')
      same((await generationOf(store, 'run', 2)).length, 2, 'the one after it')
      same((await history(store, 'run')).length, 1, 'turns of the newest')
    },
  },
]

const born: readonly Case[] = [
  {
    name: 'a run created with an initial history continues after it',
    async run({ store }) {
      const past = beginning(4)
      const run = await hold(store, 'run', { past })
      same([run.head.generation, run.seq, run.deliveries], [1, 4, 1], 'what is claimed')
      same(bodiesOf(await history(store, 'run')), [past.body], 'its history')
      same(await commit(store, turn(run, { seq: 0 })), { outcome: 'fenced' }, 'at its beginning')
      const last = turn(run, { next: ended })
      await apply(store, last)
      same(bodiesOf(await history(store, 'run')), [past.body, last.body], 'its history then')
    },
  },
  {
    name: 'INV9: a run with an initial history, created again, is existing',
    async run({ store }) {
      const run = newRun('run', { past: beginning(2) })
      await created(store, run)
      same(await created(store, run), { outcome: 'existing', runId: 'run' }, 'the answer')
      same((await history(store, 'run')).length, 1, 'turns')
    },
  },
  {
    name: 'an eager create with an initial history grants a lease after it, and so does the next claim',
    async run({ store, clock }) {
      await openSession(store)
      await openSession(store, BOB, 1_000)
      const eager = { session: BOB, nonce: fresh() }
      const answer = await created(store, newRun('run', { past: beginning(3), eager }))
      holds(answer.outcome === 'created', `created, not ${answer.outcome}`)
      same(present(answer.run, 'the lease').seq, 3, 'events for the first holder')
      await clock.advance(1_000)
      await sweep(store)
      same((await take(store, 'run', ALICE)).seq, 3, 'events for the second')
    },
  },
  {
    name: 'runs with and without an initial history can be created in one batch',
    async run({ store }) {
      await openSession(store)
      const runs = [newRun('a', { past: beginning(2) }), newRun('b'), newRun('a')]
      same(outcomes(await store.create(runs)), ['created', 'created', 'existing'], 'the answers')
      const claimed = (await claim(store)).runs.map(({ head, seq }) => [head.runId, seq] as const)
      same(new Map(claimed), new Map([['a', 2] as const, ['b', 0] as const]), 'events of each')
    },
  },
]

export const generationCases: readonly Case[] = [...continuing, ...born]
