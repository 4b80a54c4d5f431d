// Claiming: which runs and tasks a worker gets, in which order, how often, and what it reads with them.
import type { ClaimRequest } from '../../core/stores/store.ts'
import {
  ALICE,
  apply,
  BOB,
  beat,
  CAROL,
  claim,
  commit,
  ended,
  history,
  hold,
  idsOf,
  messageIds,
  newRun,
  newTask,
  numbered,
  openSession,
  postTo,
  release,
  released,
  request,
  snapshot,
  take,
  turn,
} from './builders.ts'
import type { Case } from './case.ts'
import { holds, only, present, same } from './check.ts'

const choice: readonly Case[] = [
  {
    name: 'a claim takes runs of its own queues only',
    async run({ store }) {
      await openSession(store)
      await store.create([newRun('a', { queue: 'x' }), newRun('b', { queue: 'y' }), newRun('c')])
      same(idsOf((await claim(store, { queues: ['y', 'z'] })).runs), ['b'], 'from y')
      same((await claim(store, { queues: [] })).runs.length, 0, 'from no queue')
      const rest = await claim(store, { queues: ['x', 'default'] })
      same(idsOf(rest.runs).sort(), ['a', 'c'], 'from the others')
    },
  },
  {
    name: 'a claim takes runs of names it has code for only; null means any',
    async run({ store }) {
      await openSession(store)
      await store.create([newRun('a', { name: 'x' }), newRun('b', { name: 'y' })])
      same((await claim(store, { workflows: [] })).runs.length, 0, 'with no code')
      same((await claim(store, { workflows: ['z', 'X'] })).runs.length, 0, 'with other code')
      same(idsOf((await claim(store, { workflows: ['y'] })).runs), ['b'], 'with code for y')
      same(idsOf((await claim(store, { workflows: null })).runs), ['a'], 'with any code')
    },
  },
  {
    name: 'higher priority first, then who is due longer',
    async run({ store, clock }) {
      await openSession(store)
      const created: [string, number][] = [
        ['low', -5],
        ['old', 0],
        ['young', 0],
        ['high', 10],
      ]
      for (const [runId, priority] of created) {
        await store.create([newRun(runId, { priority })])
        await clock.advance(10)
      }
      const taken: string[] = []
      for (let round = 0; round < 4; round++) {
        taken.push(...idsOf((await claim(store, { runs: 1 })).runs))
      }
      same(taken, ['high', 'old', 'young', 'low'], 'the order')
    },
  },
  {
    name: 'the order within a priority is that of due times, not of creation',
    async run({ store, clock }) {
      await openSession(store)
      await store.create([newRun('late', { delayMs: 200 })])
      await clock.advance(1)
      await store.create([newRun('early', { delayMs: 100 })])
      await clock.advance(1_000)
      same(idsOf((await claim(store, { runs: 1 })).runs), ['early'], 'first')
      same(idsOf((await claim(store, { runs: 1 })).runs), ['late'], 'second')
    },
  },
  {
    name: 'a higher priority goes first across names and queues',
    async run({ store, clock }) {
      await openSession(store)
      for (const [index, name] of ['a', 'b', 'c', 'd'].entries()) {
        const queue = index % 2 === 0 ? 'default' : 'other'
        await store.create([newRun(name, { name, queue, priority: index })])
        await clock.advance(10)
      }
      const taken: string[] = []
      for (let nonce = 1; nonce <= 4; nonce++) {
        const claimed = await claim(store, { runs: 1, nonce, queues: ['default', 'other'] })
        taken.push(...idsOf(claimed.runs))
      }
      same(taken, ['d', 'c', 'b', 'a'], 'the order')
    },
  },
  {
    name: 'a long line of runs of one name does not starve another; each is in order',
    async run({ store, clock }) {
      await openSession(store)
      const many = numbered('many', 60)
      for (const id of many) {
        await store.create([newRun(id, { name: 'many' })])
        await clock.advance(1)
      }
      await store.create([newRun('one', { name: 'one' })])
      const taken: string[] = []
      for (let nonce = 1; nonce <= 40; nonce++)
        taken.push(...idsOf((await claim(store, { runs: 1, nonce: nonce * 7_919 })).runs))
      holds(taken.includes('one'), 'it had its turn')
      const rest = taken.filter((id) => id !== 'one')
      same(rest, many.slice(0, rest.length), 'the line moved in its order')
    },
  },
  {
    name: 'a long line of tasks of one name does not starve another',
    async run({ store, clock }) {
      await openSession(store)
      const lease = await hold(store, 'run')
      const tasks = numbered('many', 60).map((id) => newTask(id, { name: 'many' }))
      await apply(store, turn(lease, { tasks }))
      await clock.advance(10)
      await apply(store, turn(lease, { seq: 1, tasks: [newTask('one', { name: 'one' })] }))
      const taken: string[] = []
      for (let nonce = 1; nonce <= 40; nonce++) {
        const claimed = await claim(store, {
          runs: 0,
          tasks: 1,
          nonce: nonce * 7_919,
          held: ['run'],
        })
        taken.push(...claimed.tasks.map(({ taskId }) => taskId))
      }
      holds(taken.includes('one'), 'it had its turn')
    },
  },
  {
    name: 'a claim takes no more than it asks for',
    async run({ store }) {
      await openSession(store)
      await store.create(numbered('run', 20).map((id) => newRun(id)))
      same((await claim(store, { runs: 0 })).runs.length, 0, 'of none')
      same((await claim(store, { runs: 7 })).runs.length, 7, 'of seven')
      same((await claim(store, { runs: 100 })).runs.length, 13, 'of a hundred')
      same((await claim(store, { runs: 100 })).runs.length, 0, 'when there are none left')
    },
  },
  {
    name: 'INV8: a released run is claimed when it is due, not a millisecond before',
    async run({ store, clock }) {
      const run = await hold(store)
      await release(store, run, clock.now() + 500)
      await clock.advance(499)
      same((await claim(store)).runs.length, 0, 'a millisecond too early')
      await clock.advance(1)
      await take(store, 'run')
    },
  },
  {
    name: 'a run released as running with a time that has come is due at once',
    async run({ store, clock }) {
      const run = await hold(store)
      const next = { type: 'release', status: 'running', wakeAt: clock.now() } as const
      await apply(store, turn(run, { next }))
      same((await snapshot(store, 'run')).status, 'running', 'the status')
      await take(store, 'run')
    },
  },
  {
    name: 'a run that waits for messages only is never due by time',
    async run({ store, clock }) {
      await release(store, await hold(store))
      await clock.advance(100 * 86_400_000)
      await openSession(store, BOB)
      same((await claim(store, {}, BOB)).runs.length, 0, 'after a hundred days')
    },
  },
  {
    name: 'the answer carries the time of the store',
    async run({ store, clock }) {
      await openSession(store)
      await clock.advance(1_234)
      same((await claim(store)).now, clock.now(), 'the time')
    },
  },
]

const nextDue: readonly Case[] = [
  {
    name: 'nextDue is absent when nothing is going to be due',
    async run({ store }) {
      await release(store, await hold(store))
      same((await claim(store)).nextDue, undefined, 'when it waits for a message')
    },
  },
  {
    name: 'nextDue is the earliest time in these queues and names',
    async run({ store, clock }) {
      await openSession(store)
      const now = clock.now()
      await store.create([
        newRun('far', { delayMs: 300 }),
        newRun('near', { delayMs: 200 }),
        newRun('elsewhere', { delayMs: 100, queue: 'x' }),
        newRun('unknown', { delayMs: 50, name: 'unknown' }),
      ])
      same((await claim(store, { workflows: ['order'] })).nextDue, now + 200, 'when it is due')
      await clock.advance(200)
      const later = await claim(store, { workflows: ['order'] })
      same([idsOf(later.runs), later.nextDue], [['near'], now + 300], 'when the first has come')
    },
  },
  {
    name: 'nextDue counts tasks that wait for another attempt',
    async run({ store, clock }) {
      const run = await hold(store)
      await apply(store, turn(run, { tasks: [newTask('t')], next: released() }))
      const task = only((await claim(store)).tasks, 'claimed tasks')
      const { taskId, lease } = task
      const result = { type: 'retry', delayMs: 700, failed: 1, failure: '{}' } as const
      await store.settle([{ taskId, lease, result }])
      same((await claim(store)).nextDue, clock.now() + 700, 'when the attempt is due')
      same((await claim(store, { activities: [] })).nextDue, undefined, 'for whom it is not')
    },
  },
  {
    name: 'nextLate is no later than the end of another session that holds work, and nextDue is something else',
    async run({ store, clock }) {
      await hold(store, 'run', {}, BOB)
      await store.renew(beat(BOB, { beat: 2, ttlMs: 5_000 }))
      await openSession(store)
      const { nextLate, nextDue } = await claim(store)
      holds(present(nextLate, 'nextLate') <= clock.now() + 5_000, 'its work is due when it dies')
      same(nextDue, undefined, 'which is not known yet')
    },
  },
]

const leases: readonly Case[] = [
  {
    name: 'the epoch grows with every grant; deliveries count from the last release',
    async run({ store }) {
      const first = await hold(store)
      same(first.deliveries, 1, 'the first delivery')
      await release(store, first)
      await store.post([postTo('run', 'm1')])
      const second = await take(store, 'run')
      same(second.deliveries, 1, 'after a release')
      holds(second.lease.epoch > first.lease.epoch, 'the epoch grows')
      await store.renew(beat(ALICE, { close: true, beat: 2 }))
      await openSession(store, BOB)
      const third = await take(store, 'run', BOB)
      holds(third.lease.epoch > second.lease.epoch, 'the epoch grows')
      same([third.lease.session, (await snapshot(store, 'run')).session], [BOB, BOB], 'the holder')
    },
  },
  {
    name: 'H2: what comes with the claim was read after the grant: messages, events and all',
    async run({ store, other }) {
      const elsewhere = await other()
      const run = await hold(store)
      await store.post([postTo('run', 'm1'), postTo('run', 'm2')])
      await apply(store, turn(run, { consumed: ['m1'], count: 2, next: released() }))
      await openSession(store, BOB)
      const claimed = only((await elsewhere.claim(request(BOB))).runs, 'claimed runs')
      same([claimed.seq, messageIds(claimed.messages)], [2, ['m2']], 'what is read')
      same((await history(elsewhere, 'run')).length, 1, 'the turns')
    },
  },
  {
    name: 'H2: a run that changes holders never shows a message that was consumed',
    async run({ store, other }) {
      const stores = [store, await other()]
      await openSession(store)
      await openSession(store, BOB)
      await store.create([newRun('run')])
      const sent = numbered('m', 30)
      const seen: string[] = []
      const work = async (session: number): Promise<void> => {
        const mine = stores[session - ALICE] ?? store
        for (const run of (await mine.claim(request(session))).runs) {
          const consumed = messageIds(run.messages)
          const answer = await commit(mine, turn(run, { consumed, next: released() }))
          holds(answer.outcome === 'applied', `a lease in force is ${answer.outcome}`)
          seen.push(...consumed)
        }
      }
      for (const id of sent) {
        await Promise.all([store.post([postTo('run', id)]), work(ALICE), work(BOB)])
      }
      await work(ALICE)
      same(seen.sort(), sent, 'each message once')
    },
  },
  {
    name: 'seq is that of the last release; history may reach further when a holder died',
    async run({ store }) {
      const run = await hold(store)
      await release(store, run)
      await store.post([postTo('run', 'm1')])
      const second = await take(store, 'run')
      same(second.seq, 1, 'at the last release')
      await apply(store, turn(second, { count: 2, consumed: ['m1'] }))
      await store.renew(beat(ALICE, { close: true, beat: 2 }))
      await openSession(store, BOB)
      same((await take(store, 'run', BOB)).seq, 1, 'still that of the last release')
      const turns = await history(store, 'run')
      same(
        turns.map((each) => [each.seq, each.count]),
        [
          [0, 1],
          [1, 2],
        ],
        'history has what the first holder wrote',
      )
    },
  },
  {
    name: 'a claim by a session that was never opened is dead, and grants nothing',
    async run({ store }) {
      await store.create([newRun('run')])
      const { dead, runs, tasks, news } = await claim(store)
      same([dead, runs, tasks, news], [true, [], [], []], 'the answer')
      await openSession(store)
      same((await take(store, 'run')).deliveries, 1, 'nothing was charged')
    },
  },
  {
    name: 'INV12: a run that has ended is never claimed again',
    async run({ store, clock }) {
      const run = await hold(store)
      await apply(store, turn(run, { next: ended }))
      await store.post([{ ...postTo('run', 'm1'), urgent: true }])
      await clock.advance(1_000)
      const everything: Partial<ClaimRequest> = { suspects: 10, build: 'another' }
      same((await claim(store, everything)).runs.length, 0, 'claimed runs')
    },
  },
]

const races: readonly Case[] = [
  {
    name: 'INV5: claims from two handles at the same time never share a run, and miss none',
    async run({ store, other }) {
      const elsewhere = await other()
      for (const session of [ALICE, BOB, CAROL]) await openSession(store, session)
      const ids = numbered('run', 90)
      await store.create(ids.map((id) => newRun(id)))
      const claims = await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          (index % 2 === 0 ? store : elsewhere).claim(request(ALICE + (index % 3), { runs: 8 })),
        ),
      )
      const taken = claims.flatMap((each) => idsOf(each.runs))
      same(new Set(taken).size, taken.length, 'no run is given twice')
      const left = idsOf((await claim(store, { runs: 100 })).runs)
      same([...taken, ...left].sort(), ids, 'every run is given once')
    },
  },
  {
    name: 'INV5: claims of tasks from two handles at the same time never share one',
    async run({ store, other }) {
      const elsewhere = await other()
      const run = await hold(store)
      await openSession(store, BOB)
      const ids = numbered('task', 60)
      await apply(store, turn(run, { tasks: ids.map((id) => newTask(id)), next: released() }))
      const claims = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          (index % 2 === 0 ? store : elsewhere).claim(request(ALICE + (index % 2), { tasks: 5 })),
        ),
      )
      const taken = claims.flatMap((each) => each.tasks.map((task) => task.taskId))
      same(new Set(taken).size, taken.length, 'no task is given twice')
      const left = (await claim(store, { tasks: 100 })).tasks.map((task) => task.taskId)
      same([...taken, ...left].sort(), ids, 'every task is given once')
    },
  },
]

export const claimCases: readonly Case[] = [...choice, ...nextDue, ...leases, ...races]
