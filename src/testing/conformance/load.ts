// Loading single things: exact, in pages where they may be long, and without side effects.
import {
  ALICE,
  apply,
  BOB,
  claim,
  ended,
  find,
  history,
  hold,
  holdTask,
  newRun,
  newTask,
  openSession,
  postTo,
  released,
  snapshot,
  take,
  tasksOf,
  turn,
} from './builders.ts'
import type { Case } from './case.ts'
import { holds, only, same } from './check.ts'

export const loadCases: readonly Case[] = [
  {
    name: 'what does not exist is answered with nothing',
    async run({ store }) {
      const answers = await store.load([
        { type: 'run', runId: 'ghost' },
        { type: 'named', workflowId: 'ghost' },
        { type: 'history', runId: 'ghost', after: 0, turns: 10 },
        { type: 'tasks', runId: 'ghost' },
      ])
      const nothing = [
        { type: 'run' },
        { type: 'named' },
        { type: 'history', turns: [] },
        { type: 'tasks', tasks: [] },
      ] as const
      same(answers, nothing, 'the answers')
    },
  },
  {
    name: 'questions of one load are answered in their order',
    async run({ store }) {
      await store.create([newRun('a', { workflowId: 'w' }), newRun('b')])
      const answers = await store.load([
        { type: 'run', runId: 'b' },
        { type: 'sessions' },
        { type: 'named', workflowId: 'w' },
        { type: 'run', runId: 'ghost' },
        { type: 'run', runId: 'a' },
        { type: 'tasks', runId: 'a' },
        { type: 'history', runId: 'a', after: 0, turns: 1 },
        { type: 'run', runId: 'b' },
      ])
      const told = answers.map((each) => (each.type === 'run' ? (each.run?.head.runId ?? 'none') : each.type))
      const expected = ['b', 'sessions', 'named', 'none', 'a', 'tasks', 'history', 'b']
      same(told, expected, 'the answers')
    },
  },
  {
    name: 'a snapshot tells the truth at every stage of a run',
    async run({ store, clock }) {
      await openSession(store)
      const start = clock.now()
      await store.create([newRun('run')])
      const stage = async () => {
        const { status, session, deliveries, unread, wakeAt, updatedAt } = await snapshot(store, 'run')
        return { status, session, deliveries, unread, wakeAt, updatedAt: updatedAt - start }
      }
      same((await stage()).status, 'pending', 'when created')
      const run = await take(store, 'run')
      const held = await stage()
      same([held.status, held.session, held.deliveries], ['running', ALICE, 1], 'when held')
      await store.post([postTo('run', 'm1')])
      same((await stage()).unread, 1, 'when a message came')
      await clock.advance(10)
      await apply(store, turn(run, { consumed: ['m1'], next: released(start + 500) }))
      same(
        await stage(),
        {
          status: 'waiting',
          session: undefined,
          deliveries: 0,
          unread: 0,
          wakeAt: start + 500,
          updatedAt: 10,
        },
        'when it waits',
      )
    },
  },
  {
    name: 'a snapshot carries the time of the store, and a run that only waits has no time',
    async run({ store, clock }) {
      const run = await hold(store)
      await apply(store, turn(run, { next: released() }))
      await clock.advance(77)
      const waiting = await snapshot(store, 'run')
      same(waiting.now, clock.now(), 'the time')
      holds(!('wakeAt' in waiting), 'there is no time it waits for')
    },
  },
  {
    name: 'a write is seen by the next read, also through another handle',
    async run({ store, other }) {
      const elsewhere = await other()
      const run = await hold(store)
      await apply(store, turn(run, { next: released() }))
      same((await history(elsewhere, 'run')).length, 1, 'turns')
      same((await snapshot(elsewhere, 'run')).status, 'waiting', 'the status')
    },
  },
  {
    name: 'the newest run of a workflow id is found by it',
    async run({ store }) {
      await store.create([newRun('z', { workflowId: 'w' })])
      await store.create([newRun('a', { workflowId: 'w' }), newRun('other')])
      const answer = await store.load([{ type: 'named', workflowId: 'w' }])
      same(answer, [{ type: 'named', runId: 'a' }], 'the newest')
    },
  },
  {
    name: 'history comes in pages that join without a gap',
    async run({ store }) {
      const run = await hold(store)
      let seq = 0
      for (let number = 0; number < 9; number++) {
        const count = 1 + (number % 3)
        await apply(store, turn(run, { seq, count }))
        seq += count
      }
      const pages: number[][] = []
      for (let after = 0; pages.length < 10; ) {
        const page = await history(store, 'run', after, 4)
        const last = page.at(-1)
        if (!last) break
        pages.push(page.map((each) => each.seq))
        after = last.seq + last.count
      }
      same(pages, [[0, 1, 3, 6], [7, 9, 12, 13], [15]], 'the pages')
      same(
        (await history(store, 'run', 7, 1)).map((each) => each.seq),
        [7],
        'from the middle',
      )
    },
  },
  {
    name: 'history is read backwards in pages that join without a gap, also that of a run that has ended',
    async run({ store }) {
      for (const end of [released(), ended]) {
        const runId = `run-${end.type}`
        const run = await hold(store, runId)
        for (let seq = 0; seq < 9; seq += 3) await apply(store, turn(run, { seq, count: 3 }))
        await apply(store, turn(run, { seq: 9, count: 1, next: end }))
        const read = async (before: number, turns: number, after = 0): Promise<number[]> => {
          const loaded = only(await store.load([{ type: 'history', runId, after, before, turns }]), 'answers')
          holds(loaded.type === 'history', 'a question about history is answered with history')
          return loaded.turns.map(({ seq }) => seq)
        }
        same(await read(Number.MAX_SAFE_INTEGER, 3), [3, 6, 9], 'the newest, in order')
        same(await read(3, 3), [0], 'the page before')
        same(await read(4, 1), [3], 'the turn in which an event is')
        same(await read(9, 9, 3), [3, 6], 'between two numbers')
        same(await read(0, 9), [], 'before the first')
        same(await history(store, runId, Number.MAX_SAFE_INTEGER), [], 'after the last')
      }
    },
  },
  {
    name: 'the history of a run is its own',
    async run({ store }) {
      const a = await hold(store, 'a')
      const b = await hold(store, 'b')
      await apply(store, turn(a, { body: '"of a"' }))
      await apply(store, turn(b, { body: '"of b"' }))
      same(only(await history(store, 'a'), 'turns').body, '"of a"', 'of a')
      same(only(await history(store, 'b'), 'turns').body, '"of b"', 'of b')
    },
  },
  {
    name: 'INV3: a prefix of history never changes, and names the epoch that wrote it',
    async run({ store }) {
      const first = await hold(store)
      await apply(store, turn(first, { next: released() }))
      const prefix = await history(store, 'run')
      await store.post([postTo('run', 'm1')])
      const second = await take(store, 'run')
      await apply(store, turn(second, { consumed: ['m1'] }))
      const whole = await history(store, 'run')
      same(whole.slice(0, 1), [...prefix], 'the prefix')
      const { epoch } = second.lease
      same([whole.length, whole.at(-1)?.epoch], [2, epoch], 'the rest')
    },
  },
  {
    name: 'the tasks of a run are loaded whether they are held or not, and no others',
    async run({ store }) {
      await holdTask(store, 't1')
      const other = await hold(store, 'other')
      await apply(store, turn(other, { tasks: [newTask('t2')] }))
      const [mine, theirs] = [await tasksOf(store, 'run'), await tasksOf(store, 'other')]
      same([only(mine, 'tasks').taskId, only(mine, 'tasks').session], ['t1', ALICE], 'its task')
      const { taskId, session } = only(theirs, 'tasks')
      same([taskId, session], ['t2', undefined], 'the other task')
    },
  },
  {
    name: 'INV21: reading changes nothing',
    async run({ store, clock }) {
      await openSession(store, ALICE, 1_000)
      await store.create([newRun('run')])
      await store.post([postTo('run', 'm1')])
      await take(store, 'run')
      await clock.advance(5_000)
      const before = await snapshot(store, 'run')
      await history(store, 'run')
      await tasksOf(store, 'run')
      await store.list({ limit: 10 })
      same(await find(store, 'run'), before, 'the state')
      same(before.session, ALICE, 'only a claim frees what the dead held')
      await openSession(store, BOB)
      await claim(store, {}, BOB)
      same((await claim(store)).dead, true, 'the claim')
    },
  },
]
