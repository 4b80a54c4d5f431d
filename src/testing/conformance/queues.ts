// What waits for a worker, by queue: for metrics.
import type { QueueSnapshot, Store } from '../../core/stores/store.ts'
import { ALICE, apply, claim, dieHolding, hold, newRun, newTask, openSession, released, turn } from './builders.ts'
import type { Case } from './case.ts'
import { holds, only, same } from './check.ts'

async function queues(store: Store): Promise<readonly QueueSnapshot[]> {
  const loaded = only(await store.load([{ type: 'queues' }]), 'answers to one load')
  holds(loaded.type === 'queues', 'a question about queues is answered with queues')
  return loaded.queues
}

export const queueCases: readonly Case[] = [
  {
    name: 'O7: a queue counts the runs and tasks that are due, and knows the oldest',
    async run({ store, clock }) {
      same(await queues(store), [], 'an empty store')
      const run = await hold(store, 'run', { queue: 'default' })
      const began = clock.now()
      const tasks = [newTask('t', { queue: 'mail' }), newTask('u', { queue: 'mail' })]
      await apply(store, turn(run, { tasks, next: released(began + 60_000) }))
      await clock.advance(1_000)
      await store.create([newRun('a'), newRun('b', { priority: 3 }), newRun('c', { queue: 'mail' })])
      await store.create([newRun('later', { delayMs: 60_000 })])
      const mail = { kind: 'run', queue: 'mail', due: 1, oldest: began + 1_000 } as const
      const expected: QueueSnapshot[] = [
        { kind: 'run', queue: 'default', due: 2, oldest: began + 1_000 },
        mail,
        { kind: 'task', queue: 'mail', due: 2, oldest: began },
      ]
      same(await queues(store), expected, 'what is due')
      await claim(store)
      same(await queues(store), [mail, ...expected.slice(2)], 'what is not held')
    },
  },
  {
    name: 'O7: a paused run waits for no worker, and one whose holder died does',
    async run(fixture) {
      const { store } = fixture
      const run = await hold(store)
      await apply(store, turn(run, { next: { type: 'pause', build: 'build-1', failure: '{}' } }))
      await openSession(store, ALICE)
      same(await queues(store), [], 'a paused run')
      await store.create([newRun('a')])
      await dieHolding(fixture)
      const [queue, ...more] = await queues(store)
      same([queue?.queue, queue?.kind, queue?.due, more.length], ['default', 'run', 1, 0], 'the run of a dead worker')
    },
  },
]
