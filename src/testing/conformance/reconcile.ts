// A claim whose answer was lost leaves leases with a session that does not know of them. Reconciling returns them.
import type { Claimed, ClaimRequest } from '../../core/stores/store.ts'
import {
  ALICE,
  apply,
  BOB,
  claim,
  fresh,
  hold,
  holdTasks,
  idsOf,
  messageIds,
  newRun,
  newTask,
  numbered,
  openSession,
  postTo,
  released,
  turn,
} from './builders.ts'
import type { Case } from './case.ts'
import { only, same } from './check.ts'

const reconcile = true

function inOrder({ runs, tasks }: Claimed) {
  return {
    runs: runs.toSorted((a, b) => (a.head.runId < b.head.runId ? -1 : 1)),
    tasks: tasks.toSorted((a, b) => (a.taskId < b.taskId ? -1 : 1)),
  }
}

export const reconcileCases: readonly Case[] = [
  {
    name: 'H33: runs of a lost answer are granted again under the same lease, and not charged',
    async run({ store, clock }) {
      await openSession(store)
      await store.create(numbered('run', 6).map((id) => newRun(id)))
      const lost = await claim(store, { runs: 3 })
      await clock.advance(100)
      const again = await claim(store, { runs: 3, reconcile })
      same(inOrder(again).runs, inOrder(lost).runs, 'the leases')
      for (const run of again.runs) await apply(store, turn(run))
      same((await claim(store)).runs.length, 3, 'what is left')
    },
  },
  {
    name: 'H33: tasks of a lost answer are granted again under the same lease, and not charged',
    async run({ store }) {
      const run = await hold(store)
      const tasks = [newTask('a'), newTask('b'), newTask('c')]
      await apply(store, turn(run, { tasks, next: released() }))
      const lost = await claim(store, { tasks: 2 })
      const again = await claim(store, { tasks: 2, reconcile })
      same(inOrder(again).tasks, inOrder(lost).tasks, 'the leases')
      same((await claim(store)).tasks.length, 1, 'what is left')
    },
  },
  {
    name: 'H33: what the session knows it holds is not granted again',
    async run({ store }) {
      await openSession(store)
      await store.create(numbered('run', 4).map((id) => newRun(id)))
      const known = await claim(store, { runs: 2 })
      const lost = await claim(store, { runs: 1 })
      const held = idsOf(known.runs)
      const again = await claim(store, { runs: 10, reconcile, held })
      same(idsOf(again.runs), idsOf(lost.runs), 'only the lost one, and nothing new')
      const all = await claim(store, { reconcile, held: [...held, ...idsOf(lost.runs)] })
      same(all.runs.length, 1, 'with nothing lost, new ones are granted')
    },
  },
  {
    name: 'H33: tasks the session knows it holds are not granted again',
    async run({ store }) {
      const run = await hold(store)
      const tasks = numbered('task', 4).map((id) => newTask(id))
      await apply(store, turn(run, { tasks, next: released() }))
      const known = (await claim(store, { tasks: 2 })).tasks.map((task) => task.taskId)
      const lost = (await claim(store, { tasks: 1 })).tasks
      const again = await claim(store, { tasks: 10, reconcile, heldTasks: known })
      same([...again.tasks], [...lost], 'only the lost one, and nothing new')
    },
  },
  {
    name: 'H33: the lease of an eager create whose answer was lost is granted again',
    async run({ store }) {
      await openSession(store)
      const nonce = fresh()
      await store.create([newRun('run', { eager: { session: ALICE, nonce } })])
      const run = only((await claim(store, { reconcile })).runs, 'claimed runs')
      same([run.lease.nonce, run.deliveries], [nonce, 1], 'the lease')
    },
  },
  {
    name: 'H33: a run granted again brings the messages that came since',
    async run({ store }) {
      await hold(store)
      await store.post([postTo('run', 'm1')])
      const again = only((await claim(store, { reconcile })).runs, 'claimed runs')
      same(messageIds(again.messages), ['m1'], 'the messages')
    },
  },
  {
    name: 'H33: a run granted again has what was committed under the lease behind it',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { count: 2 }))
      const again = only((await claim(store, { reconcile })).runs, 'claimed runs')
      same([again.seq, again.deliveries], [0, 1], 'seq is still that of the last release')
      await apply(store, turn(again, { seq: 2 }))
    },
  },
  {
    name: 'H33: what other sessions hold is never granted',
    async run({ store }) {
      await hold(store, 'theirs', {}, BOB)
      await openSession(store)
      same((await claim(store, { reconcile, suspects: 9 })).runs, [], 'claimed runs')
    },
  },
  {
    name: 'H33: what was released or ended meanwhile is not granted again',
    async run({ store }) {
      const a = await hold(store, 'a')
      const b = await hold(store, 'b')
      await apply(store, turn(a, { next: released() }))
      await apply(store, turn(b, { next: { type: 'end', status: 'failed' } }))
      same((await claim(store, { reconcile })).runs, [], 'claimed runs')
    },
  },
  {
    name: 'H33: a request that never arrived is a first request when it reconciles',
    async run({ store }) {
      await openSession(store)
      await store.create([newRun('run')])
      same(only((await claim(store, { reconcile })).runs, 'runs').deliveries, 1, 'deliveries')
    },
  },
  {
    name: 'stores D13: what a session holds is granted again whatever it serves now',
    async run({ store }) {
      const run = await hold(store, 'run')
      const tasks = await holdTasks(store, await hold(store, 'other'), [newTask('task')])
      const now: Partial<ClaimRequest> = {
        queues: ['elsewhere'],
        workflows: ['another'],
        activities: ['another'],
        reconcile,
      }
      const again = await claim(store, now)
      same(idsOf(again.runs), ['run'], 'the run')
      same([again.runs[0]?.lease, again.tasks], [run.lease, tasks], 'the leases')
      same((await claim(store, { ...now, queues: [] })).runs.length, 1, 'without any queue')
    },
  },
  {
    name: 'H33: without reconcile nothing is granted again',
    async run({ store }) {
      await openSession(store)
      await store.create([newRun('a'), newRun('b')])
      await claim(store, { runs: 1 })
      same((await claim(store)).runs.length, 1, 'only the other one')
    },
  },
]
