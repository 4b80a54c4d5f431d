// Creating runs: the run id makes a create idempotent, and a policy governs the workflow id.
import { apply, created, ended, find, hold, newRun, snapshot, turn } from './builders.ts'
import type { Case } from './case.ts'
import { holds, only, outcomes, same } from './check.ts'

const identity: readonly Case[] = [
  {
    name: 'INV1: a created run is pending, with everything it was created with',
    async run({ store, clock }) {
      const parent = { runId: 'mother', generation: 3, key: 'child#1' }
      const run = newRun('run', { priority: 7, extras: '{"json":"note"}', parent })
      const answer = await created(store, run)
      same(answer, { outcome: 'created', now: clock.now() }, 'the answer carries the time')
      const { head, status, deliveries, unread, session } = await snapshot(store, 'run')
      const { runId, name, workflowId, queue, priority, input, extras } = run
      const createdAt = clock.now()
      const born = { runId, name, workflowId, queue, priority, generation: 1, createdAt, input }
      same(head, { ...born, extras, parent } as typeof head, 'the head')
      same(
        { status, deliveries, unread, session },
        { status: 'pending', deliveries: 0, unread: 0, session: undefined },
        'the state',
      )
    },
  },
  {
    name: 'a head without extras and parent comes back without them',
    async run({ store }) {
      const run = await hold(store)
      holds(!('extras' in run.head) && !('parent' in run.head), 'absent fields stay absent')
      const { head } = await snapshot(store, 'run')
      same(head, run.head, 'claim and load agree about the head')
    },
  },
  {
    name: 'INV9: the same id with the same input is existing, and changes nothing',
    async run({ store, clock }) {
      await created(store, newRun('run'))
      await clock.advance(5)
      const again = await created(store, newRun('run', { priority: 9, queue: 'elsewhere' }))
      same(again, { outcome: 'existing', runId: 'run' }, 'the second answer')
      const { head } = await snapshot(store, 'run')
      same([head.priority, head.queue], [0, 'default'], 'the first one stays')
    },
  },
  {
    name: 'INV9: the same id with another digest is a conflict, and changes nothing',
    async run({ store }) {
      await created(store, newRun('run'))
      const other = await created(store, newRun('run', { digest: 'digest-2', input: '{"json":2}' }))
      same(other, { outcome: 'conflict', runId: 'run' }, 'the answer')
      same((await snapshot(store, 'run')).head.input, '{"json":1}', 'the input')
    },
  },
  {
    name: 'the id of a run that has ended is still existing',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { next: ended }))
      const again = await created(store, newRun('run'))
      same(again, { outcome: 'existing', runId: 'run' }, 'the answer')
      same((await snapshot(store, 'run')).status, 'completed', 'the status')
    },
  },
  {
    name: 'one batch may hold an id twice: the second is existing, or a conflict',
    async run({ store }) {
      const batch = [newRun('a'), newRun('b'), newRun('a'), newRun('b', { digest: 'digest-2' })]
      const answers = outcomes(await store.create(batch))
      same(answers, ['created', 'created', 'existing', 'conflict'], 'the answers in order')
    },
  },
  {
    name: 'INV9: many creates of one id at the same time make one run',
    async run({ store, other }) {
      const stores = [store, await other()]
      const tries = Array.from({ length: 20 }, (_, index) => stores[index % 2] ?? store)
      const answers = await Promise.all(tries.map((each) => created(each, newRun('run'))))
      const count = answers.filter((each) => each.outcome === 'created').length
      same(count, 1, 'how many were told that they created it')
      holds(
        answers.every((each) => each.outcome === 'created' || each.outcome === 'existing'),
        'all others are told that it exists',
      )
      same((await store.list({ limit: 10, count: true })).count, 1, 'how many there are')
    },
  },
]

/** Creates `first`, ends it, and returns the outcome of creating `second` with the same workflow id. */
async function follow(
  store: Parameters<Case['run']>[0]['store'],
  reuse: ReturnType<typeof newRun>['reuse'],
  status?: 'completed' | 'failed' | 'cancelled',
): Promise<string> {
  const run = await hold(store, 'first', { workflowId: 'w' })
  if (status) await apply(store, turn(run, { next: { type: 'end', status } }))
  const answer = await created(store, newRun('second', { workflowId: 'w', reuse }))
  holds(
    (answer.outcome === 'created') === ((await find(store, 'second')) !== undefined),
    'the run is there exactly if the answer says created',
  )
  const newest = answer.outcome === 'created' ? 'second' : 'first'
  const named = only(await store.load([{ type: 'named', workflowId: 'w' }]), 'answers')
  same(named, { type: 'named', runId: newest }, 'the newest run of the workflow id')
  const refusedBy = answer.outcome === 'created' ? 'nobody' : answer.runId
  return `${answer.outcome} by ${refusedBy}`
}

const policies: readonly Case[] = [
  {
    name: 'reuse allow: a workflow id may be used again at once',
    async run({ store }) {
      same(await follow(store, 'allow'), 'created by nobody', 'while the first is open')
    },
  },
  {
    name: 'reuse reject: a workflow id that is in use is refused',
    async run({ store }) {
      same(await follow(store, 'reject'), 'refused by first', 'while the first is open')
    },
  },
  {
    name: 'reuse reject: a workflow id that was in use is refused',
    async run({ store }) {
      same(await follow(store, 'reject', 'failed'), 'refused by first', 'after the first failed')
    },
  },
  {
    name: 'reuse allow: the answer names the newest run that is in progress beside it',
    async run({ store }) {
      await hold(store, 'first', { workflowId: 'w' })
      const second = await created(store, newRun('second', { workflowId: 'w' }))
      same(second.outcome === 'created' && second.alongside, 'first', 'while the first is open')
      const third = await created(store, newRun('third', { workflowId: 'w' }))
      same(third.outcome === 'created' && third.alongside, 'second', 'the newest of two')
      const unnamed = await created(store, newRun('unnamed'))
      holds(unnamed.outcome === 'created' && !('alongside' in unnamed), 'nothing without a name')
    },
  },
  {
    name: 'reuse allow: a run that has ended is not in progress',
    async run({ store }) {
      const first = await hold(store, 'first', { workflowId: 'w' })
      await apply(store, turn(first, { next: { type: 'end', status: 'completed' } }))
      const second = await created(store, newRun('second', { workflowId: 'w' }))
      holds(second.outcome === 'created' && !('alongside' in second), 'it is alone')
    },
  },
  {
    name: 'reuse allowIfEnded: refused while open',
    async run({ store }) {
      same(await follow(store, 'allowIfEnded'), 'refused by first', 'while the first is open')
    },
  },
  {
    name: 'reuse allowIfEnded: allowed after any end',
    async run({ store }) {
      const answer = await follow(store, 'allowIfEnded', 'completed')
      same(answer, 'created by nobody', 'after it completed')
    },
  },
  {
    name: 'reuse allowIfFailed: refused while open',
    async run({ store }) {
      same(await follow(store, 'allowIfFailed'), 'refused by first', 'while the first is open')
    },
  },
  {
    name: 'reuse allowIfFailed: refused after completion',
    async run({ store }) {
      same(await follow(store, 'allowIfFailed', 'completed'), 'refused by first', 'after success')
    },
  },
  {
    name: 'reuse allowIfFailed: allowed after a failure',
    async run({ store }) {
      same(await follow(store, 'allowIfFailed', 'failed'), 'created by nobody', 'after a failure')
    },
  },
  {
    name: 'reuse allowIfFailed: allowed after a cancellation',
    async run({ store }) {
      const answer = await follow(store, 'allowIfFailed', 'cancelled')
      same(answer, 'created by nobody', 'after a cancellation')
    },
  },
  {
    name: 'reuse returnExisting: the open run is returned',
    async run({ store }) {
      same(await follow(store, 'returnExisting'), 'existing by first', 'while the first is open')
    },
  },
  {
    name: 'reuse returnExisting: a new run when the old one has ended',
    async run({ store }) {
      const answer = await follow(store, 'returnExisting', 'completed')
      same(answer, 'created by nobody', 'after the first ended')
    },
  },
  {
    name: 'a run that was refused can be created by the same id later, when the policy allows it',
    async run({ store }) {
      const run = await hold(store, 'first', { workflowId: 'w' })
      const second = newRun('second', { workflowId: 'w', reuse: 'allowIfFailed' })
      same((await created(store, second)).outcome, 'refused', 'the first answer')
      await apply(store, turn(run, { next: { type: 'end', status: 'failed' } }))
      same((await created(store, second)).outcome, 'created', 'the second answer')
    },
  },
  {
    name: 'a resubmitted create is existing, whatever the policy says about its own workflow id',
    async run({ store }) {
      const run = newRun('run', { reuse: 'reject' })
      await created(store, run)
      same(await created(store, run), { outcome: 'existing', runId: 'run' }, 'the second answer')
    },
  },
  {
    name: 'H21: of many runs that claim one workflow id at the same time, one gets it',
    async run({ store, other }) {
      const stores = [store, await other()]
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          created(stores[index % 2] ?? store, newRun(`run-${index}`, { workflowId: 'w', reuse: 'reject' })),
        ),
      )
      const winners = answers.filter((each) => each.outcome === 'created')
      same(winners.length, 1, 'how many got it')
      const losers = answers.filter((each) => each.outcome === 'refused')
      same(losers.length, 19, 'all others are refused')
    },
  },
  {
    name: 'H21: within one batch the first gets the workflow id',
    async run({ store }) {
      const common = { workflowId: 'w', reuse: 'reject' } as const
      const batch = [newRun('a', common), newRun('b', common), newRun('c')]
      same(outcomes(await store.create(batch)), ['created', 'refused', 'created'], 'the answers')
      same(await find(store, 'b'), undefined, 'the refused run')
    },
  },
]

export const createCases: readonly Case[] = [...identity, ...policies]
