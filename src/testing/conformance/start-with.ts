// Starts with a message in the same write, and starts that replace the open run of a workflow id.
import type { Created, NewRun, Store } from '../../core/stores/store.ts'
import {
  ALICE,
  apply,
  claim,
  commit,
  created,
  ended,
  find,
  fresh,
  hold,
  idsOf,
  message,
  messageIds,
  newRun,
  openSession,
  pausedBy,
  released,
  snapshot,
  sweep,
  take,
  turn,
} from './builders.ts'
import type { Case } from './case.ts'
import { holds, only, outcomes, present, same } from './check.ts'

/** A start whose message goes to the open run of its workflow id, if there is one. */
function told(runId: string, id: string, overrides: Partial<NewRun> = {}): NewRun {
  const named = { workflowId: 'w', reuse: 'returnExisting' } as const
  return newRun(runId, { ...named, message: message(id), ...overrides })
}

/** A start that terminates the open run of its workflow id. */
function displacing(runId: string, overrides: Partial<NewRun> = {}): NewRun {
  const named = { workflowId: 'w', reuse: 'terminateRunning' } as const
  return newRun(runId, { ...named, displaced: message(`give way to ${runId}`), ...overrides })
}

async function unread(store: Store, runId: string): Promise<number> {
  return (await snapshot(store, runId)).unread
}

const messages: readonly Case[] = [
  {
    name: 'INV7: a message that comes with a start is there when the run is claimed',
    async run({ store, clock }) {
      const answer = await created(store, newRun('run', { message: message('m') }))
      same(answer, { outcome: 'created', now: clock.now() }, 'the answer')
      same(await unread(store, 'run'), 1, 'unread messages')
      await openSession(store)
      same((await take(store, 'run')).messages, [message('m')], 'the messages')
    },
  },
  {
    name: 'a message that comes with an eager start is in the lease',
    async run({ store }) {
      await openSession(store)
      const eager = { session: ALICE, nonce: fresh() }
      const answer = await created(store, newRun('run', { message: message('m'), eager }))
      holds(answer.outcome === 'created', `created, not ${answer.outcome}`)
      const run = present(answer.run, 'the lease')
      same(run.messages, [message('m')], 'the messages')
      const early = turn(run, { next: ended })
      same((await commit(store, early)).outcome, 'more', 'an end that has not taken it')
      await apply(store, turn(run, { consumed: ['m'], next: ended }))
    },
  },
  {
    name: 'H33: an eager start with a message, sent again, answers with the same lease',
    async run({ store }) {
      await openSession(store)
      const eager = { session: ALICE, nonce: fresh() }
      const run = newRun('run', { message: message('m'), eager })
      const first = await created(store, run)
      const second = await created(store, run)
      holds(first.outcome === 'created', `first created, not ${first.outcome}`)
      holds(second.outcome === 'existing', `then existing, not ${second.outcome}`)
      same([second.run, second.posted], [first.run, 'duplicate'], 'the second answer')
    },
  },
  {
    name: 'a start that is sent again tells its message once',
    async run({ store }) {
      const run = newRun('run', { message: message('m') })
      await created(store, run)
      const second = await created(store, run)
      same(second, { outcome: 'existing', runId: 'run', posted: 'duplicate' }, 'the answer')
      same(await unread(store, 'run'), 1, 'unread messages')
    },
  },
  {
    name: 'a message that comes with the id of a run that is there is told to that run',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { next: released() }))
      const second = await created(store, newRun('run', { message: message('m') }))
      same(second, { outcome: 'existing', runId: 'run', posted: 'accepted' }, 'the answer')
      same(messageIds((await take(store, 'run')).messages), ['m'], 'it is woken by it')
    },
  },
  {
    name: 'a message for a run that has ended is not delivered, and the answer says so',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { next: ended }))
      const second = await created(store, newRun('run', { message: message('m') }))
      same(second, { outcome: 'existing', runId: 'run', posted: 'closed' }, 'the answer')
      same(await unread(store, 'run'), 0, 'unread messages')
    },
  },
  {
    name: 'a start that is a conflict or refused does not deliver its message',
    async run({ store }) {
      await created(store, newRun('run', { workflowId: 'w' }))
      const conflict = newRun('run', { workflowId: 'w', digest: 'other', message: message('m') })
      same((await created(store, conflict)).outcome, 'conflict', 'the first answer')
      const refused = told('second', 'm', { reuse: 'reject' })
      const answer = await created(store, refused)
      same(answer, { outcome: 'refused', runId: 'run' }, 'the second answer')
      same(await unread(store, 'run'), 0, 'unread messages')
    },
  },
  {
    name: 'INV7: a message goes to the open run of the workflow id, and wakes it',
    async run({ store }) {
      const run = await hold(store, 'first', { workflowId: 'w' })
      await apply(store, turn(run, { next: released() }))
      const answer = await created(store, told('second', 'm'))
      same(answer, { outcome: 'existing', runId: 'first', posted: 'accepted' }, 'the answer')
      same(await find(store, 'second'), undefined, 'the run that was not needed')
      same(messageIds((await take(store, 'first')).messages), ['m'], 'the message')
    },
  },
  {
    name: 'a message for an open run that is held comes as news to its holder',
    async run({ store, other }) {
      await hold(store, 'first', { workflowId: 'w' })
      const elsewhere = await other()
      same((await created(elsewhere, told('second', 'm'))).outcome, 'existing', 'the answer')
      const { news } = await claim(store, { held: ['first'] })
      same(news, [{ runId: 'first', messages: [message('m')] }], 'the news')
    },
  },
  {
    name: 'a message goes to a new run when the old one has ended, here or in another process',
    async run({ store, other }) {
      const elsewhere = await other()
      const run = await hold(store, 'first', { workflowId: 'w' })
      same((await find(elsewhere, 'first'))?.status, 'running', 'as seen from there')
      await apply(store, turn(run, { next: ended }))
      same((await created(elsewhere, told('second', 'm'))).outcome, 'created', 'the answer')
      same(messageIds((await take(store, 'second')).messages), ['m'], 'the message')
    },
  },
  {
    name: 'a workflow id whose run has ended in another process is free for returnExisting',
    async run({ store, other }) {
      const elsewhere = await other()
      const run = await hold(store, 'first', { workflowId: 'w' })
      same((await find(elsewhere, 'first'))?.status, 'running', 'as seen from there')
      await apply(store, turn(run, { next: ended }))
      const second = newRun('second', { workflowId: 'w', reuse: 'returnExisting' })
      same((await created(elsewhere, second)).outcome, 'created', 'the answer')
    },
  },
  {
    name: 'a message that comes with a start that lies ahead waits with it',
    async run({ store, clock }) {
      await openSession(store)
      await created(store, told('run', 'm1', { delayMs: 1_000 }))
      same((await created(store, told('another', 'm2'))).outcome, 'existing', 'a second message')
      same((await claim(store)).runs, [], 'before its time')
      await clock.advance(1_000)
      same(messageIds((await take(store, 'run')).messages), ['m1', 'm2'], 'the messages')
    },
  },
  {
    name: 'INV7: a message that comes while the run ends is told to it, or to a new one',
    async run({ store, other }) {
      const elsewhere = await other()
      for (let round = 0; round < 15; round++) {
        const workflowId = `w-${round}`
        const run = await hold(store, `first-${round}`, { workflowId })
        const [end, start] = await Promise.all([
          commit(store, turn(run, { next: ended })),
          created(elsewhere, told(`second-${round}`, 'm', { workflowId })),
        ])
        const went = start.outcome === 'existing' ? start.posted : start.outcome
        same(went ?? '', end.outcome === 'applied' ? 'created' : 'accepted', 'where it went')
        if (end.outcome === 'applied') await take(store, `second-${round}`)
        else await apply(store, turn(run, { consumed: ['m'], next: ended }))
      }
    },
  },
  {
    name: 'many starts with messages at the same time make one run that has them all',
    async run({ store, other }) {
      const stores = [store, await other()]
      const ids = Array.from({ length: 10 }, (_, index) => `m${index}`)
      const answers = await Promise.all(
        ids.map((id, index) => created(stores[index % 2] ?? store, told(`run-${index}`, id))),
      )
      same(outcomes(answers).filter((each) => each === 'created').length, 1, 'how many created it')
      same((await store.list({ limit: 5, count: true })).count, 1, 'how many there are')
      await openSession(store)
      const run = only((await claim(store)).runs, 'claimed runs')
      same(messageIds(run.messages).toSorted(), ids, 'the messages')
    },
  },
]

async function giveWay(store: Store, overrides: Partial<NewRun> = {}): Promise<Created> {
  return created(store, displacing('second', overrides))
}

const making: readonly Case[] = [
  {
    name: 'reuse terminateRunning: the open run gets the message to end, and the new run exists',
    async run({ store, clock }) {
      const run = await hold(store, 'first', { workflowId: 'w' })
      await apply(store, turn(run, { next: released() }))
      same(await giveWay(store), { outcome: 'created', now: clock.now() }, 'the answer')
      const named = await store.load([{ type: 'named', workflowId: 'w' }])
      same(named, [{ type: 'named', runId: 'second' }], 'the newest of the workflow id')
      const { runs } = await claim(store)
      const inboxes = new Map(runs.map(({ head, messages: has }) => [head.runId, messageIds(has)]))
      const expected = new Map([
        ['first', ['give way to second']],
        ['second', []],
      ])
      same(inboxes, expected, 'what each was told')
    },
  },
  {
    name: 'reuse terminateRunning: the holder of a run gets it as news',
    async run({ store }) {
      await hold(store, 'first', { workflowId: 'w' })
      await giveWay(store)
      const { news } = await claim(store, { held: ['first'], runs: 0 })
      same(
        news.flatMap((each) => messageIds(each.messages)),
        ['give way to second'],
        'the news',
      )
    },
  },
  {
    name: 'reuse terminateRunning: it is urgent for a run that is paused or has not begun',
    async run({ store }) {
      const run = await hold(store, 'paused', { workflowId: 'w' })
      await apply(store, turn(run, { next: pausedBy('build-1') }))
      await created(store, displacing('ahead', { delayMs: 1_000_000 }))
      await created(store, displacing('last', { queue: 'elsewhere' }))
      same(idsOf((await claim(store)).runs).toSorted(), ['ahead', 'paused'], 'who is woken')
    },
  },
  {
    name: 'reuse terminateRunning: a run that has ended gets no message',
    async run({ store }) {
      const run = await hold(store, 'first', { workflowId: 'w' })
      await apply(store, turn(run, { next: ended }))
      same((await giveWay(store)).outcome, 'created', 'the answer')
      same(await unread(store, 'first'), 0, 'messages of the first')
      same((await snapshot(store, 'first')).status, 'completed', 'its status')
    },
  },
  {
    name: 'reuse terminateRunning: without a message to end, it only creates the new run',
    async run({ store }) {
      await hold(store, 'first', { workflowId: 'w' })
      const second = newRun('second', { workflowId: 'w', reuse: 'terminateRunning' })
      same((await created(store, second)).outcome, 'created', 'the answer')
      same(await unread(store, 'first'), 0, 'messages of the first')
    },
  },
  {
    name: 'reuse terminateRunning: sent again, it is existing, and no run gets another message',
    async run({ store }) {
      const run = await hold(store, 'first', { workflowId: 'w' })
      await giveWay(store)
      await apply(store, turn(run, { consumed: ['give way to second'] }))
      same(await giveWay(store), { outcome: 'existing', runId: 'second' }, 'the answer')
      same([await unread(store, 'first'), await unread(store, 'second')], [0, 0], 'messages')
    },
  },
  {
    name: 'reuse terminateRunning: a message that comes along is for the new run',
    async run({ store }) {
      await created(store, newRun('first', { workflowId: 'w', queue: 'elsewhere' }))
      await giveWay(store, { message: message('m') })
      await openSession(store)
      same(messageIds((await take(store, 'second')).messages), ['m'], 'of the second')
      same(await unread(store, 'first'), 1, 'messages of the first')
    },
  },
  {
    name: 'H21: of runs that terminate each other, all but the newest get the message to end',
    async run({ store, other }) {
      const stores = [store, await other()]
      const ids = Array.from({ length: 8 }, (_, index) => `run-${index}`)
      const answers = await Promise.all(ids.map((id, index) => created(stores[index % 2] ?? store, displacing(id))))
      same(new Set(outcomes(answers)), new Set(['created'] as const), 'the answers')
      const [named] = await store.load([{ type: 'named', workflowId: 'w' }])
      holds(named?.type === 'named' && named.runId !== undefined, 'the id has a newest run')
      for (const id of ids) same(await unread(store, id), id === named.runId ? 0 : 1, id)
    },
  },
  {
    name: 'a batch may contain several starts that terminate each other',
    async run({ store }) {
      const batch = [displacing('a'), displacing('b'), newRun('c'), displacing('d')]
      same(new Set(outcomes(await store.create(batch))), new Set(['created'] as const), 'answers')
      const counts = await Promise.all(['a', 'b', 'c', 'd'].map((id) => unread(store, id)))
      same(counts, [1, 1, 0, 0], 'messages of each')
    },
  },
  {
    name: 'runs that a turn starts may have a message, or terminate another run',
    async run({ store }) {
      const mother = await hold(store, 'mother')
      await created(store, newRun('first', { workflowId: 'w' }))
      const otherwise = message('refused')
      await apply(
        store,
        turn(mother, {
          outbox: [
            { type: 'start', run: told('unused', 'm'), otherwise },
            { type: 'start', run: displacing('second', { message: message('n') }), otherwise },
          ],
        }),
      )
      await sweep(store)
      same(await find(store, 'unused'), undefined, 'the run that was not needed')
      same([await unread(store, 'first'), await unread(store, 'second')], [2, 1], 'messages')
      same(await unread(store, 'mother'), 0, 'nothing was refused')
    },
  },
]

export const startWithCases: readonly Case[] = [...messages, ...making]
