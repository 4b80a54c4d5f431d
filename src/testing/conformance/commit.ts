// Committing: a turn is written whole or not at all, once, and only under the current lease.
import type { ClaimedRun, Store, TurnCommit } from '../../core/stores/store.ts'
import {
  ALICE,
  apply,
  BOB,
  beat,
  claim,
  commit,
  dieHolding,
  ended,
  fresh,
  history,
  hold,
  newRun,
  newTask,
  openSession,
  postTo,
  release,
  released,
  snapshot,
  sweep,
  take,
  tasksOf,
  turn,
} from './builders.ts'
import type { Case } from './case.ts'
import { holds, only, same } from './check.ts'

/** Expects that the turn is refused and leaves no trace. */
async function refused(store: Store, run: ClaimedRun, overrides: Partial<TurnCommit>) {
  const before = await history(store, run.head.runId)
  const stray = newTask(`stray ${fresh()}`)
  const one = turn(run, { tasks: [stray], ...overrides })
  same(await commit(store, one), { outcome: 'fenced' }, 'the answer')
  same(await history(store, run.head.runId), before, 'history')
  const tasks = await tasksOf(store, run.head.runId)
  holds(!tasks.some((task) => task.taskId === stray.taskId), 'no task of it was inserted')
}

const applied: readonly Case[] = [
  {
    name: 'a turn without a lease is applied to a run that is not held, until it is claimed',
    async run({ store }) {
      const nobody = async (): Promise<ClaimedRun['lease']> => {
        const { epoch } = await snapshot(store, 'run')
        return { session: 0, nonce: 0, epoch }
      }
      const run = await hold(store)
      await refused(store, run, { lease: await nobody() })
      await apply(store, turn(run, { next: released(0) }))
      const before = await nobody()
      const next = { ...turn(run), seq: (await history(store, 'run')).length }
      const again = await take(store, 'run')
      await refused(store, again, { lease: before })
      await apply(store, turn(again, { next: released() }))
      const { generation } = again.head
      const seq = (await history(store, 'run')).reduce((sum, { count }) => sum + count, 0)
      const end = { type: 'end', status: 'failed' } as const
      const last = { ...next, generation, seq, lease: await nobody(), next: end }
      same(await commit(store, last), { outcome: 'applied' }, 'while nobody holds it')
      same((await snapshot(store, 'run')).status, 'failed', 'its status')
      same((await snapshot(store, 'run')).epoch, 0, 'the epoch of a run that has ended')
      const beyond = { ...last, turnId: last.turnId + 1, seq: seq + last.count }
      same(await commit(store, beyond), { outcome: 'fenced' }, 'after it has ended')
    },
  },
  {
    name: 'H17: a claim knows the last turn, also if the run was released without another',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { next: released(0) }))
      const again = await take(store, 'run')
      const last = turn(again, { seq: 1 })
      await apply(store, last)
      await apply(store, turn(again, { seq: 2, count: 0, body: '', next: released(0) }))
      const { turnId, seq } = await take(store, 'run')
      same([turnId, seq], [last.turnId, 2], 'the last turn')
    },
  },
  {
    name: 'INV3: turns are appended in order, with what they were written with',
    async run({ store }) {
      const run = await hold(store)
      const first = turn(run, { count: 2 })
      const second = turn(run, { seq: 2, count: 3, next: released() })
      await apply(store, first)
      await apply(store, second)
      const { epoch } = run.lease
      const recorded = [first, second].map(({ seq, count, turnId, body }) => ({
        seq,
        count,
        turnId,
        epoch,
        body,
      }))
      same(await history(store, 'run'), recorded, 'history')
    },
  },
  {
    name: 'a turn that keeps the lease leaves the run with its holder',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run))
      same((await claim(store, { suspects: 9 })).runs.length, 0, 'nobody else gets it')
      const { session, status } = await snapshot(store, 'run')
      same([session, status], [ALICE, 'running'], 'the holder')
      await apply(store, turn(run, { seq: 1 }))
    },
  },
  {
    name: 'a turn that releases says how the run waits, and until when',
    async run({ store, clock }) {
      const run = await hold(store)
      await clock.advance(7)
      await release(store, run, clock.now() + 900)
      const { status, wakeAt, session, updatedAt, deliveries } = await snapshot(store, 'run')
      same(
        [status, wakeAt, session, updatedAt, deliveries],
        ['waiting', clock.now() + 900, undefined, clock.now(), 0],
        'the state',
      )
    },
  },
  {
    name: 'a turn without events may release a run, and history stays as it is',
    async run({ store }) {
      const run = await hold(store)
      await store.post([postTo('run', 'm1')])
      await apply(store, turn(run, { count: 0, consumed: ['m1'], next: released() }))
      same(await history(store, 'run'), [], 'history')
      same((await claim(store)).runs.length, 0, 'the message was taken')
      await store.post([postTo('run', 'm2')])
      await apply(store, turn(await take(store, 'run'), { consumed: ['m2'], next: ended }))
    },
  },
  {
    name: 'a turn may list messages that are not there',
    async run({ store }) {
      const run = await hold(store)
      await store.post([postTo('run', 'm1')])
      await apply(store, turn(run, { consumed: ['ghost', 'm1'], next: released() }))
      same((await snapshot(store, 'run')).unread, 0, 'unread messages')
    },
  },
  {
    name: 'a turn that releases and wakes itself within the past is due at once',
    async run({ store, clock }) {
      const run = await hold(store)
      await release(store, run, clock.now() - 10_000)
      await take(store, 'run')
    },
  },
]

const fenced: readonly Case[] = [
  {
    name: 'INV5: a turn with the session, epoch or nonce of another lease is fenced',
    async run({ store }) {
      const run = await hold(store)
      await openSession(store, BOB)
      const { session, epoch, nonce } = run.lease
      await refused(store, run, { lease: { session: BOB, epoch, nonce } })
      await refused(store, run, { lease: { session, epoch: epoch + 1, nonce } })
      await refused(store, run, { lease: { session, epoch: epoch - 1, nonce } })
      await refused(store, run, { lease: { session, epoch, nonce: nonce + 1 } })
      await apply(store, turn(run))
    },
  },
  {
    name: 'INV5: a turn after the release of its lease is fenced',
    async run({ store }) {
      const run = await hold(store)
      await release(store, run)
      await refused(store, run, { seq: 1 })
      await refused(store, run, { seq: 1, next: ended })
    },
  },
  {
    name: 'INV5: a turn of a session that died and was cleared away is fenced',
    async run(fixture) {
      const { store } = fixture
      await openSession(store)
      await store.create([newRun('run')])
      const run = only((await dieHolding(fixture)).runs, 'claimed runs')
      await refused(store, run, {})
      same((await take(store, 'run')).deliveries, 2, 'another worker gets it')
    },
  },
  {
    name: 'INV5: a turn of an earlier holder is fenced after another claim, and not the later one',
    async run(fixture) {
      const { store } = fixture
      await openSession(store)
      await store.create([newRun('run')])
      const first = only((await dieHolding(fixture)).runs, 'claimed runs')
      const second = await take(store, 'run')
      await refused(store, first, {})
      await apply(store, turn(second))
      await refused(store, first, { seq: 1 })
    },
  },
  {
    name: 'INV5: the same session that lost a run and got it again cannot use its first lease',
    async run({ store }) {
      const first = await hold(store)
      await release(store, first)
      await store.post([postTo('run', 'm1')])
      const second = await take(store, 'run')
      await refused(store, first, { seq: 1 })
      await apply(store, turn(second, { consumed: ['m1'] }))
    },
  },
  {
    name: 'INV5: a turn of a session that closed is fenced',
    async run({ store }) {
      const run = await hold(store)
      await store.renew(beat(ALICE, { beat: 2, close: true }))
      await refused(store, run, {})
    },
  },
  {
    name: 'a turn for a run that does not exist is fenced',
    async run({ store }) {
      const run = await hold(store)
      same(await commit(store, turn(run, { runId: 'ghost' })), { outcome: 'fenced' }, 'the answer')
    },
  },
  {
    name: 'INV3: a turn that expects another number of events is fenced',
    async run({ store }) {
      const run = await hold(store)
      await refused(store, run, { seq: 1 })
      await apply(store, turn(run, { count: 3 }))
      for (const seq of [0, 1, 2, 4]) await refused(store, run, { seq })
      await apply(store, turn(run, { seq: 3 }))
    },
  },
]

const repeated: readonly Case[] = [
  {
    name: 'H6: a holding turn sent again is a duplicate, and is written once',
    async run({ store }) {
      const run = await hold(store)
      const one = turn(run, { tasks: [newTask('t')] })
      await apply(store, one)
      same(await commit(store, one), { outcome: 'duplicate' }, 'the second answer')
      same((await history(store, 'run')).length, 1, 'turns')
      same((await tasksOf(store, 'run')).length, 1, 'tasks')
      await apply(store, turn(run, { seq: 1 }))
      same(await commit(store, one), { outcome: 'duplicate' }, 'also after the next turn')
    },
  },
  {
    name: 'H6: a releasing turn sent again is a duplicate, also after another claim',
    async run({ store }) {
      const run = await hold(store)
      const one = turn(run, { next: released() })
      await apply(store, one)
      same(await commit(store, one), { outcome: 'duplicate' }, 'the second answer')
      await store.post([postTo('run', 'm1')])
      const later = await take(store, 'run')
      same(await commit(store, one), { outcome: 'duplicate' }, 'the third answer')
      await apply(store, turn(later, { consumed: ['m1'] }))
    },
  },
  {
    name: 'H6: an ending turn sent again is a duplicate',
    async run({ store }) {
      const run = await hold(store)
      const one = turn(run, { next: ended })
      await apply(store, one)
      same(await commit(store, one), { outcome: 'duplicate' }, 'the second answer')
      same((await history(store, 'run')).length, 1, 'turns')
    },
  },
  {
    name: 'H6: a turn without events sent again does no harm',
    async run({ store }) {
      const run = await hold(store)
      const one = turn(run, { count: 0, next: released() })
      await apply(store, one)
      await store.post([postTo('run', 'm1')])
      const { outcome } = await commit(store, one)
      holds(outcome === 'duplicate' || outcome === 'fenced', `not ${outcome}`)
      const later = await take(store, 'run')
      holds((await commit(store, one)).outcome !== 'applied', 'nor when a worker holds it')
      await apply(store, turn(later))
    },
  },
  {
    name: 'H6: a duplicate does not bring back a task that was settled since',
    async run({ store }) {
      const run = await hold(store)
      const one = turn(run, { tasks: [newTask('t')] })
      await apply(store, one)
      const { taskId, lease } = only((await claim(store)).tasks, 'tasks')
      const result = { type: 'done', message: { id: 'm', body: '{}' } } as const
      await store.settle([{ taskId, lease, result }])
      same(await commit(store, one), { outcome: 'duplicate' }, 'the second answer')
      same(await tasksOf(store, 'run'), [], 'tasks')
      await sweep(store)
      same((await claim(store)).tasks, [], 'claimed tasks')
    },
  },
  {
    name: 'INV15: another turn at the place of a recorded one is fenced',
    async run({ store }) {
      const run = await hold(store)
      const one = turn(run)
      await apply(store, one)
      const other = { ...one, turnId: fresh(), body: '"other"' }
      same(await commit(store, other), { outcome: 'fenced' }, 'the answer')
      same(only(await history(store, 'run'), 'turns').body, one.body, 'the body')
    },
  },
]

export const commitCases: readonly Case[] = [...applied, ...fenced, ...repeated]
