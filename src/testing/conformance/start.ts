// When a new run begins: at once on its creator, at once on any worker, or at a later time.
import { NEVER } from '../../core/stores/values.ts'
import {
  ALICE,
  apply,
  BOB,
  claim,
  created,
  dieHolding,
  ended,
  fresh,
  hold,
  idsOf,
  message,
  messageIds,
  newRun,
  openSession,
  postTo,
  released,
  request,
  snapshot,
  sweep,
  take,
  turn,
} from './builders.ts'
import type { Case } from './case.ts'
import { holds, outcomes, present, same } from './check.ts'

const eager: readonly Case[] = [
  {
    name: 'an eager create grants the lease in the same write',
    async run({ store }) {
      await openSession(store)
      const nonce = fresh()
      const answer = await created(store, newRun('run', { eager: { session: ALICE, nonce } }))
      holds(answer.outcome === 'created', `the run is created, not ${answer.outcome}`)
      const run = present(answer.run, 'the lease')
      same([run.lease.session, run.lease.nonce], [ALICE, nonce], 'the lease')
      same([run.deliveries, run.seq, run.messages.length], [1, 0, 0], 'what comes with it')
      same((await snapshot(store, 'run')).status, 'running', 'the status')
      same((await claim(store)).runs.length, 0, 'nobody else gets it')
      await apply(store, turn(run, { next: ended }))
    },
  },
  {
    name: 'H33: an eager create sent again answers existing with the same lease',
    async run({ store }) {
      await openSession(store)
      const run = newRun('run', { eager: { session: ALICE, nonce: fresh() } })
      const first = await created(store, run)
      const again = await created(store, run)
      holds(first.outcome === 'created', `first created, not ${first.outcome}`)
      holds(again.outcome === 'existing', `then existing, not ${again.outcome}`)
      same(again.run, first.run, 'the lease is the same one, and not charged again')
      await apply(store, turn(present(again.run, 'the lease'), { next: ended }))
    },
  },
  {
    name: 'H33: an eager create sent again after the run was released brings no lease',
    async run({ store }) {
      await openSession(store)
      const run = newRun('run', { eager: { session: ALICE, nonce: fresh() } })
      const first = await created(store, run)
      holds(first.outcome === 'created' && first.run !== undefined, 'the lease was granted')
      await apply(store, turn(first.run, { next: released() }))
      same(await created(store, run), { outcome: 'existing', runId: 'run' }, 'the answer')
    },
  },
  {
    name: 'an eager create of a run that is there takes no lease from its holder',
    async run({ store }) {
      const held = await hold(store)
      await openSession(store, BOB)
      const eager = { session: BOB, nonce: fresh() }
      const answer = await created(store, newRun('run', { eager }))
      same(answer, { outcome: 'existing', runId: 'run' }, 'the answer')
      await apply(store, turn(held))
    },
  },
  {
    name: 'an eager create for a dead session creates a run without a lease',
    async run({ store, clock }) {
      const eager = { session: BOB, nonce: fresh() }
      const answer = await created(store, newRun('run', { eager }))
      same(answer, { outcome: 'created', now: clock.now() }, 'the answer has no lease')
      await openSession(store)
      await take(store, 'run')
    },
  },
  {
    name: 'an eager create that must wait gets no lease yet',
    async run({ store, clock }) {
      await openSession(store)
      const eager = { session: ALICE, nonce: fresh() }
      const answer = await created(store, newRun('run', { eager, delayMs: 1_000 }))
      same(answer, { outcome: 'created', now: clock.now() }, 'the answer has no lease')
      await clock.advance(1_000)
      await take(store, 'run')
    },
  },
]

const delayed: readonly Case[] = [
  {
    name: 'INV8: a run with a start time is not claimed before it, and is claimed then',
    async run({ store, clock }) {
      await openSession(store)
      await created(store, newRun('run', { startAt: clock.now() + 1_000 }))
      same((await snapshot(store, 'run')).wakeAt, clock.now() + 1_000, 'when it is due')
      await clock.advance(999)
      same((await claim(store)).runs.length, 0, 'a millisecond too early')
      await clock.advance(1)
      await take(store, 'run')
    },
  },
  {
    name: 'a delay counts from when the store accepts the run',
    async run({ store, clock }) {
      await openSession(store)
      const run = newRun('run', { delayMs: 1_000 })
      await clock.advance(500)
      await created(store, run)
      await clock.advance(999)
      same((await claim(store)).runs.length, 0, 'a millisecond too early')
      await clock.advance(1)
      await take(store, 'run')
    },
  },
  {
    name: 'a start time in the past means at once',
    async run({ store, clock }) {
      await openSession(store)
      // Later claims may begin their search where this one ended.
      await claim(store)
      await created(store, newRun('run', { startAt: clock.now() - 60_000 }))
      await take(store, 'run')
    },
  },
  {
    name: 'an ordinary message does not wake a run whose start lies ahead, and is there then',
    async run({ store, clock }) {
      await openSession(store)
      await created(store, newRun('run', { delayMs: 1_000 }))
      same(outcomes(await store.post([postTo('run', 'm1')])), ['accepted'], 'the answer')
      await clock.advance(999)
      same((await claim(store)).runs.length, 0, 'still too early')
      await clock.advance(1)
      same(messageIds((await take(store, 'run')).messages), ['m1'], 'the message waited')
    },
  },
  {
    name: 'an urgent message wakes a run whose start lies ahead',
    async run({ store }) {
      await openSession(store)
      await created(store, newRun('run', { delayMs: 1_000_000 }))
      await store.post([postTo('run', 'm1')])
      await store.post([{ runId: 'run', message: message('m2'), urgent: true }])
      same(messageIds((await take(store, 'run')).messages), ['m1', 'm2'], 'both messages')
    },
  },
  {
    name: 'a run that was woken before its start has begun: ordinary messages wake it from then on',
    async run({ store }) {
      await openSession(store)
      await created(store, newRun('run', { delayMs: 1_000_000 }))
      await store.post([{ runId: 'run', message: message('m1'), urgent: true }])
      const run = await take(store, 'run')
      await apply(store, turn(run, { consumed: ['m1'], next: released() }))
      same((await claim(store)).runs.length, 0, 'nothing to do')
      await store.post([postTo('run', 'm2')])
      same(messageIds((await take(store, 'run')).messages), ['m2'], 'the ordinary message')
    },
  },
  {
    name: 'a created run is claimed once, by the first worker',
    async run({ store, other }) {
      await openSession(store)
      await openSession(store, BOB)
      await store.create([newRun('a'), newRun('b')])
      const elsewhere = await other()
      same(idsOf((await elsewhere.claim(request(BOB))).runs).sort(), ['a', 'b'], 'from elsewhere')
      same((await claim(store)).runs.length, 0, 'nothing is left')
      await sweep(store)
    },
  },
]

const pending: readonly Case[] = [
  {
    name: 'a run without a start time is pending, never due, and never granted',
    async run({ store, clock }) {
      await openSession(store)
      const eager = { session: ALICE, nonce: fresh() }
      const answer = await created(store, newRun('run', { startAt: NEVER, eager }))
      same(answer, { outcome: 'created', now: clock.now() }, 'the answer has no lease')
      const { status, wakeAt, session } = await snapshot(store, 'run')
      same([status, wakeAt, session], ['pending', undefined, undefined], 'the state')
      await clock.advance(86_400_000)
      await openSession(store, BOB)
      const { runs, nextDue, suspects } = await claim(store, { suspects: 9 }, BOB)
      same([runs, nextDue, suspects], [[], undefined, undefined], 'a day later')
      same(idsOf((await store.list({ limit: 5, statuses: ['pending'] })).runs), ['run'], 'listed')
      const again = await created(store, newRun('run', { startAt: NEVER }))
      same(again, { outcome: 'existing', runId: 'run' }, 'created again')
    },
  },
  {
    name: 'an ordinary message does not wake a run without a start time; an urgent one does, at once',
    async run({ store }) {
      await openSession(store)
      await created(store, newRun('run', { startAt: NEVER, message: message('m0') }))
      same(outcomes(await store.post([postTo('run', 'm1')])), ['accepted'], 'the answer')
      const early = await claim(store)
      same([early.runs, early.nextDue], [[], undefined], 'after an ordinary one')
      await store.post([{ ...postTo('run', 'm2'), urgent: true }])
      const run = await take(store, 'run')
      same(messageIds(run.messages), ['m0', 'm1', 'm2'], 'the messages')
      same((await snapshot(store, 'run')).status, 'running', 'the status')
      await apply(store, turn(run, { consumed: ['m0', 'm1', 'm2'], next: released() }))
      await store.post([postTo('run', 'm3')])
      await take(store, 'run')
    },
  },
  {
    name: 'a run without a start time that was woken is like any other, also if its holder dies',
    async run(fixture) {
      const { store } = fixture
      await openSession(store)
      await created(store, newRun('run', { startAt: NEVER }))
      await store.post([{ ...postTo('run', 'm'), urgent: true }])
      same(idsOf((await dieHolding(fixture)).runs), ['run'], 'its first holder')
      same((await take(store, 'run')).deliveries, 2, 'the delivery of its next')
      const again = await claim(store, { reconcile: true })
      same(idsOf(again.runs), ['run'], 'given again')
    },
  },
]

export const startCases: readonly Case[] = [...eager, ...delayed, ...pending]
