// Sessions: one renewal keeps all leases of a worker, and a missing renewal frees them.
import {
  ALICE,
  apply,
  BOB,
  beat,
  claim,
  done,
  hold,
  holdTask,
  holdTasks,
  idsOf,
  newRun,
  newTask,
  numbered,
  openSession,
  snapshot,
  sweep,
  take,
  turn,
} from './builders.ts'
import type { Case } from './case.ts'
import { holds, only, present, same } from './check.ts'

const living: readonly Case[] = [
  {
    name: 'a session opens, and a claim under it is not dead',
    async run({ store, clock }) {
      const renewed = await openSession(store)
      same(renewed, { now: clock.now(), alive: true, lostTasks: [] }, 'the answer')
      same((await claim(store)).dead, undefined, 'the claim')
    },
  },
  {
    name: 'opening sent again is the same session, and takes nothing from it',
    async run({ store }) {
      const run = await hold(store)
      await openSession(store)
      await apply(store, turn(run))
    },
  },
  {
    name: 'a renewed session lives on from the renewal',
    async run({ store, clock }) {
      await openSession(store, ALICE, 1_000)
      for (let number = 2; number < 6; number++) {
        await clock.advance(900)
        const renewed = await store.renew(beat(ALICE, { beat: number, ttlMs: 1_000 }))
        same(renewed.alive, true, 'the session')
      }
      await clock.advance(999)
      same((await claim(store)).dead, undefined, 'just before the end')
    },
  },
  {
    name: 'a session that was not renewed in time is dead for good once another claim came',
    async run({ store, clock }) {
      await openSession(store, ALICE, 1_000)
      await openSession(store, BOB)
      await clock.advance(1_000)
      await claim(store, {}, BOB)
      const renewed = await store.renew(beat(ALICE, { beat: 2, ttlMs: 1_000 }))
      same(renewed.alive, false, 'to renew')
      same((await claim(store)).dead, true, 'to claim')
      same((await store.renew(beat(ALICE, { beat: 3 }))).alive, false, 'for good')
    },
  },
  {
    name: 'a late session that still has all its leases continues after a renewal',
    async run({ store, clock }) {
      await openSession(store, ALICE, 1_000)
      await store.create([newRun('run')])
      const run = await take(store, 'run')
      await clock.advance(5_000)
      same((await claim(store)).dead, undefined, 'its own claim')
      same((await store.renew(beat(ALICE, { beat: 2, ttlMs: 1_000 }))).alive, true, 'its renewal')
      await apply(store, turn(run))
    },
  },
  {
    name: 'a claim says when another session will be late, apart from what is due',
    async run({ store, clock }) {
      await openSession(store, ALICE, 1_200)
      await openSession(store, BOB)
      const now = clock.now()
      await store.create([newRun('later', { startAt: now + 5_000 })])
      const { nextDue, nextLate, late } = await claim(store, {}, BOB)
      same([nextDue, nextLate, late], [now + 5_000, now + 500, undefined], 'what is next')
      same((await claim(store)).nextLate !== nextLate, true, 'a session of its own')
      await clock.advance(500)
      const after = await claim(store, {}, BOB)
      same([after.nextLate, after.late?.map(({ session }) => session)], [undefined, [ALICE]], 'once it is late')
      same((await claim(store)).nextDue, now + 5_000, 'to another')
    },
  },
  {
    name: 'a renewal of a session that was never opened is dead',
    async run({ store }) {
      same((await store.renew(beat(ALICE, { beat: 2 }))).alive, false, 'the session')
      same((await claim(store)).dead, true, 'the claim')
    },
  },
  {
    name: 'a renewal may change how long the session lives',
    async run({ store, clock }) {
      await openSession(store, ALICE, 60_000)
      await openSession(store, BOB)
      await store.renew(beat(ALICE, { beat: 2, ttlMs: 500 }))
      await clock.advance(500)
      await claim(store, {}, BOB)
      same((await claim(store)).dead, true, 'after the shorter time')
    },
  },
  {
    name: 'a renewal keeps all that the session holds',
    async run({ store, clock }) {
      const task = await holdTask(store)
      await store.create([newRun('other')])
      const run = await take(store, 'other')
      await store.renew(beat(ALICE, { beat: 2, ttlMs: 1_000 }))
      await clock.advance(999)
      const renewed = await store.renew(beat(ALICE, { beat: 3, tasks: ['task'] }))
      same([renewed.alive, renewed.lostTasks], [true, []], 'the answer')
      await apply(store, turn(run))
      same(only(await store.settle([done(task)]), 'answers').outcome, 'applied', 'the task')
    },
  },
]

const dying: readonly Case[] = [
  {
    name: 'a living session loses nothing because another one dies',
    async run({ store, clock }) {
      const mine = await hold(store, 'mine')
      await openSession(store, BOB, 1_000)
      await store.create([newRun('theirs')])
      await take(store, 'theirs', BOB)
      await clock.advance(1_000)
      same(idsOf((await claim(store, { suspects: 9 })).runs), ['theirs'], 'what is freed')
      await apply(store, turn(mine))
    },
  },
  {
    name: 'INV13: all runs and tasks of a dead session are due again after a claim by anybody',
    async run({ store, clock }) {
      await openSession(store)
      await openSession(store, BOB, 1_000)
      const ids = numbered('run', 12)
      await store.create([newRun('maker'), ...ids.map((id) => newRun(id, { queue: 'q' }))])
      const maker = await take(store, 'maker')
      await holdTasks(store, maker, [newTask('a'), newTask('b')], BOB)
      same((await claim(store, { queues: ['q'], runs: 12 }, BOB)).runs.length, 12, 'held')
      await clock.advance(1_000)
      await sweep(store)
      const freed = await claim(store, { queues: ['q', 'default'], runs: 20, suspects: 20 })
      same([freed.runs.length, freed.tasks.length], [12, 2], 'what is due')
    },
  },
  {
    name: 'a freed run has no holder',
    async run({ store, clock }) {
      await openSession(store)
      await openSession(store, BOB, 1_000)
      await store.create([newRun('run')])
      await take(store, 'run', BOB)
      same((await snapshot(store, 'run')).session, BOB, 'the holder')
      await clock.advance(1_000)
      await sweep(store)
      same((await snapshot(store, 'run')).session, undefined, 'the holder then')
    },
  },
  {
    name: 'a session that closes releases at once what it held, and is dead',
    async run({ store }) {
      await openSession(store, BOB)
      const task = await holdTask(store)
      await store.create([newRun('other')])
      await take(store, 'other')
      const closed = await store.renew(beat(ALICE, { beat: 2, close: true, tasks: ['task'] }))
      same([closed.alive, closed.lostTasks], [false, ['task']], 'the answer')
      same((await claim(store)).dead, true, 'a claim under it')
      const freed = await claim(store, { suspects: 9 }, BOB)
      same([idsOf(freed.runs), freed.tasks.length], [['other'], 1], 'what is due')
      same(only(await store.settle([done(task)]), 'answers').outcome, 'fenced', 'its outcome')
    },
  },
  {
    name: 'closing a session that is gone already does no harm',
    async run({ store }) {
      await openSession(store)
      await store.renew(beat(ALICE, { beat: 2, close: true }))
      same((await store.renew(beat(ALICE, { beat: 2, close: true }))).alive, false, 'the answer')
    },
  },
  {
    name: 'H26: a renewal names the tasks that are no longer the session’s',
    async run({ store }) {
      const run = await hold(store)
      const made = [newTask('kept'), newTask('dropped'), newTask('settled')]
      await apply(store, turn(run, { tasks: made }))
      const { tasks } = await claim(store)
      const settled = present(
        tasks.find((task) => task.taskId === 'settled'),
        'the task to settle',
      )
      await store.settle([done(settled)])
      await apply(store, turn(run, { seq: 1, dropped: ['dropped'] }))
      const believed = ['kept', 'dropped', 'settled', 'ghost']
      const { lostTasks } = await store.renew(beat(ALICE, { beat: 2, tasks: believed }))
      same([...lostTasks].sort(), ['dropped', 'ghost', 'settled'], 'the lost ones')
    },
  },
  {
    name: 'a renewal that comes too late names all its tasks as lost',
    async run({ store, clock }) {
      await holdTask(store)
      await store.renew(beat(ALICE, { beat: 2, ttlMs: 1_000 }))
      await clock.advance(1_000)
      await openSession(store, BOB)
      same((await claim(store, {}, BOB)).tasks.length, 1, 'another has the task')
      const late = await store.renew(beat(ALICE, { beat: 3, tasks: ['task'] }))
      same([late.alive, late.lostTasks], [false, ['task']], 'the answer')
    },
  },
]

const told: readonly Case[] = [
  {
    name: 'sessions are listed with who they are, until when, and what they can do',
    async run({ store, clock }) {
      const about = '{"queues":["a","b"],"build":"ü-1"}'
      await store.renew(beat(ALICE, { worker: 'w one', ttlMs: 5_000, about }))
      await openSession(store, BOB)
      const loaded = only(await store.load([{ type: 'sessions' }]), 'answers')
      holds(loaded.type === 'sessions', 'sessions are answered with sessions')
      same(loaded.now, clock.now(), 'the time')
      same(loaded.sessions.map((each) => each.session).toSorted(byNumber), [ALICE, BOB], 'who')
      const alice = present(
        loaded.sessions.find((each) => each.session === ALICE),
        'the session',
      )
      same([alice.worker, alice.expiresAt, alice.about], ['w one', clock.now() + 5_000, about], 'what is known')
    },
  },
  {
    name: 'every beat replaces what a session can do',
    async run({ store }) {
      const known = async (): Promise<string> => {
        const loaded = only(await store.load([{ type: 'sessions' }]), 'answers')
        holds(loaded.type === 'sessions', 'sessions are answered with sessions')
        return only(loaded.sessions, 'sessions').about
      }
      await store.renew(beat(ALICE, { about: '{"n":1}' }))
      await store.renew(beat(ALICE, { about: '{"n":2}' }))
      same(await known(), '{"n":2}', 'after the first beat was sent again')
      await store.renew(beat(ALICE, { beat: 2, about: '{"n":3}' }))
      same(await known(), '{"n":3}', 'after the second beat')
    },
  },
  {
    name: 'a session that closed is not listed',
    async run({ store }) {
      await openSession(store)
      await store.renew(beat(ALICE, { beat: 2, close: true }))
      const loaded = only(await store.load([{ type: 'sessions' }]), 'answers')
      holds(loaded.type === 'sessions', 'sessions are answered with sessions')
      same(loaded.sessions, [], 'sessions')
    },
  },
]

function byNumber(a: number, b: number): number {
  return a - b
}

export const sessionCases: readonly Case[] = [...living, ...dying, ...told]
