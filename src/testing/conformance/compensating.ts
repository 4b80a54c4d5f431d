// Compensating runs: a turn sets a mark, which the status shows while the run runs or waits.
import type { Status } from '../../core/kernel/run.ts'
import type { Next, Store } from '../../core/stores/store.ts'
import {
  apply,
  beginning,
  claim,
  commit,
  continued,
  dieHolding,
  ended,
  hold,
  idsOf,
  newRun,
  openSession,
  pausedBy,
  postTo,
  released,
  reopen,
  snapshot,
  take,
  turn,
} from './builders.ts'
import type { Case } from './case.ts'
import { only, same } from './check.ts'

const running: Next = { type: 'release', status: 'running' }

async function statusOf(store: Store, runId = 'run'): Promise<Status> {
  return (await snapshot(store, runId)).status
}

async function listed(store: Store, ...statuses: Status[]): Promise<string[]> {
  return idsOf((await store.list({ limit: 10, statuses })).runs)
}

async function counted(store: Store, ...statuses: Status[]): Promise<number | undefined> {
  return (await store.list({ limit: 1, statuses, count: true })).count
}

const living: readonly Case[] = [
  {
    name: 'a compensating run is compensating while it is held, released and claimed',
    async run({ store, clock }) {
      const run = await hold(store)
      same(await statusOf(store), 'running', 'before')
      await apply(store, turn(run, { compensating: true }))
      same(await statusOf(store), 'compensating', 'held on to')
      await apply(store, turn(run, { seq: 1 }))
      same(await statusOf(store), 'compensating', 'after a turn that says nothing of it')
      await apply(store, turn(run, { seq: 2, next: released(clock.now() + 10) }))
      same(await statusOf(store), 'compensating', 'released to wait')
      await clock.advance(10)
      const next = await take(store, 'run')
      same(await statusOf(store), 'compensating', 'claimed')
      await apply(store, turn(next, { next: running }))
      same(await statusOf(store), 'compensating', 'released to go on')
    },
  },
  {
    name: 'the turn that releases a run may set or clear the mark',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { compensating: true, next: released() }))
      same(await statusOf(store), 'compensating', 'set')
      await store.post([postTo('run', 'm')])
      const next = await take(store, 'run')
      await apply(store, turn(next, { consumed: ['m'], compensating: false, next: released() }))
      same(await statusOf(store), 'waiting', 'no longer')
    },
  },
  {
    name: 'a turn that keeps the lease may clear the mark',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { compensating: true }))
      await apply(store, turn(run, { seq: 1, compensating: true }))
      same(await statusOf(store), 'compensating', 'said twice')
      await apply(store, turn(run, { seq: 2, compensating: false }))
      same(await statusOf(store), 'running', 'no longer')
      await apply(store, turn(run, { seq: 3, compensating: false, next: ended }))
      same(await statusOf(store), 'completed', 'ended')
    },
  },
  {
    name: 'a run whose holder died is still compensating',
    async run(fixture) {
      const { store } = fixture
      const run = await hold(store)
      await apply(store, turn(run, { compensating: true, next: running }))
      await store.post([postTo('run', 'm')])
      same(idsOf((await dieHolding(fixture)).runs), ['run'], 'the one who dies')
      same(await statusOf(store), 'compensating', 'held by nobody')
      const next = await take(store, 'run')
      same([next.deliveries, await statusOf(store)], [2, 'compensating'], 'held again')
    },
  },
  {
    name: 'a paused run is paused, and compensating again when it goes on',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { compensating: true }))
      await apply(store, turn(run, { seq: 1, next: pausedBy('build-1') }))
      same(await statusOf(store), 'paused', 'paused')
      same(await listed(store, 'compensating'), [], 'listed')
      const next = only((await claim(store, { build: 'build-2' })).runs, 'claimed runs')
      same(await statusOf(store), 'compensating', 'claimed by another build')
      await apply(store, turn(next, { next: released() }))
      same(await statusOf(store), 'compensating', 'released')
    },
  },
  {
    name: 'a turn that is refused sets no mark, and one that is sent again sets it once',
    async run({ store }) {
      const run = await hold(store)
      await store.post([postTo('run', 'm')])
      const ending = turn(run, { compensating: true, next: ended })
      same((await commit(store, ending)).outcome, 'more', 'the answer')
      same(await statusOf(store), 'running', 'refused')
      const mark = turn(run, { compensating: true })
      await apply(store, mark)
      await apply(store, turn(run, { seq: 1, compensating: false }))
      same(await commit(store, mark), { outcome: 'duplicate' }, 'sent again')
      same(await statusOf(store), 'running', 'then')
    },
  },
  {
    name: 'each turn of a batch sets the mark of its own run',
    async run({ store }) {
      await openSession(store)
      await store.create(['a', 'b', 'c', 'd'].map((id) => newRun(id)))
      const { runs } = await claim(store)
      const marks = new Map([
        ['a', { compensating: true }],
        ['b', {}],
        ['c', { compensating: true, next: released() }],
        ['d', { next: released() }],
      ])
      await store.commit(runs.map((run) => turn(run, marks.get(run.head.runId) ?? {})))
      const statuses = await Promise.all(['a', 'b', 'c', 'd'].map((id) => statusOf(store, id)))
      same(statuses, ['compensating', 'running', 'compensating', 'waiting'], 'the statuses')
    },
  },
]

const ending: readonly Case[] = [
  {
    name: 'compensating runs are listed and counted as compensating, and as nothing else',
    async run({ store }) {
      await openSession(store)
      await store.create(['held', 'free', 'plain', 'idle'].map((id) => newRun(id)))
      const { runs } = await claim(store)
      for (const run of runs) {
        const { runId } = run.head
        const mark = runId === 'held' || runId === 'free' ? { compensating: true } : {}
        const next = runId === 'free' || runId === 'idle' ? { next: released() } : {}
        await apply(store, turn(run, { ...mark, ...next }))
      }
      same((await listed(store, 'compensating')).sort(), ['free', 'held'], 'compensating')
      same(await listed(store, 'running'), ['plain'], 'running')
      same(await listed(store, 'waiting'), ['idle'], 'waiting')
      same((await listed(store, 'waiting', 'compensating')).length, 3, 'two at once')
      same(await counted(store, 'compensating'), 2, 'counted')
      same(await counted(store, 'running', 'waiting'), 2, 'the others, counted')
      same(await counted(store, 'compensating', 'completed', 'running'), 3, 'counted together')
      const named = { limit: 5, statuses: ['compensating'], names: ['order'], count: true } as const
      same((await store.list(named)).count, 2, 'counted by name')
    },
  },
  {
    name: 'INV12: a compensating run that ends has the status of its end',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { compensating: true }))
      await apply(store, turn(run, { seq: 1, next: { type: 'end', status: 'failed' } }))
      same(await statusOf(store), 'failed', 'the status')
      same(await listed(store, 'compensating'), [], 'listed')
      same(await counted(store, 'compensating'), 0, 'counted')
    },
  },
  {
    name: 'the next generation of a run that continues begins without the mark',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { compensating: true }))
      await apply(store, turn(run, { seq: 1, compensating: true, next: continued() }))
      same(await statusOf(store), 'running', 'due')
      const next = await take(store, 'run')
      same([next.head.generation, await statusOf(store)], [2, 'running'], 'held')
    },
  },
  {
    name: 'a run that restarts begins without the mark, whether it was paused or had ended',
    async run({ store }) {
      await openSession(store)
      await store.create([newRun('paused'), newRun('ended')])
      for (const run of (await claim(store)).runs) {
        const next = run.head.runId === 'paused' ? pausedBy('build-1') : ended
        await apply(store, turn(run, { compensating: true, next }))
      }
      for (const id of ['paused', 'ended']) {
        if (!(await reopen(store, beginning(), id))) continue
        same(await statusOf(store, id), 'pending', 'pending')
        await take(store, id)
        same(await statusOf(store, id), 'running', 'running')
      }
    },
  },
]

export const compensatingCases: readonly Case[] = [...living, ...ending]
