// Messages: accepted once, kept in order, and never lost between a post and the holder of the run.
import {
  ALICE,
  apply,
  BOB,
  claim,
  created,
  ended,
  fresh,
  hold,
  message,
  messageIds,
  newRun,
  numbered,
  openSession,
  postTo,
  release,
  released,
  snapshot,
  take,
  turn,
} from './builders.ts'
import type { Case } from './case.ts'
import { holds, only, outcomes, present, same } from './check.ts'

const answers: readonly Case[] = [
  {
    name: 'INV7: a message is accepted, counted and brought with the claim, body and all',
    async run({ store }) {
      await openSession(store)
      await created(store, newRun('run'))
      same(outcomes(await store.post([postTo('run', 'm1')])), ['accepted'], 'the answer')
      same((await snapshot(store, 'run')).unread, 1, 'unread messages')
      same((await take(store, 'run')).messages, [message('m1')], 'the messages')
    },
  },
  {
    name: 'INV7: the same message again is a duplicate, and the first body stays',
    async run({ store }) {
      await openSession(store)
      await created(store, newRun('run'))
      await store.post([postTo('run', 'm1')])
      const again = { runId: 'run', message: { id: 'm1', body: '"other"' } }
      same(outcomes(await store.post([again])), ['duplicate'], 'the answer')
      same((await take(store, 'run')).messages, [message('m1')], 'the messages')
    },
  },
  {
    name: 'one batch may hold a message twice: the second is a duplicate',
    async run({ store }) {
      await created(store, newRun('run'))
      const batch = [postTo('run', 'm1'), postTo('run', 'm2'), postTo('run', 'm1')]
      same(outcomes(await store.post(batch)), ['accepted', 'accepted', 'duplicate'], 'the answers')
      same((await snapshot(store, 'run')).unread, 2, 'unread messages')
    },
  },
  {
    name: 'the same message id on two runs is two messages',
    async run({ store }) {
      await store.create([newRun('a'), newRun('b')])
      const batch = [postTo('a', 'm1'), postTo('b', 'm1')]
      same(outcomes(await store.post(batch)), ['accepted', 'accepted'], 'the answers')
    },
  },
  {
    name: 'a message to a run that was never created is missing',
    async run({ store }) {
      same(outcomes(await store.post([postTo('nobody', 'm1')])), ['missing'], 'the answer')
    },
  },
  {
    name: 'INV12: a message to a run that has ended is closed, never accepted',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { next: ended }))
      same(outcomes(await store.post([postTo('run', 'm1')])), ['closed'], 'the answer')
      same((await snapshot(store, 'run')).unread, 0, 'unread messages')
    },
  },
  {
    name: 'each element of a batch of posts has its own answer',
    async run({ store }) {
      const over = await hold(store, 'over')
      await apply(store, turn(over, { next: ended }))
      await store.create([newRun('open')])
      const batch = [
        postTo('over', 'm1'),
        postTo('open', 'm1'),
        postTo('nobody', 'm1'),
        postTo('open', 'm1'),
        postTo('open', 'm2'),
      ]
      const expected = ['closed', 'accepted', 'missing', 'duplicate', 'accepted'] as const
      same(outcomes(await store.post(batch)), [...expected], 'the answers in order')
    },
  },
]

const order: readonly Case[] = [
  {
    name: 'messages of a run come in the order they were accepted, over batches and handles',
    async run({ store, other }) {
      await openSession(store)
      const elsewhere = await other()
      await store.create([newRun('run'), newRun('noise', { queue: 'noise' })])
      await store.post([postTo('run', 'z'), postTo('noise', '1'), postTo('run', 'a')])
      await elsewhere.post([postTo('run', 'm'), postTo('noise', '2'), postTo('run', 'b')])
      await store.post([postTo('run', 'c')])
      const { messages } = await take(store, 'run')
      same(messageIds(messages), ['z', 'a', 'm', 'b', 'c'], 'the messages')
    },
  },
  {
    name: 'a hundred messages of one batch keep their order',
    async run({ store }) {
      await openSession(store)
      await created(store, newRun('run'))
      const ids = numbered('m', 100).reverse()
      await store.post(ids.map((id) => postTo('run', id)))
      same(messageIds((await take(store, 'run')).messages), ids, 'the messages')
    },
  },
  {
    name: 'messages posted at the same time from two handles are all there',
    async run({ store, other }) {
      await openSession(store)
      const stores = [store, await other()]
      await created(store, newRun('run'))
      const ids = numbered('m', 40)
      const posted = await Promise.all(ids.map((id, index) => (stores[index % 2] ?? store).post([postTo('run', id)])))
      holds(
        posted.every((each) => only(each, 'answers').outcome === 'accepted'),
        'all are accepted',
      )
      const { messages } = await take(store, 'run')
      same(messageIds(messages).sort(), ids, 'the messages')
    },
  },
  {
    name: 'what is left unread keeps its order when a turn takes some from the middle',
    async run({ store }) {
      const run = await hold(store)
      await store.post(['a', 'b', 'c', 'd'].map((id) => postTo('run', id)))
      await apply(store, turn(run, { consumed: ['c', 'a'], next: released() }))
      same(messageIds((await take(store, 'run')).messages), ['b', 'd'], 'the messages')
    },
  },
]

const wakeUps: readonly Case[] = [
  {
    name: 'INV13: a message makes a waiting run due, also one that waits for a time',
    async run({ store, clock }) {
      await release(store, await hold(store, 'a'))
      await release(store, await hold(store, 'b'), clock.now() + 1_000_000)
      same((await claim(store)).runs.length, 0, 'nothing is due')
      await store.post([postTo('a', 'm1'), postTo('b', 'm1')])
      same((await claim(store)).runs.length, 2, 'both are due')
    },
  },
  {
    name: 'a duplicate of an unread message does not lose the wake-up',
    async run({ store }) {
      await release(store, await hold(store))
      await store.post([postTo('run', 'm1')])
      await store.post([postTo('run', 'm1')])
      same(messageIds((await take(store, 'run')).messages), ['m1'], 'the messages')
    },
  },
  {
    name: 'H11: a message to a held run comes as news to the holder that names the run',
    async run({ store }) {
      await hold(store)
      await store.post([postTo('run', 'm1'), postTo('run', 'm2')])
      const { news, runs } = await claim(store, { held: ['run'] })
      same(runs.length, 0, 'a held run is not granted again')
      same(news, [{ runId: 'run', messages: [message('m1'), message('m2')] }], 'the news')
    },
  },
  {
    name: 'H11: news is brought until a turn takes it, and not after',
    async run({ store }) {
      const run = await hold(store)
      await store.post([postTo('run', 'm1')])
      await claim(store, { held: ['run'] })
      same((await claim(store, { held: ['run'] })).news.length, 1, 'brought again')
      await apply(store, turn(run, { consumed: ['m1'] }))
      same((await claim(store, { held: ['run'] })).news, [], 'taken')
    },
  },
  {
    name: 'news is for the holder only',
    async run({ store }) {
      await hold(store)
      await openSession(store, BOB)
      await store.post([postTo('run', 'm1')])
      same((await claim(store, { held: ['run'] }, BOB)).news, [], 'to another worker')
      same((await claim(store, { held: ['run', 'nobody'] })).news.length, 1, 'to the holder')
    },
  },
  {
    name: 'H11: news comes also with a claim that asks for nothing new',
    async run({ store }) {
      await hold(store)
      await store.post([postTo('run', 'm1')])
      const quiet = { held: ['run'], runs: 0, tasks: 0, queues: [] }
      same((await claim(store, quiet)).news.length, 1, 'the news')
    },
  },
  {
    name: 'H1: a message posted between claim and release makes the released run due at once',
    async run({ store, clock }) {
      const run = await hold(store)
      await store.post([postTo('run', 'm1')])
      await release(store, run, clock.now() + 1_000_000)
      same(messageIds((await take(store, 'run')).messages), ['m1'], 'the message')
    },
  },
  {
    name: 'H1: a message that a holding turn left unread makes the run due when it is released',
    async run({ store }) {
      const run = await hold(store)
      await store.post([postTo('run', 'm1'), postTo('run', 'm2')])
      await apply(store, turn(run, { consumed: ['m1'] }))
      await apply(store, turn(run, { seq: 1, next: released() }))
      same(messageIds((await take(store, 'run')).messages), ['m2'], 'the message')
    },
  },
  {
    name: 'H1: posts racing with releases from another handle are never lost',
    async run({ store, other }) {
      await openSession(store)
      const elsewhere = await other()
      const ids = numbered('run', 30)
      await store.create(ids.map((id) => newRun(id)))
      const { runs } = await claim(store, { runs: 30 })
      same(runs.length, 30, 'claimed runs')
      await Promise.all([
        ...runs.map((run) => store.commit([turn(run, { next: released() })])),
        ...ids.map((id) => elsewhere.post([postTo(id, 'm1')])),
      ])
      const woken = await claim(store, { runs: 30 })
      same(woken.runs.length, 30, 'every run is due')
      holds(
        woken.runs.every((run) => messageIds(run.messages).join() === 'm1'),
        'every run has its message',
      )
    },
  },
  {
    name: 'a message to a run whose creator holds it reaches the creator',
    async run({ store }) {
      await openSession(store)
      const eager = { session: ALICE, nonce: fresh() }
      const answer = await created(store, newRun('run', { eager }))
      holds(answer.outcome === 'created', 'the run is created')
      present(answer.run, 'the lease')
      await store.post([postTo('run', 'm1')])
      same((await claim(store, { held: ['run'] })).news.length, 1, 'the news')
    },
  },
]

export const postCases: readonly Case[] = [...answers, ...order, ...wakeUps]
