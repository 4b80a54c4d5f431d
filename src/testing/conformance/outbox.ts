// The outbox: what a turn sends to other runs leaves with the turn or not at all, and arrives exactly once, even after
// the sender has ended. A store may deliver later; the next claim by any worker makes it catch up.
import type { NewRun, Outbound, Store } from '../../core/stores/store.ts'
import {
  ALICE,
  apply,
  BOB,
  beat,
  claim,
  commit,
  ended,
  find,
  hold,
  idsOf,
  message,
  messageIds,
  newRun,
  numbered,
  openSession,
  postTo,
  release,
  released,
  snapshot,
  sweep,
  take,
  turn,
} from './builders.ts'
import type { Case } from './case.ts'
import { present, same } from './check.ts'

function start(runId: string, overrides: Partial<NewRun> = {}): Outbound {
  return { type: 'start', run: newRun(runId, overrides), otherwise: message(`refused:${runId}`) }
}

function send(runId: string, id: string): Outbound {
  return { type: 'post', ...postTo(runId, id) }
}

async function named(store: Store, workflowId: string): Promise<unknown> {
  const [answer] = await store.load([{ type: 'named', workflowId }])
  return answer
}

const starts: readonly Case[] = [
  {
    name: 'INV10: a turn starts a child, which knows its parent, and can be claimed',
    async run({ store }) {
      const run = await hold(store)
      const parent = { runId: 'run', generation: 1, key: 'step "ü"#1' }
      const about = { priority: 4, extras: '"m"', name: 'ship', workflowId: 'w' }
      const child = start('child', { parent, ...about })
      await apply(store, turn(run, { outbox: [child], next: released() }))
      await sweep(store)
      const claimed = await take(store, 'child')
      same(claimed.head.parent, parent, 'the parent')
      same([claimed.head.priority, claimed.head.name], [4, 'ship'], 'the head')
      same(await named(store, 'w'), { type: 'named', runId: 'child' }, 'its workflow id')
    },
  },
  {
    name: 'INV10: a turn sent again starts its children once',
    async run({ store }) {
      const run = await hold(store)
      const one = turn(run, { outbox: [start('a'), start('b')] })
      await apply(store, one)
      await commit(store, one)
      await sweep(store)
      await commit(store, one)
      await sweep(store)
      same((await store.list({ limit: 10, count: true })).count, 3, 'runs')
      same(idsOf((await claim(store)).runs).sort(), ['a', 'b'], 'claimed runs')
      same((await snapshot(store, 'run')).unread, 0, 'nothing comes back')
    },
  },
  {
    name: 'H16: a child that is there already, with the same input, is left as it is',
    async run({ store }) {
      const run = await hold(store)
      await store.create([newRun('child', { priority: 1 })])
      const outbox = [start('child', { reuse: 'reject', priority: 9 })]
      await apply(store, turn(run, { outbox, next: released() }))
      await sweep(store)
      same((await snapshot(store, 'child')).head.priority, 1, 'the first one stays')
      same((await snapshot(store, 'run')).unread, 0, 'nothing comes back')
    },
  },
  {
    name: 'INV13: a child that is refused is answered to the sender, and wakes it',
    async run({ store }) {
      await store.create([newRun('taken', { workflowId: 'w', queue: 'quiet' })])
      const run = await hold(store)
      const outbox = [start('child', { workflowId: 'w', reuse: 'reject' }), start('fine')]
      await apply(store, turn(run, { outbox, next: released() }))
      await sweep(store)
      same(await find(store, 'child'), undefined, 'the child')
      const { runs } = await claim(store)
      same(idsOf(runs).sort(), ['fine', 'run'], 'who is woken')
      const sender = present(
        runs.find((each) => each.head.runId === 'run'),
        'the sender',
      )
      same(messageIds(sender.messages), ['refused:child'], 'the messages')
    },
  },
  {
    name: 'the answer to a refused child comes once, though the turn is sent again',
    async run({ store }) {
      await store.create([newRun('taken', { workflowId: 'w', queue: 'quiet' })])
      const run = await hold(store)
      const one = turn(run, { outbox: [start('child', { workflowId: 'w', reuse: 'reject' })] })
      await apply(store, one)
      await commit(store, one)
      await sweep(store)
      await commit(store, one)
      await sweep(store)
      same((await snapshot(store, 'run')).unread, 1, 'unread messages')
    },
  },
  {
    name: 'INV8: a child with a delay is claimed after it',
    async run({ store, clock }) {
      const run = await hold(store)
      const outbox = [start('child', { delayMs: 1_000 })]
      await apply(store, turn(run, { outbox, next: released() }))
      await sweep(store)
      await clock.advance(999)
      same((await claim(store)).runs, [], 'a millisecond too early')
      await clock.advance(1)
      await take(store, 'child')
    },
  },
]

const posts: readonly Case[] = [
  {
    name: 'a message of a turn wakes the run it is for',
    async run({ store }) {
      await release(store, await hold(store, 'target'))
      const run = await hold(store)
      await apply(store, turn(run, { outbox: [send('target', 'm1')], next: released() }))
      await sweep(store)
      same(messageIds((await take(store, 'target')).messages), ['m1'], 'the messages')
    },
  },
  {
    name: 'H11: a message of a turn reaches a run that is held as news',
    async run({ store }) {
      const target = await hold(store, 'target')
      const run = await hold(store, 'run', {}, BOB)
      await apply(store, turn(run, { outbox: [send('target', 'm1')], next: released() }))
      await sweep(store, BOB)
      const { news } = await claim(store, { held: [target.head.runId] })
      same(news, [{ runId: 'target', messages: [message('m1')] }], 'the news')
    },
  },
  {
    name: 'INV7: a message of a turn sent again arrives once, and in order',
    async run({ store }) {
      await store.create([newRun('target', { queue: 'quiet' })])
      const run = await hold(store)
      const ids = numbered('m', 20).reverse()
      const one = turn(run, { outbox: ids.map((id) => send('target', id)) })
      await apply(store, one)
      await commit(store, one)
      await sweep(store)
      await commit(store, one)
      await sweep(store)
      const { runs } = await claim(store, { queues: ['quiet'] })
      same(
        runs.map((each) => messageIds(each.messages)),
        [ids],
        'the messages',
      )
    },
  },
  {
    name: 'a redelivered message of a turn does not come back after it was taken',
    async run({ store }) {
      await store.create([newRun('target', { queue: 'quiet' })])
      const run = await hold(store)
      const one = turn(run, { outbox: [send('target', 'm1')] })
      await apply(store, one)
      await sweep(store)
      const [target] = (await claim(store, { queues: ['quiet'] })).runs
      const consumed = ['m1']
      await apply(store, turn(present(target, 'the target'), { consumed, next: released() }))
      await commit(store, one)
      await sweep(store)
      same((await snapshot(store, 'target')).unread, 0, 'unread messages')
    },
  },
  {
    name: 'a message to a run that ended or never was is dropped, and its neighbours arrive',
    async run({ store }) {
      const over = await hold(store, 'over')
      await apply(store, turn(over, { next: ended }))
      await store.create([newRun('target', { queue: 'quiet' })])
      const run = await hold(store)
      const outbox = [send('over', 'm1'), send('ghost', 'm1'), send('target', 'm1')]
      await apply(store, turn(run, { outbox, next: released() }))
      await sweep(store)
      same((await snapshot(store, 'target')).unread, 1, 'unread messages of the target')
      same((await snapshot(store, 'over')).unread, 0, 'unread messages of the ended one')
    },
  },
  {
    name: 'a run may send a message to itself, which wakes it after its release',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { outbox: [send('run', 'm1')], next: released() }))
      await sweep(store)
      same(messageIds((await take(store, 'run')).messages), ['m1'], 'the messages')
    },
  },
  {
    name: 'INV7: a message that a turn takes, and sends to its own run again, comes again',
    async run({ store }) {
      const run = await hold(store)
      await store.post([postTo('run', 'm1'), postTo('run', 'm2')])
      const again = { consumed: ['m1'], outbox: [send('run', 'm1')] }
      await apply(store, turn(run, { ...again, next: released() }))
      await sweep(store)
      same(messageIds((await take(store, 'run')).messages), ['m2', 'm1'], 'the messages')
    },
  },
  {
    name: 'an urgent message of a turn wakes a run whose start lies ahead; an ordinary one does not',
    async run({ store }) {
      const run = await hold(store)
      await store.create([newRun('a', { delayMs: 60_000 }), newRun('b', { delayMs: 60_000 })])
      const urgent: Outbound = { type: 'post', ...postTo('a', 'm1'), urgent: true }
      await apply(store, turn(run, { outbox: [urgent, send('b', 'm1')], next: released() }))
      await sweep(store)
      await take(store, 'a')
    },
  },
]

const endings: readonly Case[] = [
  {
    name: 'H3: what the last turn of a run sends arrives, though the run has ended',
    async run({ store }) {
      await release(store, await hold(store, 'parent'))
      const run = await hold(store)
      const outbox = [send('parent', 'childEnd'), start('next')]
      await apply(store, turn(run, { outbox, next: ended }))
      await store.renew(beat(ALICE, { beat: 2, close: true }))
      await openSession(store, BOB)
      await sweep(store, BOB)
      same(idsOf((await claim(store, {}, BOB)).runs).sort(), ['next', 'parent'], 'who is woken')
    },
  },
  {
    name: 'H3: a claim by another process is enough to deliver',
    async run({ store, other }) {
      await release(store, await hold(store, 'parent'))
      const run = await hold(store)
      await apply(store, turn(run, { outbox: [send('parent', 'm1')], next: ended }))
      const elsewhere = await other()
      await openSession(elsewhere, BOB)
      await sweep(elsewhere, BOB)
      same((await snapshot(elsewhere, 'parent')).unread, 1, 'unread messages')
    },
  },
  {
    name: 'H4: a turn that is fenced or must read more sends nothing',
    async run({ store }) {
      await store.create([newRun('target', { queue: 'quiet' })])
      const run = await hold(store)
      const outbox = [send('target', 'm1'), start('child')]
      await commit(store, turn(run, { outbox, seq: 5 }))
      await store.post([postTo('run', 'm1')])
      await commit(store, turn(run, { outbox, next: ended }))
      await sweep(store)
      same((await snapshot(store, 'target')).unread, 0, 'unread messages')
      same(await find(store, 'child'), undefined, 'the child')
    },
  },
  {
    name: 'two runs that write to each other at the same time both get the message',
    async run({ store, other }) {
      const elsewhere = await other()
      const pairs = numbered('pair', 10)
      for (const session of [ALICE, BOB]) await openSession(store, session)
      await store.create(pairs.flatMap((id) => [newRun(`${id}-a`), newRun(`${id}-b`)]))
      const { runs } = await claim(store, { runs: 20 })
      const turns = runs.map((run) => {
        const { runId } = run.head
        const mate = runId.slice(0, -1) + (runId.endsWith('a') ? 'b' : 'a')
        return turn(run, { outbox: [send(mate, `from ${runId}`)], next: released() })
      })
      const half = (side: string) => turns.filter((one) => one.runId.endsWith(side))
      const answers = await Promise.all([store.commit(half('a')), elsewhere.commit(half('b').reverse())])
      same(new Set(answers.flat().map((each) => each.outcome)), new Set(['applied'] as const), 'answers')
      await sweep(store)
      const woken = await claim(store, { runs: 20 })
      same(woken.runs.map((run) => run.messages.length).join(''), '1'.repeat(20), 'messages')
    },
  },
]

export const outboxCases: readonly Case[] = [...starts, ...posts, ...endings]
