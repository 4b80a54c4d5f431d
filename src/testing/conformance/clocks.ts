// Clocks that are set. What was promised by one time must hold by another: nobody loses a lease because a clock jumped,
// and what was decided before is taken after.
import { limits } from '../../kernel/limits.ts'
import type { ClaimRequest, Store } from '../../stores/store.ts'
import {
  ALICE,
  apply,
  BOB,
  beat,
  CAROL,
  claim,
  commit,
  ended,
  history,
  hold,
  idsOf,
  newRun,
  newTask,
  openSession,
  released,
  reopen,
  snapshot,
  take,
  tasksOf,
  turn,
} from './builders.ts'
import type { Case } from './case.ts'
import { holds, same } from './check.ts'

const HOUR = 3_600_000
const LEASE_MS = 3_000

/** What a claimer says that has heard of no jump since `steadyMs`. */
function seen(now: number, steadyMs: number): Pick<ClaimRequest, 'clock'> {
  return { clock: { now, steadyMs } }
}

/** Alice holds a run under a short lease, and Bob is there. */
async function two(store: Store) {
  await openSession(store, ALICE, LEASE_MS)
  await openSession(store, BOB, HOUR * 3)
  await store.create([newRun('run')])
  return take(store, 'run')
}

const jumps: readonly Case[] = [
  {
    name: 'stores D2: a clock that is set forward kills no session that renews as it should',
    async run({ store, clock }) {
      const run = await two(store)
      const before = clock.now()
      clock.set(before + HOUR)
      const unaware = await claim(store, { suspects: 9, ...seen(before, HOUR) }, BOB)
      same(unaware.runs, [], 'for a claimer that has not heard of it')
      const aware = await claim(store, { suspects: 9, ...seen(clock.now(), 0) }, BOB)
      same(aware.runs, [], 'for one that has just heard of it')
      same((await claim(store)).dead, undefined, 'the holder’s claim')
      same((await store.renew(beat(ALICE, { beat: 2, ttlMs: LEASE_MS }))).alive, true, 'renewal')
      await apply(store, turn(run, { at: clock.now() }))
    },
  },
  {
    name: 'after a clock was set forward a session that stays silent is freed once a living one would have renewed',
    async run({ store, clock }) {
      await two(store)
      clock.set(clock.now() + HOUR)
      const steadyMs = LEASE_MS * limits.leaseSelfStopShare
      await clock.advance(steadyMs)
      const early = await claim(store, { suspects: 9, ...seen(clock.now(), steadyMs - 1) }, BOB)
      same(early.runs, [], 'a moment before')
      const freed = await claim(store, { suspects: 9, ...seen(clock.now(), steadyMs) }, BOB)
      same(idsOf(freed.runs), ['run'], 'what is freed')
    },
  },
  {
    name: 'a session is not silent before its time, however long the clock was steady',
    async run({ store, clock }) {
      await two(store)
      await clock.advance(LEASE_MS - 1)
      const { runs, nextDue } = await claim(store, { suspects: 9 }, BOB)
      same(runs, [], 'what is freed')
      holds((nextDue ?? 0) >= clock.now() + 1, 'there is something to look for soon')
      await clock.advance(1)
      same(idsOf((await claim(store, { suspects: 9 }, BOB)).runs), ['run'], 'then')
    },
  },
  {
    name: 'a claimer that is new to the clock is told when to look for silent sessions, and never at once',
    async run({ store, clock }) {
      await two(store)
      await clock.advance(LEASE_MS * 10)
      const now = clock.now()
      const { runs, nextDue } = await claim(store, { suspects: 9, ...seen(now, 500) }, BOB)
      same([runs.length, nextDue], [0, now + LEASE_MS * limits.leaseSelfStopShare - 500], 'when')
      const lagging = await claim(store, { suspects: 9, ...seen(now - LEASE_MS * 20, HOUR) }, BOB)
      same(lagging.nextDue, now + limits.silenceLookMs, 'for one whose idea of time is behind')
    },
  },
  {
    name: 'stores D2: a clock that is set back kills nobody, and who is silent since is freed all the same',
    async run({ store, clock }) {
      await two(store)
      const before = clock.now()
      clock.set(before - HOUR)
      const unaware = await claim(store, { suspects: 9, ...seen(before, HOUR) }, BOB)
      same(unaware.runs, [], 'for a claimer that has not heard of it')
      const aware = await claim(store, { suspects: 9, ...seen(clock.now(), 0) }, BOB)
      same(aware.runs, [], 'for one that has just heard of it')
      await clock.advance(LEASE_MS)
      const freed = await claim(store, { suspects: 9, ...seen(clock.now(), LEASE_MS) }, BOB)
      same(idsOf(freed.runs), ['run'], 'what is freed')
    },
  },
  {
    name: 'a session that renews after the clock was set back is as alive as any other',
    async run({ store, clock }) {
      const run = await two(store)
      clock.set(clock.now() - HOUR)
      await store.renew(beat(ALICE, { beat: 2, ttlMs: LEASE_MS }))
      await clock.advance(LEASE_MS - 1)
      const { runs } = await claim(store, { suspects: 9, ...seen(clock.now(), LEASE_MS * 2) }, BOB)
      same(runs, [], 'what is freed')
      await apply(store, turn(run, { at: clock.now() }))
    },
  },
]

const stamped: readonly Case[] = [
  {
    name: 'H19: a turn stamped within the bound is applied',
    async run({ store, clock }) {
      await openSession(store, ALICE, 1_000)
      await store.create([newRun('run')])
      const run = await take(store, 'run')
      await apply(store, turn(run, { at: clock.now() + limits.clockAheadMsMax }))
      await apply(store, turn(run, { seq: 1, at: clock.now() - 60_000 }))
    },
  },
  {
    name: 'H19: a turn stamped further ahead than anything says is refused as ahead, and can be sent again later',
    async run({ store, clock }) {
      await openSession(store, ALICE, 1_000)
      await store.create([newRun('run')])
      const run = await take(store, 'run')
      const at = clock.now() + limits.clockAheadMsMax + 1
      for (const next of [{ type: 'hold' } as const, released(), ended]) {
        const one = turn(run, { at, tasks: [newTask('t')], next })
        same(await commit(store, one), { outcome: 'ahead', now: clock.now() }, 'the answer')
      }
      same(await history(store, 'run'), [], 'history')
      same(await tasksOf(store, 'run'), [], 'tasks')
      const one = turn(run, { at })
      same((await commit(store, one)).outcome, 'ahead', 'before its time')
      await clock.advance(1)
      await apply(store, one)
    },
  },
  {
    name: 'stores D2: a turn decided before the clock was set back is taken: its holder’s session was good for it',
    async run({ store, clock }) {
      const run = await hold(store)
      const at = clock.now() + 20_000
      clock.set(clock.now() - HOUR)
      await apply(store, turn(run, { at }))
      // A renewal that was answered meanwhile changes nothing about that.
      await store.renew(beat(ALICE, { beat: 2 }))
      await apply(store, turn(run, { seq: 1, at: at + 1, next: released() }))
    },
  },
  {
    name: 'stores D2: a turn no later than the run’s own past is taken, whoever holds it and whatever time it is',
    async run({ store, clock }) {
      const run = await hold(store)
      const at = clock.now()
      await apply(store, turn(run, { at, next: released() }))
      clock.set(at - HOUR)
      await openSession(store, BOB, 1_000)
      await store.post([{ runId: 'run', message: { id: 'm', body: '{}' } }])
      const later = await take(store, 'run', BOB)
      await apply(store, turn(later, { at, consumed: ['m'] }))
      await apply(store, turn(later, { seq: 2, at, next: ended }))
      same((await snapshot(store, 'run')).status, 'completed', 'the run')
    },
  },
  {
    name: 'stores D2: turns of a dead holder may be stamped ahead of the time in which another goes on',
    async run({ store, clock }) {
      const run = await two(store)
      const at = clock.now() + 1_000
      await apply(store, turn(run, { at }))
      clock.set(clock.now() - HOUR)
      const clockSeen = seen(clock.now(), LEASE_MS)
      await openSession(store, CAROL, 1_000)
      const [freed] = (await claim(store, { suspects: 9, ...clockSeen }, CAROL)).runs
      holds(freed !== undefined, 'the run is freed')
      await apply(store, turn(freed, { seq: 1, at, next: released() }))
    },
  },
  {
    name: 'a run that was created before the clock was set back can be begun, and again after it has ended',
    async run({ store, clock }) {
      await store.create([newRun('run')])
      const at = clock.now()
      clock.set(at - HOUR)
      await openSession(store, ALICE, 1_000)
      await store.post([{ runId: 'run', message: { id: 'm', body: '{}' }, urgent: true }])
      const run = await take(store, 'run')
      await apply(store, turn(run, { at, consumed: ['m'], next: ended }))
      same((await snapshot(store, 'run')).endedAt, clock.now(), 'its end is not in the future')
      if (!(await reopen(store))) return
      const second = await take(store, 'run')
      await apply(store, turn(second, { at }))
    },
  },
]

export const clockCases: readonly Case[] = [...jumps, ...stamped]
