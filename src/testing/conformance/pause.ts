// Paused runs. A run is paused because its code failed: the same build would fail again, another may not. Or an
// operator paused it: then only a resume wakes it.
import type { Next } from '../../core/stores/store.ts'
import {
  ALICE,
  apply,
  BOB,
  claim,
  commit,
  dieHolding,
  hold,
  idsOf,
  message,
  messageIds,
  newRun,
  openSession,
  postTo,
  released,
  snapshot,
  sweep,
  take,
  turn,
} from './builders.ts'
import type { Case, Fixture } from './case.ts'
import { holds, only, outcomes, same } from './check.ts'

const failure = '{"type":"DeterminismError","message":"charge#1 is \\"gone\\""}'
const paused: Next = { type: 'pause', build: 'build-1', failure }
const handPaused: Next = { type: 'pause', failure }

async function pauseRun({ store }: Fixture): Promise<void> {
  const run = await hold(store)
  await apply(store, turn(run, { next: paused }))
}

const byBuild: readonly Case[] = [
  {
    name: 'H32: a paused run is not claimed by the build that paused it, however long it waits',
    async run(fixture) {
      const { store, clock } = fixture
      await pauseRun(fixture)
      same((await claim(store)).runs, [], 'at once')
      await clock.advance(86_400_000)
      await openSession(store, BOB)
      same((await claim(store, { suspects: 9 }, BOB)).runs, [], 'a day later')
    },
  },
  {
    name: 'H32: a paused run is claimed by another build, as if it had been released',
    async run(fixture) {
      const { store } = fixture
      await pauseRun(fixture)
      const run = only((await claim(store, { build: 'build-2' })).runs, 'claimed runs')
      same([run.deliveries, run.seq], [1, 1], 'the delivery')
      await apply(store, turn(run, { next: released() }))
      const { status, paused: why } = await snapshot(store, 'run')
      same([status, why], ['waiting', undefined], 'the state then')
    },
  },
  {
    name: 'a paused run tells which build paused it, and why',
    async run(fixture) {
      const { store } = fixture
      await pauseRun(fixture)
      const { status, session, wakeAt, paused: why } = await snapshot(store, 'run')
      same([status, session, wakeAt], ['paused', undefined, undefined], 'the state')
      same(why, { build: 'build-1', failure }, 'the reason')
      same(idsOf((await store.list({ limit: 5, statuses: ['paused'] })).runs), ['run'], 'listed')
    },
  },
  {
    name: 'messages do not wake a paused run for the same build, and are there for another',
    async run(fixture) {
      const { store } = fixture
      await pauseRun(fixture)
      same(outcomes(await store.post([postTo('run', 'm1')])), ['accepted'], 'the answer')
      same((await claim(store)).runs, [], 'for the same build')
      const run = only((await claim(store, { build: 'build-2' })).runs, 'claimed runs')
      same(messageIds(run.messages), ['m1'], 'the messages')
    },
  },
  {
    name: 'a run is not paused while messages are unread',
    async run(fixture) {
      const { store } = fixture
      const run = await hold(store)
      await store.post([postTo('run', 'm1')])
      const [answer] = await store.commit([turn(run, { next: paused })])
      holds(answer?.outcome === 'more', `there is more, not ${answer?.outcome}`)
      same(messageIds(answer.messages), ['m1'], 'the messages')
      await apply(store, turn(run, { next: paused, consumed: ['m1'] }))
      same((await claim(store)).runs, [], 'for the same build')
    },
  },
  {
    name: 'H32: a run that another build paused in its turn is open to the first again',
    async run(fixture) {
      const { store } = fixture
      await pauseRun(fixture)
      const run = only((await claim(store, { build: 'build-2' })).runs, 'claimed runs')
      await apply(store, turn(run, { next: { ...paused, build: 'build-2' } }))
      same((await claim(store, { build: 'build-2' })).runs, [], 'for the second')
      same(idsOf((await claim(store)).runs), ['run'], 'for the first')
    },
  },
  {
    name: 'H32: a paused run whose next holder died is still closed to the build that paused it',
    async run(fixture) {
      const { store, clock } = fixture
      await pauseRun(fixture)
      await openSession(store, BOB, 1_000)
      same((await claim(store, { build: 'build-2' }, BOB)).runs.length, 1, 'the next holder')
      await clock.advance(1_000)
      await sweep(store)
      same((await claim(store, { suspects: 9 })).runs, [], 'for the first build')
      const other = await claim(store, { suspects: 9, build: 'build-2' })
      same(only(other.runs, 'claimed runs').deliveries, 2, 'for another it is a suspect')
    },
  },
  {
    name: 'P12: a pause leaves the messages it names to the next holder, and is refused for any other',
    async run({ store }) {
      const run = await hold(store)
      await store.post([postTo('run', 'm1'), postTo('run', 'm2'), postTo('run', 'm3')])
      const pause = (left: readonly string[]) => turn(run, { consumed: ['m1'], next: { ...paused, left } })
      const early = await commit(store, pause(['m2']))
      same(early, { outcome: 'more', messages: [message('m3')] }, 'with one it does not know')
      await apply(store, pause(['m2', 'm3']))
      same((await snapshot(store, 'run')).unread, 2, 'unread messages')
      same((await claim(store)).runs, [], 'for the build that paused it')
      same(outcomes(await store.post([postTo('run', 'm4')])), ['accepted'], 'a further message')
      same((await claim(store)).runs, [], 'it does not wake the run')
      const next = only((await claim(store, { build: 'build-2' })).runs, 'claimed runs')
      same(messageIds(next.messages), ['m2', 'm3', 'm4'], 'for the next holder')
    },
  },
  {
    name: 'H9: a pause that does not count leaves the deaths before it to the next holder',
    async run(fixture) {
      const { store } = fixture
      await openSession(store)
      await store.create([newRun('run')])
      await dieHolding(fixture)
      const run = only((await claim(store, { suspects: 9 })).runs, 'claimed runs')
      same(run.deliveries, 2, 'the delivery after a death')
      await apply(store, turn(run, { count: 0, body: '', next: { ...paused, uncounted: true } }))
      const next = only((await claim(store, { suspects: 9, build: 'build-2' })).runs, 'claimed runs')
      same([next.deliveries, next.seq], [2, 0], 'the next one')
      await apply(store, turn(next, { next: { ...paused, build: 'build-2' } }))
      const last = only((await claim(store, { suspects: 9 })).runs, 'claimed runs')
      same(last.deliveries, 1, 'after one that counts')
    },
  },
  {
    name: 'H10: a run that was paused after its holder died is granted only to a claim that asks for suspects',
    async run(fixture) {
      const { store } = fixture
      await openSession(store)
      await store.create([newRun('run'), newRun('by hand')])
      await dieHolding(fixture)
      const { runs } = await claim(store, { suspects: 9 })
      for (const run of runs) {
        const byHand = { type: 'pause', failure: '"f"', uncounted: true } as const
        const next = run.head.runId === 'run' ? { ...paused, uncounted: true as const } : byHand
        await apply(store, turn(run, { count: 0, body: '', next }))
      }
      const own = await claim(store, { suspects: 9 })
      same([own.runs.length, own.suspects], [0, undefined], 'for the build that paused it')
      const other = { build: 'build-2', suspects: 0 }
      const without = await claim(store, other)
      same([without.runs.length, without.suspects], [0, true], 'without suspects')
      same((await snapshot(store, 'run')).wakeAt, undefined, 'when it is due')
      same(idsOf((await claim(store, { ...other, suspects: 1 })).runs), ['run'], 'with suspects')
      await store.post([{ ...postTo('by hand', 'm'), resumes: true }])
      same((await claim(store, other)).runs, [], 'the other one, resumed, without suspects')
      same(idsOf((await claim(store, { suspects: 1 })).runs), ['by hand'], 'and with suspects')
    },
  },
  {
    name: 'a paused run does not keep others of its queue waiting',
    async run(fixture) {
      const { store } = fixture
      await pauseRun(fixture)
      await store.create([newRun('other')])
      const { runs, nextDue, suspects } = await claim(store, { suspects: 3 })
      same([idsOf(runs), nextDue, suspects], [['other'], undefined, undefined], 'the claim')
    },
  },
  {
    name: 'INV5: pausing takes the lease: a later turn of the holder is fenced',
    async run(fixture) {
      const { store } = fixture
      const run = await hold(store)
      await apply(store, turn(run, { next: paused }))
      same(await commit(store, turn(run, { seq: 1 })), { outcome: 'fenced' }, 'the answer')
      same((await snapshot(store, 'run')).session, undefined, `not ${ALICE}`)
    },
  },
]

const byHand: readonly Case[] = [
  {
    name: 'a run that was paused by hand is claimed by no build, however long it waits',
    async run({ store, clock }) {
      const run = await hold(store)
      await apply(store, turn(run, { next: handPaused }))
      same((await snapshot(store, 'run')).status, 'paused', 'the status')
      same((await claim(store)).runs, [], 'by the same build')
      same((await claim(store, { build: 'build-2' })).runs, [], 'by another')
      await clock.advance(86_400_000)
      await openSession(store, BOB)
      const late = await claim(store, { build: 'build-3', suspects: 9 }, BOB)
      same([late.runs, late.suspects], [[], undefined], 'a day later')
    },
  },
  {
    name: 'a run that was paused by hand tells why',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { next: handPaused }))
      const { paused: why, wakeAt, session } = await snapshot(store, 'run')
      same([why?.failure, wakeAt, session], [failure, undefined, undefined], 'the state')
      same(idsOf((await store.list({ limit: 5, statuses: ['paused'] })).runs), ['run'], 'listed')
    },
  },
  {
    name: 'messages wait for a run that was paused by hand, until an urgent one wakes it',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { next: handPaused }))
      same(outcomes(await store.post([postTo('run', 'm1')])), ['accepted'], 'the answer')
      const along = await store.create([newRun('run', { message: message('m2') })])
      same(along, [{ outcome: 'existing', runId: 'run', posted: 'accepted' }], 'with a start')
      same((await claim(store, { build: 'build-2' })).runs, [], 'for any build')
      await store.post([{ ...postTo('run', 'm3'), urgent: true }])
      const next = only((await claim(store)).runs, 'claimed runs')
      same(messageIds(next.messages), ['m1', 'm2', 'm3'], 'the messages')
      same([next.deliveries, next.seq], [1, 1], 'the delivery')
    },
  },
  {
    name: 'a run that was paused by hand and woken is like any other, also if its holder dies',
    async run(fixture) {
      const { store } = fixture
      const run = await hold(store)
      await apply(store, turn(run, { next: handPaused }))
      await store.post([{ ...postTo('run', 'm'), urgent: true }])
      same((await snapshot(store, 'run')).paused, undefined, 'the reason')
      same(idsOf((await dieHolding(fixture)).runs), ['run'], 'its next holder')
      const next = await take(store, 'run')
      same(next.deliveries, 2, 'the delivery')
      await apply(store, turn(next, { consumed: ['m'], next: released() }))
      same((await snapshot(store, 'run')).status, 'waiting', 'the status')
    },
  },
  {
    name: 'a run is not paused by hand while messages are unread, and keeps no others waiting then',
    async run({ store }) {
      const run = await hold(store)
      await store.post([postTo('run', 'm')])
      same((await commit(store, turn(run, { next: handPaused }))).outcome, 'more', 'the answer')
      await apply(store, turn(run, { consumed: ['m'], next: handPaused }))
      await store.create([newRun('other')])
      const { runs, nextDue } = await claim(store)
      same([idsOf(runs), nextDue], [['other'], undefined], 'the claim')
    },
  },
  {
    name: 'a run can be paused by a build after it was paused by hand, and the other way round',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { next: handPaused }))
      await store.post([{ ...postTo('run', 'm1'), urgent: true }])
      const second = await take(store, 'run')
      await apply(store, turn(second, { consumed: ['m1'], next: paused }))
      const third = only((await claim(store, { build: 'build-2' })).runs, 'claimed runs')
      await apply(store, turn(third, { next: handPaused }))
      same((await claim(store, { build: 'build-3' })).runs, [], 'paused by hand again')
    },
  },
]

export const pauseCases: readonly Case[] = [...byBuild, ...byHand]
