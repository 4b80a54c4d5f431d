// Texts: every name and body comes back unchanged, and is never confused with another.
import type { NewRun } from '../../core/stores/store.ts'
import {
  apply,
  claim,
  created,
  done,
  ended,
  find,
  history,
  idsOf,
  message,
  messageIds,
  newRun,
  newTask,
  openSession,
  postTo,
  released,
  request,
  snapshot,
  take,
  turn,
} from './builders.ts'
import type { Case, Fixture } from './case.ts'
import { only, outcomes, present, same } from './check.ts'
import { idFor } from './labels.ts'

const odd: readonly (readonly [string, string])[] = [
  ['spaces', ' two  spaces '],
  ['quotes', `it's "quoted" \`here\``],
  ['slashes', 'a/b\\c//d'],
  ['percent and underscore', '100%_of %s %1$s'],
  ['SQL', `'; drop table runs; --`],
  ['placeholders', '$1 ? :name @p {x} [y] (z)'],
  ['newlines and tabs', 'a\nb\r\nc\td'],
  ['unicode', 'straße-日本語-עברית-é'],
  ['astral characters', '𝒫awl-🦦-👩‍👩‍👧'],
  ['something like JSON', '{"a":[1,null]}'],
  ['something like null', 'null'],
  ['a digit', '0'],
  ['the longest id', 'x'.repeat(512)],
]

const bodies: readonly (readonly [string, string])[] = [
  ['quotes and backslashes', JSON.stringify({ text: `"'\\ \\' \\" $$ $1 ?` })],
  ['newlines', JSON.stringify({ text: 'a\nb\r\n\tc\u2028\u2029' }, null, 2)],
  ['unicode and astral characters', JSON.stringify('ß 日本 𝒫 🦦 é e\u0301')],
  ['an escaped NUL', JSON.stringify(`a${String.fromCharCode(0)}b`)],
  ['an escaped lone surrogate', JSON.stringify(`a${String.fromCharCode(0xd800)}b`)],
  ['insignificant space and key order', '{ "b" : 1.0,  "a" : 1e2 , "b" : 2 }'],
  ['numbers too long for a double', '[12345678901234567890123, 0.1000000000000000055511]'],
  ['no JSON at all', 'not json, {'],
]

const alike = ['a', 'A', 'a ', ' a', 'é', 'e\u0301', 'ß', 'ss', 'ﬁ', 'fi', '1', '01', '1.0']

/** Uses one text as every name through the life of a run. */
async function live({ store }: Fixture, text: string): Promise<void> {
  const run = newRun(text, { name: text, queue: text, workflowId: text })
  await openSession(store)
  await created(store, run)
  same((await created(store, run)).outcome, 'existing', 'created again')
  const note = { id: text, body: '{}' }
  const posts = [{ runId: text, message: note }]
  same(outcomes(await store.post(posts)), ['accepted'], 'the message')
  same(outcomes(await store.post(posts)), ['duplicate'], 'the message again')
  const own = { queues: [text], workflows: [text], activities: [text], build: text }
  const held = only((await claim(store, own)).runs, 'claimed runs')
  same(held.messages, [note], 'the messages')
  const task = newTask(text, { name: text, queue: text })
  await apply(store, turn(held, { consumed: [text], tasks: [task], next: released() }))
  const claimed = only((await claim(store, own)).tasks, 'claimed tasks')
  same([claimed.taskId, claimed.name, claimed.runId], [text, text, text], 'the task')
  same(outcomes(await store.settle([done(claimed, text)])), ['applied'], 'the result')
  const again = only((await claim(store, own)).runs, 'claimed runs')
  await apply(store, turn(again, { consumed: [text], next: ended }))
  const { head } = await snapshot(store, text)
  same([head.runId, head.name, head.queue, head.workflowId], [text, text, text, text], 'the head')
  const named = await store.load([{ type: 'named', workflowId: text }])
  same(named, [{ type: 'named', runId: text }], 'by workflow id')
  const query = { names: [text], workflowId: text, limit: 5 }
  same(idsOf((await store.list(query)).runs), [text], 'listed')
}

/** Writes one text as every kind of body, and reads it back. */
async function carry({ store }: Fixture, body: string): Promise<void> {
  await openSession(store)
  const about: Partial<NewRun> = { input: body, extras: body }
  await created(store, newRun('run', about))
  await store.post([{ runId: 'run', message: { id: 'm', body } }])
  const run = await take(store, 'run')
  same([run.head.input, run.head.extras], [body, body], 'input and extras')
  same(run.messages, [{ id: 'm', body }], 'the message')
  const tasks = [newTask('t', { body })]
  await apply(store, turn(run, { body, consumed: ['m'], tasks, next: released() }))
  const { taskId, lease, body: told } = only((await claim(store)).tasks, 'claimed tasks')
  same(told, body, 'the task')
  await store.settle([{ taskId, lease, result: { type: 'done', message: { id: 'd', body } } }])
  const again = await take(store, 'run')
  same(again.messages, [{ id: 'd', body }], 'the result')
  const next = { type: 'pause', build: 'build-1', failure: body } as const
  await apply(store, turn(again, { body, seq: 1, consumed: ['d'], next }))
  same(
    (await history(store, 'run')).map((each) => each.body),
    [body, body],
    'history',
  )
  same((await snapshot(store, 'run')).paused?.failure, body, 'the failure')
}

const confusions: readonly Case[] = [
  {
    name: 'workflow ids that differ in case, space or composition are different ids',
    async run({ store }) {
      const runs = alike.map((workflowId, index) => newRun(`run ${index}`, { workflowId, reuse: 'reject' }))
      same(new Set(outcomes(await store.create(runs))), new Set(['created'] as const), 'answers')
      const named = await store.load(alike.map((workflowId) => ({ type: 'named', workflowId })))
      const expected = alike.map((_, index) => ({ type: 'named' as const, runId: `run ${index}` }))
      same(named, expected, 'the runs')
    },
  },
  {
    name: 'message ids that differ in case, space or composition are different ids',
    async run({ store }) {
      await openSession(store)
      await created(store, newRun('run'))
      const posted = await store.post(alike.map((id) => postTo('run', id)))
      same(new Set(outcomes(posted)), new Set(['accepted'] as const), 'the answers')
      const run = await take(store, 'run')
      same(messageIds(run.messages), alike, 'the messages')
      await apply(store, turn(run, { consumed: ['A', 'é', '1.0'] }))
      same((await snapshot(store, 'run')).unread, alike.length - 3, 'unread messages')
    },
  },
  {
    name: 'a workflow id may be the id of its own run',
    async run({ store }) {
      const workflowId = idFor('run')
      await created(store, newRun('run', { workflowId, reuse: 'reject' }))
      const named = await store.load([{ type: 'named', workflowId }])
      same(named, [{ type: 'named', runId: 'run' }], 'by workflow id')
      same((await snapshot(store, 'run')).head.workflowId, workflowId, 'the workflow id')
      same(idsOf((await store.list({ workflowId, limit: 5 })).runs), ['run'], 'listed')
    },
  },
  {
    name: 'a run that nobody named is called by its id, and the policy counts for it',
    async run({ store }) {
      await created(store, newRun('run'))
      const workflowId = idFor('run')
      const refused = await created(store, newRun('second', { workflowId, reuse: 'reject' }))
      same(refused, { outcome: 'refused', runId: 'run' }, 'reject')
      const third = newRun('third', { workflowId, reuse: 'returnExisting', message: message('m') })
      const existing = { outcome: 'existing', runId: 'run', posted: 'accepted' } as const
      same(await created(store, third), existing, 'returnExisting')
      same((await created(store, newRun('fourth', { workflowId }))).outcome, 'created', 'allow')
      const named = await store.load([{ type: 'named', workflowId }])
      same(named, [{ type: 'named', runId: 'fourth' }], 'the newest of that name')
    },
  },
  {
    name: 'a run that was named is not called by its id',
    async run({ store }) {
      await created(store, newRun('run', { workflowId: 'w' }))
      const workflowId = idFor('run')
      same(await store.load([{ type: 'named', workflowId }]), [{ type: 'named' }], 'by its id')
      const second = await created(store, newRun('second', { workflowId, reuse: 'reject' }))
      same(second.outcome, 'created', 'a run of that name')
    },
  },
  {
    name: 'a queue or a name that looks like a pattern matches itself only',
    async run({ store }) {
      await openSession(store)
      await store.create([newRun('a', { queue: 'q1', name: 'n1' }), newRun('b', { queue: 'Q1' })])
      for (const queue of ['q%', 'q_', '%', '*', 'q*', '.*', '']) {
        same((await claim(store, { queues: [queue] })).runs, [], `the queue '${queue}'`)
      }
      for (const name of ['n%', 'n_', '%', '']) {
        const own = { queues: ['q1'], workflows: [name] }
        same((await claim(store, own)).runs, [], `the name '${name}'`)
      }
      same(idsOf((await claim(store, { queues: ['q1'] })).runs), ['a'], 'itself')
    },
  },
  {
    name: 'bodies of a megabyte come back whole',
    async run(fixture) {
      await carry(fixture, JSON.stringify('0123456789abcdeß'.repeat(61_000)))
    },
  },
  {
    name: 'a batch of bodies of a megabyte goes through',
    async run({ store }) {
      const input = JSON.stringify('x'.repeat(1_000_000))
      const ids = ['a', 'b', 'c', 'd', 'e', 'f']
      await store.create(ids.map((id) => newRun(id, { input })))
      const found = await find(store, 'f')
      same(present(found, 'the run').head.input.length, input.length, 'the length')
    },
  },
  {
    name: 'numbers keep their value: the largest nonce, session and turn id, and odd priorities',
    async run({ store }) {
      const session = 2 ** 48 - 1
      await openSession(store, session)
      await store.create([newRun('run', { priority: -2_000_000_000 })])
      const nonce = 2 ** 48 - 2
      const run = only((await store.claim(request(session, { nonce }))).runs, 'claimed runs')
      same([run.lease.session, run.lease.nonce], [session, nonce], 'the lease')
      same(run.head.priority, -2_000_000_000, 'the priority')
      const turnId = 2 ** 48 - 3
      await apply(store, turn(run, { turnId }))
      same(only(await history(store, 'run'), 'turns').turnId, turnId, 'the turn id')
      same((await snapshot(store, 'run')).session, session, 'the holder')
    },
  },
]

export const textCases: readonly Case[] = [
  ...odd.map(([what, text]) => ({
    name: `ids and names with ${what} work everywhere`,
    run: (fixture: Fixture) => live(fixture, text),
  })),
  ...bodies.map(([what, body]) => ({
    name: `H18: a body with ${what} comes back byte for byte`,
    run: (fixture: Fixture) => carry(fixture, body),
  })),
  ...confusions,
]
