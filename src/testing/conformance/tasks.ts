// Tasks: created with a turn, leased like runs, settled once; their results go to the run in the same write.
import {
  ALICE,
  apply,
  BOB,
  claim,
  dieHolding,
  done,
  hold,
  holdTask,
  holdTasks,
  message,
  messageIds,
  newTask,
  openSession,
  postTo,
  released,
  request,
  retried,
  returned,
  snapshot,
  take,
  tasksOf,
  turn,
} from './builders.ts'
import type { Case } from './case.ts'
import { holds, only, outcomes, same } from './check.ts'

const claiming: readonly Case[] = [
  {
    name: 'a task is inserted with its turn, and claimed with its body',
    async run({ store, clock }) {
      const run = await hold(store)
      await apply(store, turn(run, { tasks: [newTask('t')], next: released() }))
      const { taskId, name, queue, availableAt, failed, deliveries } = only(await tasksOf(store, 'run'), 'tasks')
      same(
        [taskId, name, queue, availableAt, failed, deliveries],
        ['t', 'charge', 'default', clock.now(), 0, 0],
        'the task before',
      )
      const nonce = BOB
      const claimed = only((await store.claim(request(ALICE, { nonce }))).tasks, 'claimed tasks')
      const lease = { session: ALICE, epoch: claimed.lease.epoch, nonce }
      const expected = { taskId: 't', runId: 'run', name: 'charge', body: newTask('t').body }
      same(claimed, { ...expected, lease, failed: 0, deliveries: 1 }, 'the claimed task')
      same(only(await tasksOf(store, 'run'), 'tasks').session, ALICE, 'its holder')
    },
  },
  {
    name: 'tasks are claimed by queue and by name of the activity; null means any',
    async run({ store }) {
      const run = await hold(store)
      const tasks = [
        newTask('a', { queue: 'x' }),
        newTask('b', { name: 'refund' }),
        newTask('c', { queue: 'x', name: 'refund' }),
      ]
      await apply(store, turn(run, { tasks, next: released() }))
      const taken = async (overrides: Parameters<typeof request>[1]): Promise<string[]> =>
        (await claim(store, overrides)).tasks.map((task) => task.taskId).sort()
      same(await taken({ activities: [] }), [], 'with no code')
      same(await taken({ activities: ['charge'] }), [], 'of another queue')
      same(await taken({ queues: ['x'], activities: ['refund'] }), ['c'], 'by both')
      same(await taken({ queues: ['x', 'default'] }), ['a', 'b'], 'with any code')
    },
  },
  {
    name: 'the queue of a task is its own, not that of its run',
    async run({ store }) {
      const run = await hold(store)
      const tasks = [newTask('t', { queue: 'gpu' })]
      await apply(store, turn(run, { tasks, next: released() }))
      same((await claim(store)).tasks, [], 'in the queue of the run')
      same((await claim(store, { queues: ['gpu'] })).tasks.length, 1, 'in its own')
    },
  },
  {
    name: 'tasks come by priority, higher first, then by age, and no more than asked for',
    async run({ store, clock }) {
      const run = await hold(store)
      const turns = [
        newTask('old'),
        newTask('young'),
        newTask('high', { priority: 3 }),
        newTask('low', { priority: -3 }),
      ]
      for (const [seq, task] of turns.entries()) {
        await apply(store, turn(run, { seq, tasks: [task] }))
        await clock.advance(10)
      }
      same((await claim(store, { tasks: 0 })).tasks, [], 'of none')
      const taken: string[] = []
      for (let round = 0; round < 4; round++) {
        const { tasks } = await claim(store, { tasks: 1 })
        taken.push(...tasks.map((task) => task.taskId))
      }
      same(taken, ['high', 'old', 'young', 'low'], 'the order')
    },
  },
  {
    name: 'tasks of a run may be claimed while the run is held',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { tasks: [newTask('t')] }))
      await openSession(store, BOB)
      same((await claim(store, {}, BOB)).tasks.length, 1, 'by another worker')
    },
  },
]

const settling: readonly Case[] = [
  {
    name: 'a result wakes the run it belongs to, with the message, and the task is gone',
    async run({ store }) {
      const task = await holdTask(store)
      same((await claim(store)).runs, [], 'the run waits')
      same(outcomes(await store.settle([done(task, 'm1')])), ['applied'], 'the answer')
      same((await take(store, 'run')).messages, [message('m1')], 'the message')
      same(await tasksOf(store, 'run'), [], 'tasks')
    },
  },
  {
    name: 'a result for a run that is held comes as news',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { tasks: [newTask('t')] }))
      const task = only((await claim(store)).tasks, 'claimed tasks')
      await store.settle([done(task, 'm1')])
      const { news } = await claim(store, { held: ['run'] })
      same(messageIds(only(news, 'news').messages), ['m1'], 'the messages')
    },
  },
  {
    name: 'INV15: a result sent again is handed over once',
    async run({ store }) {
      const task = await holdTask(store)
      await store.settle([done(task)])
      same(outcomes(await store.settle([done(task)])), ['fenced'], 'the second answer')
      same((await snapshot(store, 'run')).unread, 1, 'unread messages')
      const run = await take(store, 'run')
      await apply(store, turn(run, { consumed: messageIds(run.messages), next: released() }))
      await store.settle([done(task)])
      same((await snapshot(store, 'run')).unread, 0, 'also after it was taken')
    },
  },
  {
    name: 'one batch may hold a result twice: it is handed over once',
    async run({ store }) {
      const task = await holdTask(store)
      same(outcomes(await store.settle([done(task), done(task)])), ['applied', 'fenced'], 'answers')
      same((await snapshot(store, 'run')).unread, 1, 'unread messages')
    },
  },
  {
    name: 'INV14: another attempt comes after its delay, counted as failed and not as delivered',
    async run({ store, clock }) {
      const task = await holdTask(store)
      same(outcomes(await store.settle([retried(task, 800)])), ['applied'], 'the answer')
      const waiting = only(await tasksOf(store, 'run'), 'tasks')
      same(
        [waiting.availableAt, waiting.failed, waiting.failure, waiting.session],
        [clock.now() + 800, 1, '{"message":"declined"}', undefined],
        'the waiting task',
      )
      await clock.advance(799)
      same((await claim(store)).tasks, [], 'a millisecond too early')
      await clock.advance(1)
      const again = only((await claim(store)).tasks, 'claimed tasks')
      same([again.failed, again.deliveries, again.body], [1, 1, task.body], 'the next attempt')
      holds(again.lease.epoch > task.lease.epoch, 'the epoch grows')
      same((await snapshot(store, 'run')).unread, 0, 'the run is not told')
    },
  },
  {
    name: 'a task that is returned unused is there at once, and not charged',
    async run({ store }) {
      const task = await holdTask(store)
      same(outcomes(await store.settle([returned(task)])), ['applied'], 'the answer')
      const again = only((await claim(store)).tasks, 'claimed tasks')
      same([again.failed, again.deliveries], [0, 1], 'the next attempt')
    },
  },
  {
    name: 'INV14: a task whose holder died is granted again, and the death is charged',
    async run(fixture) {
      const { store } = fixture
      const run = await hold(store)
      await apply(store, turn(run, { tasks: [newTask('t')], next: released() }))
      const first = only((await dieHolding(fixture)).tasks, 'claimed tasks')
      const second = only((await claim(store)).tasks, 'claimed tasks')
      same([first.deliveries, second.deliveries, second.failed], [1, 2, 0], 'deliveries')
      await store.settle([returned(second)])
      same(only((await claim(store)).tasks, 'tasks').deliveries, 2, 'after it was returned')
    },
  },
]

const fencing: readonly Case[] = [
  {
    name: 'INV5: an outcome with the session, epoch or nonce of another lease is fenced',
    async run({ store }) {
      const task = await holdTask(store)
      const { session, epoch, nonce } = task.lease
      const wrong = [
        { session: BOB, epoch, nonce },
        { session, epoch: epoch + 1, nonce },
        { session, epoch, nonce: nonce + 1 },
      ]
      for (const lease of wrong) {
        for (const outcome of [done, returned, (each: typeof task) => retried(each, 0)]) {
          same(outcomes(await store.settle([outcome({ ...task, lease })])), ['fenced'], 'answer')
        }
      }
      same((await snapshot(store, 'run')).unread, 0, 'unread messages')
      same(outcomes(await store.settle([done(task)])), ['applied'], 'with the lease in force')
    },
  },
  {
    name: 'INV5: an outcome of a holder that died is fenced, and the next one counts',
    async run(fixture) {
      const { store } = fixture
      const run = await hold(store)
      await apply(store, turn(run, { tasks: [newTask('t')], next: released() }))
      const first = only((await dieHolding(fixture)).tasks, 'claimed tasks')
      same(outcomes(await store.settle([done(first, 'm1')])), ['fenced'], 'while nobody has it')
      const second = only((await claim(store)).tasks, 'claimed tasks')
      same(outcomes(await store.settle([done(first, 'm1')])), ['fenced'], 'when another has it')
      same(outcomes(await store.settle([done(second, 'm2')])), ['applied'], 'the other')
      same(messageIds((await take(store, 'run')).messages), ['m2'], 'the messages')
    },
  },
  {
    name: 'an outcome of a task that was returned or retried is fenced',
    async run({ store }) {
      const run = await hold(store)
      const [a, b] = await holdTasks(store, run, [newTask('a'), newTask('b')])
      holds(a !== undefined && b !== undefined, 'two tasks are claimed')
      await store.settle([returned(a), retried(b, 10)])
      same(outcomes(await store.settle([done(a), done(b)])), ['fenced', 'fenced'], 'the answers')
    },
  },
  {
    name: 'a dropped task vanishes: it is not claimed, and its outcome is fenced',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { tasks: [newTask('held'), newTask('free')] }))
      const task = only((await claim(store, { tasks: 1 })).tasks, 'claimed tasks')
      await apply(store, turn(run, { seq: 1, dropped: ['held', 'free', 'ghost'] }))
      same(await tasksOf(store, 'run'), [], 'tasks')
      same((await claim(store)).tasks, [], 'claimed tasks')
      same(outcomes(await store.settle([done(task)])), ['fenced'], 'the answer')
      same((await snapshot(store, 'run')).unread, 0, 'unread messages')
    },
  },
  {
    name: 'neighbours of a fenced outcome in one batch are applied',
    async run({ store }) {
      const run = await hold(store)
      const tasks = await holdTasks(store, run, [newTask('a'), newTask('b'), newTask('c')])
      const batch = tasks.map((task, index) =>
        index === 1 ? done({ ...task, lease: { ...task.lease, nonce: 7 } }) : done(task),
      )
      same(outcomes(await store.settle(batch)), ['applied', 'fenced', 'applied'], 'the answers')
      same((await snapshot(store, 'run')).unread, 2, 'unread messages')
    },
  },
  {
    name: 'H1: a result settled between claim and release makes the released run due at once',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { tasks: [newTask('t')] }))
      const task = only((await claim(store)).tasks, 'claimed tasks')
      await store.settle([done(task, 'm1')])
      await apply(store, turn(run, { seq: 1, next: released() }))
      same(messageIds((await take(store, 'run')).messages), ['m1'], 'the messages')
    },
  },
  {
    name: 'results come in the order they were settled, among other messages',
    async run({ store }) {
      const run = await hold(store)
      const [a, b] = await holdTasks(store, run, [newTask('a'), newTask('b')])
      holds(a !== undefined && b !== undefined, 'two tasks are claimed')
      await store.settle([done(b, 'm1')])
      await store.post([postTo('run', 'm2')])
      await store.settle([done(a, 'm3')])
      same(messageIds((await take(store, 'run')).messages), ['m1', 'm2', 'm3'], 'the messages')
    },
  },
]

export const taskCases: readonly Case[] = [...claiming, ...settling, ...fencing]
