// When rows are due and in which order they are granted, down to what only a comparison of two stores shows.
import { placeOf } from '../../core/stores/claim-order.ts'
import {
  ALICE,
  apply,
  BOB,
  beat,
  claim,
  created,
  dieHolding,
  fresh,
  hold,
  holdTasks,
  idsOf,
  message,
  newRun,
  newTask,
  openSession,
  pausedBy,
  release,
  released,
  request,
  returned,
  snapshot,
  TTL_MS,
  take,
  tasksOf,
  turn,
} from './builders.ts'
import type { Case } from './case.ts'
import { holds, only, same } from './check.ts'

const order: readonly Case[] = [
  {
    name: 'among equals the nonce of a claim decides which name comes first, alike in every store',
    async run({ store }) {
      await openSession(store)
      const names = ['a', 'b', 'c', 'd']
      await store.create(names.map((name) => newRun(name, { name })))
      for (let nonce = 1; nonce <= 12; nonce++) {
        const [first] = names.toSorted((a, b) => placeOf('default', a, nonce) - placeOf('default', b, nonce))
        const run = only((await claim(store, { runs: 1, nonce })).runs, 'runs claimed')
        same<string | undefined>(run.head.name, first, `first with nonce ${nonce}`)
        await apply(store, turn(run, { count: 0, next: released(0) }))
      }
    },
  },
  {
    name: 'a run is due no earlier than it was written, whatever time its start or its release names',
    async run({ store, clock }) {
      await openSession(store)
      await store.create([newRun('old')])
      await clock.advance(10)
      await store.create([newRun('backdated', { startAt: clock.now() - 5_000 })])
      same((await snapshot(store, 'backdated')).wakeAt, clock.now(), 'when it is due')
      const run = only((await claim(store, { runs: 1 })).runs, 'runs claimed')
      same(run.head.runId, 'old', 'the run that has been due longest')
      await release(store, run, clock.now() - 5_000)
      same((await snapshot(store, 'old')).wakeAt, clock.now(), 'when it is due again')
    },
  },
  {
    name: 'a task that is returned is due from then on, behind those that were due before',
    async run({ store, clock }) {
      const [first] = await holdTasks(store, await hold(store), [newTask('first')])
      await clock.advance(10)
      await store.create([newRun('other')])
      const other = await take(store, 'other')
      await apply(store, turn(other, { tasks: [newTask('second')], next: released() }))
      await clock.advance(10)
      holds(first !== undefined, 'a task is held')
      await store.settle([returned(first)])
      const { tasks } = await claim(store, { runs: 0, tasks: 1 })
      same(only(tasks, 'claimed tasks').taskId, 'second', 'the first')
    },
  },
  {
    name: 'a paused run has no time at which it is due, also if its next holder died',
    async run(fixture) {
      const { store } = fixture
      await apply(store, turn(await hold(store), { next: pausedBy('build-1') }))
      await dieHolding(fixture, { build: 'build-2' })
      const { wakeAt, paused } = await snapshot(store, 'run')
      same([wakeAt, paused?.build], [undefined, 'build-1'], 'the run')
    },
  },
]

const leases: readonly Case[] = [
  {
    name: 'an eager create for a session whose time is over makes an ordinary run',
    async run({ store, clock }) {
      await openSession(store, ALICE, 1_000)
      await clock.advance(1_001)
      const eager = { session: ALICE, nonce: fresh() }
      const answer = await created(store, newRun('run', { eager }))
      holds(answer.outcome === 'created' && !answer.run, 'the lease is not granted')
      same((await snapshot(store, 'run')).status, 'pending', 'the run')
    },
  },
  {
    name: 'a claim of a session that does not live says that, and nothing else',
    async run({ store, clock }) {
      await openSession(store, BOB, 1_000)
      await store.create([newRun('run', { delayMs: 5_000 })])
      await clock.advance(1_000)
      const answer = await store.claim(request(ALICE))
      const nothing = { now: clock.now(), runs: [], tasks: [], news: [], dead: true as const }
      same(answer, nothing, 'the answer')
    },
  },
  {
    name: 'every beat replaces what is known of a worker, also the first one sent again',
    async run({ store }) {
      const known = async (): Promise<unknown> => {
        const [loaded] = await store.load([{ type: 'sessions' }])
        holds(loaded?.type === 'sessions', 'sessions are loaded')
        return loaded.sessions.map(({ worker, about, beat: at }) => [worker, about, at])
      }
      for (const [number, worker, about] of [
        [1, 'one', '{"a":1}'],
        [2, 'two', '{"a":2}'],
        [1, 'three', '{"a":3}'],
      ] as const) {
        await store.renew(beat(ALICE, { beat: number, worker, about }))
        same(await known(), [[worker, about, number]], `after beat ${number} of ${worker}`)
      }
    },
  },
  {
    name: 'sessions are loaded in the order of their numbers',
    async run({ store }) {
      for (const session of [BOB, ALICE]) await openSession(store, session, TTL_MS)
      const [loaded] = await store.load([{ type: 'sessions' }])
      holds(loaded?.type === 'sessions', 'sessions are loaded')
      const numbers = loaded.sessions.map(({ session }) => session)
      same(numbers, [ALICE, BOB], 'the order')
    },
  },
]

const turns: readonly Case[] = [
  {
    name: 'a run was last updated when it was last released, not by turns that keep the lease',
    async run({ store, clock }) {
      const run = await hold(store)
      const before = (await snapshot(store, 'run')).updatedAt
      await clock.advance(100)
      await apply(store, turn(run, { at: clock.now() }))
      same((await snapshot(store, 'run')).updatedAt, before, 'after a turn that keeps the lease')
      await apply(store, turn(run, { seq: 1, at: clock.now(), next: released() }))
      same((await snapshot(store, 'run')).updatedAt, clock.now(), 'after the release')
    },
  },
  {
    name: 'a claim names the last turn before the last release, not one that a dead holder added',
    async run(fixture) {
      const { store } = fixture
      const run = await hold(store)
      const last = turn(run, { next: released(0) })
      await apply(store, last)
      const again = await take(store, 'run')
      await apply(store, turn(again, { seq: 1 }))
      await store.renew(beat(ALICE, { close: true }))
      await openSession(store, BOB)
      const next = await take(store, 'run', BOB)
      same([next.seq, next.turnId], [1, last.turnId], 'the last turn')
    },
  },
  {
    name: 'a task whose id is taken stays as it is',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { tasks: [newTask('task')] }))
      const { tasks } = await claim(store, { runs: 0 })
      const again = newTask('task', { name: 'other', body: '{}' })
      await apply(store, turn(run, { seq: 1, tasks: [again] }))
      const [task] = await tasksOf(store, 'run')
      same([task?.name, task?.session], ['charge', ALICE], 'the task')
      same(only(tasks, 'claimed tasks').name, 'charge', 'the claimed task')
    },
  },
  {
    name: 'a message of a turn may resume a paused run',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { next: { type: 'pause', failure: '{}' } }))
      await store.create([newRun('sender')])
      const sender = await take(store, 'sender')
      const post = { type: 'post', runId: 'run', message: message('m'), resumes: true } as const
      await apply(store, turn(sender, { outbox: [post] }))
      same(idsOf((await claim(store)).runs), ['run'], 'runs claimed')
    },
  },
]

export const dueCases: readonly Case[] = [...order, ...leases, ...turns]
