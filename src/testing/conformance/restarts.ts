// Restarts: a run that has ended, or that is paused and not held, continues as its next generation. A store may keep
// runs that ended long ago for reading only; it then refuses the restart, and the case ends there.
import type { Store } from '../../core/stores/store.ts'
import {
  ALICE,
  again,
  apply,
  BOB,
  beginning,
  claim,
  commit,
  created,
  ended,
  find,
  generationOf,
  history,
  hold,
  holdTasks,
  idsOf,
  messageIds,
  newRun,
  newTask,
  numbered,
  openSession,
  pausedBy,
  postTo,
  released,
  reopen,
  snapshot,
  sweep,
  take,
  tasksOf,
  turn,
} from './builders.ts'
import type { Case, Fixture } from './case.ts'
import { holds, only, outcomes, same } from './check.ts'

const failed = { type: 'end', status: 'failed' } as const

async function pauseRun({ store }: Fixture): Promise<void> {
  const run = await hold(store)
  await apply(store, turn(run, { next: pausedBy('build-1') }))
}

/** What must not have changed after a refused restart. */
async function untouched(store: Store, status: string): Promise<void> {
  const run = await snapshot(store, 'run')
  same([run.status as string, run.head.generation], [status, 1], 'the run')
}

const afterTheEnd: readonly Case[] = [
  {
    name: 'a run that has ended restarts with the given history',
    async run({ store, clock }) {
      const run = await hold(store, 'run', { workflowId: 'w', extras: '"note"' })
      await apply(store, turn(run, { count: 5, next: failed }))
      await clock.advance(10)
      const past = beginning(3)
      if (!(await reopen(store, past))) return
      const { head, status, endedAt, last, wakeAt, updatedAt } = await snapshot(store, 'run')
      same(head, { ...run.head, generation: 2 }, 'the head')
      same([status, endedAt, last], ['pending', undefined, undefined], 'the state')
      same([wakeAt, updatedAt], [clock.now(), clock.now()], 'its times')
      const next = await take(store, 'run')
      same([next.head.generation, next.seq, next.deliveries], [2, 3, 1], 'what is claimed')
      holds(next.lease.epoch > run.lease.epoch, 'the epoch grows')
      same(only(await history(store, 'run'), 'turns').body, past.body, 'its history')
    },
  },
  {
    name: 'a run that restarts leaves the list of those that ended, and ends again',
    async run({ store }) {
      const run = await hold(store)
      const first = turn(run, { next: failed })
      await apply(store, first)
      const past = beginning(2)
      if (!(await reopen(store, past))) return
      const failures = { limit: 5, statuses: ['failed'] } as const
      same((await store.list(failures)).runs, [], 'those that failed')
      same((await store.list({ ...failures, count: true })).count, 0, 'how many failed')
      same(idsOf((await store.list({ limit: 5, statuses: ['pending'] })).runs), ['run'], 'pending')
      const last = turn(await take(store, 'run'), { next: ended })
      await apply(store, last)
      const { status, last: body, head } = await snapshot(store, 'run')
      same([status, body, head.generation], ['completed', last.body, 2], 'the run')
      same((await store.list({ limit: 5, count: true, statuses: ['completed'] })).count, 1, 'ended')
      same((await store.list({ limit: 5, count: true })).count, 1, 'runs in all')
      const bodies = (await generationOf(store, 'run', 2)).map((each) => each.body)
      same(bodies, [past.body, last.body], 'its second history')
      same(only(await generationOf(store, 'run', 1), 'turns').body, first.body, 'its first')
    },
  },
  {
    name: 'INV5: the last holder before the end cannot write to the restarted run',
    async run({ store }) {
      const run = await hold(store)
      const last = turn(run, { next: failed })
      await apply(store, last)
      if (!(await reopen(store, beginning(1)))) return
      const late = turn(run, { generation: 2, seq: 1 })
      same(await commit(store, late), { outcome: 'fenced' }, 'before anybody holds it')
      const next = await take(store, 'run')
      same(await commit(store, late), { outcome: 'fenced' }, 'and after')
      same(await commit(store, last), { outcome: 'duplicate' }, 'the last turn, sent again')
      await apply(store, turn(next))
    },
  },
  {
    name: 'a workflow id is in use again when its run restarts',
    async run({ store }) {
      const run = await hold(store, 'run', { workflowId: 'w' })
      await apply(store, turn(run, { next: failed }))
      if (!(await reopen(store, beginning()))) return
      const named = (reuse: 'reject' | 'allowIfFailed' | 'returnExisting') =>
        created(store, newRun(reuse, { workflowId: 'w', reuse }))
      same((await named('reject')).outcome, 'refused', 'reject')
      same((await named('allowIfFailed')).outcome, 'refused', 'allowIfFailed')
      same(await named('returnExisting'), { outcome: 'existing', runId: 'run' }, 'returnExisting')
    },
  },
  {
    name: 'INV7: a run that restarted in another process takes messages here',
    async run({ store, other }) {
      const elsewhere = await other()
      const run = await hold(store)
      await apply(store, turn(run, { next: failed }))
      same(outcomes(await elsewhere.post([postTo('run', 'm')])), ['closed'], 'when it has ended')
      same((await find(elsewhere, 'run'))?.status, 'failed', 'as seen from there')
      if (!(await reopen(store, beginning()))) return
      same(outcomes(await elsewhere.post([postTo('run', 'm')])), ['accepted'], 'and now')
      same(messageIds((await take(store, 'run')).messages), ['m'], 'the message')
    },
  },
]

const paused: readonly Case[] = [
  {
    name: 'a paused run that is not held restarts, for every build',
    async run(fixture) {
      const { store } = fixture
      await pauseRun(fixture)
      await store.post([postTo('run', 'm1')])
      same((await created(store, again('run', 2, beginning(2)))).outcome, 'created', 'the answer')
      const { status, paused: why, head } = await snapshot(store, 'run')
      same([status, why, head.generation], ['pending', undefined, 2], 'the state')
      const run = await take(store, 'run')
      same([run.seq, run.deliveries], [2, 1], 'what is claimed')
      same(messageIds(run.messages), ['m1'], 'a message that waited')
    },
  },
  {
    name: 'INV7: a message to a paused run while it restarts is accepted, and not lost',
    async run(fixture) {
      const { store } = fixture
      const elsewhere = await fixture.other()
      await pauseRun(fixture)
      for (let generation = 2; generation < 12; generation++) {
        const posts = numbered(`m-${generation}`, 4).map((id) => postTo('run', id))
        const along = numbered(`n-${generation}`, 4).map((id) => newRun('run', postTo('run', id)))
        const [begun, posted, told] = await Promise.all([
          created(store, again('run', generation)),
          Promise.all(posts.map((post) => elsewhere.post([post]))),
          Promise.all(along.map((run) => created(elsewhere, run))),
        ])
        same(begun.outcome, 'created', 'the answer')
        same(new Set(outcomes(posted.flat())), new Set(['accepted'] as const), 'those posted')
        const existing = { outcome: 'existing', runId: 'run', posted: 'accepted' } as const
        for (const answer of told) same(answer, existing, 'those that came with a start')
        const run = await take(store, 'run')
        const ids = messageIds(run.messages)
        same(ids.length, 8, 'how many come with it')
        await apply(store, turn(run, { consumed: ids, next: pausedBy('build-1') }))
      }
    },
  },
  {
    name: 'a run that was paused by hand restarts',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { next: { type: 'pause', failure: '{}' } }))
      same((await created(store, again('run', 2))).outcome, 'created', 'the answer')
      same((await take(store, 'run')).head.generation, 2, 'the generation')
    },
  },
  {
    name: 'tasks of the former generation are gone, and their results with them',
    async run({ store }) {
      const run = await hold(store)
      const [task] = await holdTasks(store, run, [newTask('t1'), newTask('t2')])
      await store.post([postTo('run', 'm')])
      const held = await take(store, 'run')
      const next = pausedBy('build-1')
      await apply(store, turn(held, { consumed: ['m'], next }))
      await created(store, again('run', 2))
      same(await tasksOf(store, 'run'), [], 'tasks')
      const message = { id: 'done', body: '{}' }
      const result = { type: 'done', message } as const
      const settled = await store.settle([{ taskId: task?.taskId ?? '', lease: task?.lease ?? run.lease, result }])
      same(outcomes(settled), ['fenced'], 'a late result')
      same((await snapshot(store, 'run')).unread, 0, 'messages')
    },
  },
  {
    name: 'H32: a run whose holders died is no suspect in its next generation',
    async run(fixture) {
      const { store, clock } = fixture
      await pauseRun(fixture)
      await openSession(store, BOB, 1_000)
      same((await claim(store, { build: 'build-2' }, BOB)).runs.length, 1, 'the next holder')
      await clock.advance(1_000)
      await sweep(store)
      same((await created(store, again('run', 2))).outcome, 'created', 'the answer')
      const run = only((await claim(store)).runs, 'claimed runs')
      same([run.deliveries, run.head.generation], [1, 2], 'the delivery')
    },
  },
  {
    name: 'a restarted run may restart again',
    async run(fixture) {
      const { store } = fixture
      await pauseRun(fixture)
      for (const generation of [2, 3, 4]) {
        await created(store, again('run', generation, beginning(generation)))
        const run = await take(store, 'run')
        same([run.head.generation, run.seq], [generation, generation], 'what is claimed')
        await apply(store, turn(run, { next: pausedBy('build-1') }))
      }
      for (const generation of [2, 3, 4]) {
        same((await generationOf(store, 'run', generation)).length, 2, `turns of ${generation}`)
      }
    },
  },
]

const refusals: readonly Case[] = [
  {
    name: 'a run that is in progress does not restart, whether it is held or not',
    async run({ store }) {
      await openSession(store)
      await created(store, newRun('run'))
      const refused = { outcome: 'refused', runId: 'run' } as const
      same(await created(store, again('run', 2)), refused, 'while it is pending')
      await untouched(store, 'pending')
      const run = await take(store, 'run')
      same(await created(store, again('run', 2)), refused, 'while it is held')
      await untouched(store, 'running')
      await apply(store, turn(run, { next: released() }))
      same(await created(store, again('run', 2)), refused, 'while it waits')
      await untouched(store, 'waiting')
    },
  },
  {
    name: 'a paused run that another build holds does not restart',
    async run(fixture) {
      const { store } = fixture
      await pauseRun(fixture)
      const run = only((await claim(store, { build: 'build-2' })).runs, 'claimed runs')
      const answer = await created(store, again('run', 2))
      same(answer, { outcome: 'refused', runId: 'run' }, 'the answer')
      await apply(store, turn(run))
    },
  },
  {
    name: 'a paused run that was woken continues, and does not restart',
    async run(fixture) {
      const { store } = fixture
      await pauseRun(fixture)
      await store.post([{ ...postTo('run', 'm'), urgent: true }])
      const answer = await created(store, again('run', 2))
      same(answer, { outcome: 'refused', runId: 'run' }, 'the answer')
      same((await take(store, 'run')).head.generation, 1, 'the generation')
    },
  },
  {
    name: 'a restart of a missing run, of a later generation, or without a history is refused',
    async run(fixture) {
      const { store } = fixture
      const missing = await created(store, again('ghost', 2))
      same(missing, { outcome: 'refused', runId: 'ghost' }, 'a run that is not there')
      same(await find(store, 'ghost'), undefined, 'it was not created')
      await pauseRun(fixture)
      same((await created(store, again('run', 3))).outcome, 'refused', 'the generation after next')
      const empty = newRun('run', { generation: 2 })
      same((await created(store, empty)).outcome, 'refused', 'without a history')
      await untouched(store, 'paused')
    },
  },
  {
    name: 'INV9: the same beginning sent again is existing, also when the run has gone on',
    async run(fixture) {
      const { store } = fixture
      await pauseRun(fixture)
      const run = again('run', 2, beginning(2))
      const existing = { outcome: 'existing', runId: 'run' } as const
      same((await created(store, run)).outcome, 'created', 'the first answer')
      same(await created(store, run), existing, 'at once')
      const held = await take(store, 'run')
      same(await created(store, run), existing, 'when it is held')
      await apply(store, turn(held, { next: pausedBy('build-1') }))
      same(await created(store, run), existing, 'when it is paused')
      await created(store, again('run', 3))
      same(await created(store, run), existing, 'when the next has begun')
      same((await generationOf(store, 'run', 2)).length, 2, 'turns')
    },
  },
  {
    name: 'INV9: another beginning of the same generation is a conflict, and changes nothing',
    async run(fixture) {
      const { store } = fixture
      await pauseRun(fixture)
      const mine = beginning(2)
      await created(store, again('run', 2, mine))
      const answer = await created(store, again('run', 2, beginning(5)))
      same(answer, { outcome: 'conflict', runId: 'run' }, 'the answer')
      same(only(await history(store, 'run'), 'turns').body, mine.body, 'its history')
      same((await take(store, 'run')).seq, 2, 'events')
    },
  },
  {
    name: 'INV9: of many concurrent restarts of one run, one succeeds',
    async run(fixture) {
      const { store } = fixture
      await pauseRun(fixture)
      const stores = [store, await fixture.other()]
      const pasts = Array.from({ length: 10 }, (_, index) => beginning(index + 1))
      const answers = await Promise.all(
        pasts.map((past, index) => created(stores[index % 2] ?? store, again('run', 2, past))),
      )
      const winner = answers.findIndex(({ outcome }) => outcome === 'created')
      const others = answers.filter((_, index) => index !== winner)
      same(new Set(outcomes(others)), new Set(['conflict'] as const), 'what the others are told')
      same((await take(store, 'run')).seq, pasts[winner]?.count ?? 0, 'events')
    },
  },
  {
    name: 'a restart changes nothing about a run but its history',
    async run(fixture) {
      const { store } = fixture
      await pauseRun(fixture)
      const other = { priority: 9, queue: 'elsewhere', input: '{"json":2}', digest: 'other' }
      const answer = await created(store, { ...again('run', 2), ...other, name: 'ship' })
      same(answer.outcome, 'created', 'the answer')
      const { head } = await take(store, 'run', ALICE)
      const { name, queue, priority, input } = newRun('run')
      same([head.name, head.queue, head.priority, head.input], [name, queue, priority, input], 'it')
    },
  },
  {
    name: 'one batch may restart runs and create others',
    async run(fixture) {
      const { store } = fixture
      await pauseRun(fixture)
      const batch = [again('run', 2), newRun('new'), again('run', 2), again('new', 2)]
      const answers = outcomes(await store.create(batch))
      same(answers, ['created', 'created', 'conflict', 'refused'], 'the answers in order')
      same(idsOf((await claim(store)).runs).toSorted(), ['new', 'run'], 'what is claimed')
    },
  },
]

export const restartCases: readonly Case[] = [...afterTheEnd, ...paused, ...refusals]
