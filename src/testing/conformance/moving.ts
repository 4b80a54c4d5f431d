// Whole runs on their way to another store, and from one.
import { digestOfRun } from '../../core/stores/run-digest.ts'
import type { Store, TransferOperation, TransferOutcome, WholeRun } from '../../core/stores/store.ts'
import {
  again,
  apply,
  claim,
  commit,
  created,
  ended,
  fresh,
  history,
  hold,
  idsOf,
  messageIds,
  newRun,
  newTask,
  openSession,
  postTo,
  release,
  released,
  snapshot,
  take,
  tasksOf,
  turn,
} from './builders.ts'
import type { Case, Fixture } from './case.ts'
import { holds, only, same } from './check.ts'
import { idFor } from './labels.ts'

const MOVE = fresh()
const OTHER_MOVE = fresh()
const THERE = 'sqlite:/there.db'

async function transfer(store: Store, operation: TransferOperation): Promise<TransferOutcome> {
  return only(await store.transfer([operation]), 'answers to one transfer')
}

async function outcomeOf(store: Store, operation: TransferOperation): Promise<string> {
  return (await transfer(store, operation)).outcome
}

async function whole(store: Store, runId = 'run'): Promise<WholeRun> {
  const read = await transfer(store, { type: 'read', runId })
  holds(read.outcome === 'read', `the run is read, it is not ${read.outcome}`)
  return read.run
}

/** The digest that the store computes: of ids, where cases have labels. */
function digestOf(run: WholeRun): string {
  const { head, tasks } = run
  const parent = head.parent && { parent: { ...head.parent, runId: idFor(head.parent.runId) } }
  const ids = tasks.map((task) => ({ ...task, taskId: idFor(task.taskId) }))
  ids.sort((a, b) => (a.taskId < b.taskId ? -1 : 1))
  return digestOfRun({ ...run, head: { ...head, runId: idFor(head.runId), ...parent }, tasks: ids })
}

const held = (runId = 'run', move = MOVE) => ({ type: 'hold', runId, move }) as const
const freed = (runId = 'run', move = MOVE) => ({ type: 'free', runId, move }) as const
const put = (run: WholeRun, beside?: true) => ({ type: 'put', move: MOVE, run, ...(beside && { beside }) }) as const

async function leave(store: Store, seen: WholeRun, move = MOVE): Promise<string> {
  const { runId } = seen.head
  return outcomeOf(store, { type: 'leave', runId, move, seen: digestOf(seen), to: THERE })
}

/** The same run under another id, as if it came from another store. */
function arriving(run: WholeRun, runId: string, change: Partial<WholeRun> = {}): WholeRun {
  const workflowId = run.head.workflowId === idFor(run.head.runId) ? idFor(runId) : run.head.workflowId
  const tasks = run.tasks.map((task) => ({ ...task, taskId: `${task.taskId} of ${runId}` }))
  return { ...run, head: { ...run.head, runId, workflowId }, tasks, ...change }
}

/** A run that has something of everything, and waits. */
async function fullRun({ store, clock }: Fixture): Promise<void> {
  const run = await hold(store, 'run', {
    ...{ workflowId: 'order-1', extras: '{"memo":1}', parent: { runId: 'mother', generation: 1, key: 'child#1' } },
    attributes: { region: 'eu', tags: ['a', 'b'], total: 5, big: true, due: { at: 5 }, none: [] },
  })
  await apply(store, turn(run, { count: 2, tasks: [newTask('task', { priority: 3 })], pin: 'build-1' }))
  await store.note([{ runId: 'run', generation: 1, key: 'step', name: 'beat', body: '{"n":1}' }])
  const next = { ...released(clock.now() + 60_000), reason: 'timer' }
  await apply(store, turn(run, { seq: 2, count: 1, next, compensating: true }))
  await store.post([postTo('run', 'm1'), postTo('run', 'm2')])
}

const leaving: readonly Case[] = [
  {
    name: 'a run that is held for a move is granted to no worker, nor are its tasks, and it is let go',
    async run(fixture) {
      const { store } = fixture
      await fullRun(fixture)
      same(await outcomeOf(store, held()), 'done', 'the hold')
      same(await outcomeOf(store, held()), 'done', 'the hold again')
      same(await outcomeOf(store, held('run', OTHER_MOVE)), 'other', 'another move')
      same(await outcomeOf(store, freed('run', OTHER_MOVE)), 'other', 'the end of another move')
      const { runs, tasks } = await claim(store)
      same([runs.length, tasks.length], [0, 0], 'what is granted')
      const before = await snapshot(store, 'run')
      same(await outcomeOf(store, freed()), 'done', 'the end of the hold')
      const granted = await claim(store)
      const run = only(granted.runs, 'runs')
      holds(run.lease.epoch > before.epoch, 'the epoch grows')
      same(messageIds(run.messages), ['m1', 'm2'], 'messages')
      same(only(granted.tasks, 'tasks').taskId, 'task', 'the task')
      same(await outcomeOf(store, freed()), 'changed', 'the end of a hold that is over')
    },
  },
  {
    name: 'a move waits for the worker of a run, and of its tasks, and fences older leases',
    async run({ store }) {
      const run = await hold(store)
      same(await outcomeOf(store, held()), 'busy', 'the hold of a run with a worker')
      await apply(store, turn(run, { count: 1, tasks: [newTask('task')], next: released() }))
      const { tasks } = await claim(store)
      same(await outcomeOf(store, held()), 'busy', 'the hold of a run with a task in progress')
      const late = turn(run, { seq: 1, lease: { ...run.lease, session: 0, nonce: 0 } })
      same((await commit(store, late)).outcome, 'fenced', 'a turn meanwhile')
      const { taskId, lease } = only(tasks, 'tasks')
      await store.settle([{ taskId, lease, result: { type: 'return' } }])
      same(await outcomeOf(store, held()), 'done', 'the hold')
      same((await claim(store)).tasks.length, 0, 'tasks that are granted')
    },
  },
  {
    name: 'messages for a run that is held are kept, and a run does not leave without them',
    async run(fixture) {
      const { store } = fixture
      await fullRun(fixture)
      await transfer(store, held())
      const seen = await whole(store)
      same(await store.post([postTo('run', 'm3')]), [{ outcome: 'accepted' }], 'a message')
      same(await leave(store, seen), 'changed', 'leaving without it')
      const now = await whole(store)
      same(messageIds(now.inbox), ['m1', 'm2', 'm3'], 'the messages')
      same(await leave(store, now, OTHER_MOVE), 'changed', 'leaving for another move')
      same(await leave(store, now), 'done', 'leaving')
      same(await leave(store, now), 'left', 'leaving again')
    },
  },
  {
    name: 'a run that has left goes on nowhere: it takes no message, and no start',
    async run(fixture) {
      const { store } = fixture
      await fullRun(fixture)
      await transfer(store, held())
      await leave(store, await whole(store))
      const { status, reason, unread, last } = await snapshot(store, 'run')
      same([status, reason, unread], ['moved', `moved:${THERE}`, 0], 'the run')
      same(last, (await history(store, 'run')).at(-1)?.body, 'its last turn')
      same((await history(store, 'run')).length, 2, 'its history stays')
      same((await tasksOf(store, 'run')).length, 0, 'its tasks')
      same(await store.post([postTo('run', 'm9')]), [{ outcome: 'closed' }], 'a message')
      for (const operation of [held(), freed()])
        same(await transfer(store, operation), { outcome: 'left', to: THERE }, operation.type)
      for (const reuse of ['allowIfEnded', 'allowIfFailed', 'reject', 'returnExisting', 'terminateRunning'] as const) {
        const { outcome } = await created(store, newRun(`other ${reuse}`, { workflowId: 'order-1', reuse }))
        same(outcome, 'refused', `a start with ${reuse}`)
      }
      same((await created(store, again('run', 2))).outcome, 'refused', 'its next generation')
      same((await claim(store)).runs.length, 0, 'runs that are granted')
    },
  },
  {
    name: 'a run that has ended leaves, too, and cannot begin again here',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { next: ended }))
      same(await outcomeOf(store, held()), 'ended', 'the hold')
      same(await leave(store, await whole(store)), 'done', 'leaving')
      const { outcome } = await created(store, again('run', 2))
      same(outcome, 'refused', 'its next generation')
    },
  },
  {
    name: 'a run without any turn leaves',
    async run({ store }) {
      await store.create([newRun('run')])
      await transfer(store, held())
      same(await leave(store, await whole(store)), 'done', 'leaving')
      const { status, last } = await snapshot(store, 'run')
      same([status, last ?? 'none'], ['moved', 'none'], 'the run')
      same((await history(store, 'run')).length, 0, 'its turns')
      same(await outcomeOf(store, held('nobody')), 'missing', 'a run that does not exist')
    },
  },
]

const coming: readonly Case[] = [
  {
    name: 'a run comes with all that it had, is granted when it is freed, and goes on where it was',
    async run(fixture) {
      const { store } = fixture
      await fullRun(fixture)
      await transfer(store, held())
      const here = await whole(store)
      const turns = await history(store, 'run')
      const run = arriving(here, 'copy', { head: { ...arriving(here, 'copy').head, workflowId: 'order-2' } })
      const append = { type: 'append', move: MOVE, runId: 'copy', generation: 1, turns } as const
      for (let times = 0; times < 2; times++) {
        same(await outcomeOf(store, put(run)), 'done', 'put')
        same(await outcomeOf(store, append), 'done', 'append')
      }
      same(await whole(store, 'copy'), run, 'the run')
      same(await history(store, 'copy'), turns, 'its history')
      same((await claim(store)).runs.length, 0, 'runs that are granted')
      same(await outcomeOf(store, freed('copy')), 'done', 'the end of the hold')
      const granted = await claim(store)
      const { seq, turnId, messages, lease, head } = only(granted.runs, 'runs')
      same([seq, turnId, head.runId], [3, turns.at(-1)?.turnId ?? 0, 'copy'], 'where it goes on')
      same(messageIds(messages), ['m1', 'm2'], 'its messages')
      const { outcome } = await commit(store, turn({ ...only(granted.runs, 'runs'), lease }, { seq: 3 }))
      same(outcome, 'applied', 'its next turn')
      same((await snapshot(store, 'copy')).attributes, here.attributes, 'its attributes')
      same(only(granted.tasks, 'tasks').taskId, 'task of copy', 'its task')
    },
  },
  {
    name: 'a run that sleeps or is paused does so where it comes, and one that was due is due',
    async run({ store, clock }) {
      await openSession(store)
      await store.create(
        ['sleeps', 'due', 'later'].map((runId) => newRun(runId, { delayMs: runId === 'later' ? 9_000 : 0 })),
      )
      for (const run of (await claim(store)).runs)
        await release(store, run, run.head.runId === 'due' ? 0 : clock.now() + 5_000)
      for (const runId of ['sleeps', 'due', 'later']) {
        await transfer(store, held(runId))
        await transfer(store, put(arriving(await whole(store, runId), `${runId} 2`)))
        await transfer(store, freed(`${runId} 2`))
      }
      await clock.advance(1_000)
      same(idsOf((await claim(store)).runs), ['due 2'], 'runs that are due')
      await clock.advance(4_000)
      same(idsOf((await claim(store, { held: ['due 2'] })).runs), ['sleeps 2'], 'runs that are due')
      const { status, wakeAt } = await snapshot(store, 'later 2')
      same([status, wakeAt ?? 0], ['pending', clock.now() + 4_000], 'the run that has not started')
    },
  },
  {
    name: 'a run that has ended comes as it ended',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { count: 2 }))
      await apply(store, turn(run, { seq: 2, next: { type: 'end', status: 'failed', reason: 'failed:Error' } }))
      const here = await whole(store)
      const turns = await history(store, 'run')
      await transfer(store, put(arriving(here, 'copy')))
      await transfer(store, { type: 'append', move: MOVE, runId: 'copy', generation: 1, turns })
      same(await whole(store, 'copy'), arriving(here, 'copy'), 'the run')
      same(await outcomeOf(store, freed('copy')), 'done', 'the end of the hold')
      same(await whole(store, 'copy'), arriving(here, 'copy'), 'the run')
      const { status, reason, last, endedAt } = await snapshot(store, 'copy')
      same(
        [status, reason ?? '', last ?? '', endedAt ?? 0],
        ['failed', 'failed:Error', turns.at(-1)?.body ?? '', here.endedAt ?? 0],
        'its end',
      )
      same(await history(store, 'copy'), turns, 'its history')
      same(await outcomeOf(store, put(arriving(here, 'copy'))), 'there', 'the run again')
      same((await created(store, again('copy', 2))).outcome, 'created', 'its next generation')
    },
  },
  {
    name: 'a run that exists, or whose workflow id is in progress, does not come',
    async run({ store }) {
      await store.create([newRun('run', { workflowId: 'w' }), newRun('other', { workflowId: 'x' })])
      const here = await whole(store)
      const taken = { outcome: 'taken', runId: 'run' } as const
      same(await transfer(store, put(here)), taken, 'a run that exists')
      const namesake = arriving(here, 'copy')
      same(await transfer(store, put(namesake)), taken, 'a namesake')
      same((await transfer(store, put(namesake, true))).outcome, 'done', 'a namesake beside it')
      const older = arriving(here, 'older', { head: { ...here.head, runId: 'older', createdAt: 5 } })
      same((await transfer(store, put(older, true))).outcome, 'done', 'an older namesake')
      const named = only(await store.load([{ type: 'named', workflowId: 'w' }]), 'answers')
      same(named, { type: 'named', runId: 'copy' }, 'the newest of the workflow id')
    },
  },
  {
    name: 'a run that has left comes back',
    async run(fixture) {
      const { store } = fixture
      await fullRun(fixture)
      await transfer(store, held())
      const seen = await whole(store)
      await leave(store, seen)
      same(await outcomeOf(store, put({ ...seen, epoch: seen.epoch + 4 })), 'done', 'coming back')
      same(await whole(store), { ...seen, epoch: seen.epoch + 4 }, 'the run')
      same((await history(store, 'run')).length, 2, 'its history')
      await transfer(store, freed())
      const run = await take(store, 'run')
      same([run.lease.epoch, run.seq], [seen.epoch + 5, 3], 'its lease')
      same(messageIds(run.messages), ['m1', 'm2'], 'its messages')
      await apply(store, turn(run, { seq: 3 }))
    },
  },
]

export const movingCases: readonly Case[] = [...leaving, ...coming]
