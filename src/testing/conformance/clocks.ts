// Clocks that jump. No worker loses a lease because a clock jumped, and a turn decided before the jump is still
// accepted.
import { limits } from '../../core/base/limits.ts'
import type { Claimed, ClaimRequest, Store } from '../../core/stores/store.ts'
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

/** Alice holds a run under a short lease, and Bob has a session. */
async function two(store: Store) {
  await openSession(store, ALICE, LEASE_MS)
  await openSession(store, BOB, HOUR * 3)
  await store.create([newRun('run')])
  return take(store, 'run')
}

/** A claim by a worker that has not watched any session yet. */
function look(store: Store, overrides: Partial<ClaimRequest> = {}): Promise<Claimed> {
  return claim(store, { suspects: 9, silent: [], ...overrides }, BOB)
}

/** The time at which a session renewed now has missed its next renewal. */
const MISSED_MS = LEASE_MS / limits.leaseRenewalsPerLife + LEASE_MS / 12

const jumps: readonly Case[] = [
  {
    name: 'a session that has missed a renewal is late, and a claim tells when the next one will be',
    async run({ store, clock }) {
      await two(store)
      const first = await look(store)
      same([first.late, first.nextLate], [undefined, clock.now() + MISSED_MS], 'before')
      await clock.advance(MISSED_MS)
      const { late, runs } = await look(store)
      same(late, [{ session: ALICE, beat: 1, ttlMs: LEASE_MS }], 'who is late')
      same(runs, [], 'nothing is freed by that')
      await store.renew(beat(ALICE, { beat: 2, ttlMs: LEASE_MS }))
      same((await look(store)).late, undefined, 'after a renewal')
    },
  },
  {
    name: 'stores D2: a clock alone frees nothing, however far it was set forward',
    async run({ store, clock }) {
      const run = await two(store)
      clock.set(clock.now() + HOUR)
      const { late, runs } = await look(store)
      same([late?.length, runs.length], [1, 0], 'late, and not freed')
      same((await claim(store, { silent: [] })).dead, undefined, 'the holder’s claim')
      same((await store.renew(beat(ALICE, { beat: 2, ttlMs: LEASE_MS }))).alive, true, 'renewal')
      await apply(store, turn(run, { at: clock.now() }))
    },
  },
  {
    name: 'stores D2: a session that a claimer found silent is freed, at the beat it was found at and no other',
    async run({ store }) {
      await two(store)
      const named = [{ session: ALICE, beat: 1 }]
      await store.renew(beat(ALICE, { beat: 2, ttlMs: LEASE_MS }))
      same((await look(store, { silent: named })).runs, [], 'it has renewed since')
      const freed = await look(store, { silent: [{ session: ALICE, beat: 2 }] })
      same(idsOf(freed.runs), ['run'], 'what is freed, although its time is not over by the clock')
      same((await store.renew(beat(ALICE, { beat: 3 }))).alive, false, 'its renewal')
    },
  },
  {
    name: 'a claim does not find its own session silent, or a deleted one',
    async run({ store }) {
      await two(store)
      const ghosts = [BOB, CAROL].map((session) => ({ session, beat: 1 }))
      same((await look(store, { silent: ghosts })).dead, undefined, 'the claim')
      same((await look(store)).dead, undefined, 'the next')
    },
  },
  {
    name: 'stores D2: after a clock was set back all sessions are late until they renew',
    async run({ store, clock }) {
      const run = await two(store)
      clock.set(clock.now() - HOUR)
      const { late, runs } = await look(store)
      same([late?.length, runs.length], [1, 0], 'late, and not freed')
      await store.renew(beat(ALICE, { beat: 2, ttlMs: LEASE_MS }))
      same((await look(store)).late, undefined, 'after a renewal')
      await apply(store, turn(run, { at: clock.now() }))
    },
  },
]

const granted: readonly Case[] = [
  {
    name: 'stores D2: what was granted while the clock was ahead is found and freed after it was set back',
    async run({ store, clock }) {
      await openSession(store, ALICE, LEASE_MS)
      await openSession(store, BOB, LEASE_MS)
      const before = clock.now()
      clock.set(before + HOUR)
      await store.create([newRun('run')])
      await store.create([newRun('born', { eager: { session: ALICE, nonce: 7 }, queue: 'q' })])
      await claim(store, { silent: [], queues: ['default', 'q'] })
      clock.set(before)
      const strays = await claim(store, { silent: [], reconcile: true })
      same(idsOf(strays.runs).toSorted(), ['born', 'run'], 'what the session holds')
      const silent = [{ session: ALICE, beat: 1 }]
      const asked = { suspects: 9, silent, queues: ['default', 'q'] }
      const freed = await claim(store, asked, BOB)
      same(idsOf(freed.runs).toSorted(), ['born', 'run'], 'what is freed')
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
    name: 'stores D2: a turn decided before the clock was set back is applied, because its session was valid then',
    async run({ store, clock }) {
      const run = await hold(store)
      const at = clock.now() + 20_000
      clock.set(clock.now() - HOUR)
      await apply(store, turn(run, { at }))
      // A renewal in between does not change that.
      await store.renew(beat(ALICE, { beat: 2 }))
      await apply(store, turn(run, { seq: 1, at: at + 1, next: released() }))
    },
  },
  {
    name: 'stores D2: a turn no later than the last turn of its run is applied, for any holder and at any time',
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
    name: 'stores D2: turns of a dead holder may have later times than those of the next holder',
    async run({ store, clock }) {
      const run = await two(store)
      const at = clock.now() + 1_000
      await apply(store, turn(run, { at }))
      clock.set(clock.now() - HOUR)
      await openSession(store, CAROL, 1_000)
      const silent = [{ session: ALICE, beat: 1 }]
      const [freed] = (await claim(store, { suspects: 9, silent }, CAROL)).runs
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

export const clockCases: readonly Case[] = [...jumps, ...granted, ...stamped]
