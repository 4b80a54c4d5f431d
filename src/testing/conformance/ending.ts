// Ending a run: only after it has consumed all its messages, and for good.
import { ENDED } from '../../core/kernel/run.ts'
import type { Next } from '../../core/stores/store.ts'
import {
  ALICE,
  apply,
  beat,
  claim,
  commit,
  created,
  done,
  ended,
  find,
  history,
  hold,
  holdTask,
  message,
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
import { holds, outcomes, same } from './check.ts'

export const endingCases: readonly Case[] = [
  ...ENDED.map((status) => ({
    name: `a run ends as ${status}, and its last turn is kept with it`,
    async run({ store, clock }: Parameters<Case['run']>[0]) {
      const run = await hold(store)
      await apply(store, turn(run))
      await clock.advance(50)
      const last = turn(run, { seq: 1, next: { type: 'end', status } })
      await apply(store, last)
      const ending = await snapshot(store, 'run')
      same(
        [ending.status, ending.endedAt, ending.last, ending.wakeAt, ending.session],
        [status, clock.now(), last.body, undefined, undefined],
        'the state',
      )
    },
  })),
  {
    name: 'a run that has not ended has no end and no last turn',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { next: released() }))
      const open = await snapshot(store, 'run')
      holds(!('endedAt' in open) && !('last' in open), 'absent fields stay absent')
    },
  },
  {
    name: 'H4: an ending turn is answered with the messages it has not taken, in order',
    async run({ store }) {
      const run = await hold(store)
      await store.post([postTo('run', 'm1'), postTo('run', 'm2'), postTo('run', 'm3')])
      const answer = await commit(store, turn(run, { consumed: ['m2'], next: ended }))
      const messages = [message('m1'), message('m3')]
      same(answer, { outcome: 'more', messages }, 'the answer')
    },
  },
  {
    name: 'H4: after more nothing was written and the lease is still good',
    async run({ store }) {
      const run = await hold(store)
      await store.post([postTo('run', 'm1'), postTo('run', 'm2')])
      const child = { type: 'start', run: newRun('child'), otherwise: message('no') } as const
      const last = turn(run, {
        consumed: ['m1'],
        outbox: [child],
        tasks: [newTask('t')],
        next: ended,
      })
      same((await commit(store, last)).outcome, 'more', 'the answer')
      await sweep(store)
      const { status, unread, session } = await snapshot(store, 'run')
      same([status, unread, session], ['running', 2, ALICE], 'the state')
      same(await history(store, 'run'), [], 'history')
      same(await tasksOf(store, 'run'), [], 'tasks')
      same(await find(store, 'child'), undefined, 'the child')
      await apply(store, { ...last, consumed: ['m1', 'm2'] })
      same((await snapshot(store, 'run')).status, 'completed', 'the status then')
    },
  },
  {
    name: 'H4: a message posted after the turn was decided is not lost to the ending',
    async run({ store, other }) {
      const run = await hold(store)
      const last = turn(run, { next: ended })
      same(outcomes(await (await other()).post([postTo('run', 'm1')])), ['accepted'], 'the post')
      same((await commit(store, last)).outcome, 'more', 'the answer')
      await apply(store, { ...last, consumed: ['m1'] })
    },
  },
  {
    name: 'H4: posts racing with endings are either accepted and seen, or closed',
    async run({ store, other }) {
      await openSession(store)
      const elsewhere = await other()
      const ids = Array.from({ length: 30 }, (_, index) => `run-${index}`)
      await store.create(ids.map((id) => newRun(id)))
      const { runs } = await claim(store, { runs: 30 })
      const endings = runs.map(async (run) => {
        const answer = await commit(store, turn(run, { next: ended }))
        return [run.head.runId, answer.outcome] as const
      })
      const posts = ids.map(async (id) => {
        const [posted] = await elsewhere.post([postTo(id, 'm1')])
        return [id, posted?.outcome] as const
      })
      const ending = new Map(await Promise.all(endings))
      for (const [id, posted] of await Promise.all(posts)) {
        const expected = ending.get(id) === 'more' ? 'accepted' : 'closed'
        same(posted, expected, `the post to a run whose ending was ${ending.get(id)}`)
      }
    },
  },
  {
    name: 'H4: an ending turn that releases nothing unread still ends with tasks open or dropped',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { tasks: [newTask('t')] }))
      await apply(store, turn(run, { seq: 1, dropped: ['t'], next: ended }))
      same(await tasksOf(store, 'run'), [], 'tasks')
      same((await claim(store)).tasks, [], 'claimed tasks')
    },
  },
  {
    name: 'INV12: after the end every other turn is fenced, and the end stays as it was',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { next: ended }))
      const before = await snapshot(store, 'run')
      const nexts: Next[] = [
        { type: 'hold' },
        released(),
        { type: 'end', status: 'failed' },
        { type: 'pause', build: 'b', failure: '{}' },
      ]
      for (const next of nexts) {
        const answer = await commit(store, turn(run, { seq: 1, next }))
        same(answer, { outcome: 'fenced' }, `the answer to a turn that would ${next.type}`)
      }
      same(await snapshot(store, 'run'), before, 'the state')
    },
  },
  {
    name: 'INV12: a late result of a task does not change a run that has ended',
    async run({ store }) {
      const task = await holdTask(store)
      await store.post([postTo('run', 'm1')])
      const run = await take(store, 'run')
      await apply(store, turn(run, { consumed: ['m1'], next: ended }))
      const before = await snapshot(store, 'run')
      await store.settle([done(task)])
      same(await snapshot(store, 'run'), before, 'the state')
      same((await claim(store)).tasks, [], 'the task is not given out again')
    },
  },
  {
    name: 'INV12: the death or the end of its last holder does not wake a run that has ended',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { next: ended }))
      await store.renew(beat(ALICE, { beat: 2, close: true }))
      await openSession(store, ALICE + 9)
      same((await claim(store, { suspects: 9 }, ALICE + 9)).runs, [], 'claimed runs')
      same((await created(store, newRun('run'))).outcome, 'existing', 'its id is taken')
    },
  },
]
