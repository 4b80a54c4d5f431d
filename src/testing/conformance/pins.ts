// Pins: runs for workers of one build, and how unpinned runs are shared among builds.
import type { ClaimRequest, Next, Store } from '../../core/stores/store.ts'
import {
  ALICE,
  apply,
  BOB,
  beginning,
  claim,
  continued,
  created,
  dieHolding,
  ended,
  fresh,
  hold,
  idsOf,
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
  turn,
} from './builders.ts'
import type { Case, Fixture } from './case.ts'
import { holds, only, present, same } from './check.ts'
import { idFor } from './labels.ts'

const OLD = 'build-old'
const everything = { from: 0, to: 65_536 }
const nothing = { from: 0, to: 0 }
const due: Next = { type: 'release', status: 'running', wakeAt: 1 }

/** The number in the last four digits of a run id. */
function shareOf(runId: string): number {
  return Number.parseInt(idFor(runId).slice(-4), 16)
}

/** Creates a pinned run that is due at once, or at the given time. */
async function pinned({ store }: Fixture, runId = 'run', wakeAt?: number): Promise<void> {
  const run = await hold(store, runId)
  const { now } = await sweep(store)
  await apply(store, turn(run, { pin: OLD, next: released(wakeAt ?? now) }))
}

async function idsFor(store: Store, overrides: Partial<ClaimRequest>): Promise<string[]> {
  return idsOf((await claim(store, { runs: 100, ...overrides })).runs).sort()
}

const granting: readonly Case[] = [
  {
    name: 'a pinned run is granted to its build and to no other',
    async run(fixture) {
      const { store, clock } = fixture
      await pinned(fixture)
      const { status, pin } = await snapshot(store, 'run')
      same([status, pin], ['waiting', OLD], 'the state')
      const other = await claim(store, { suspects: 9 })
      same([other.runs, other.nextDue, other.suspects], [[], undefined, undefined], 'another build')
      await clock.advance(86_400_000)
      await openSession(store, BOB)
      same((await claim(store, { suspects: 9 }, BOB)).runs, [], 'a day later')
      same(idsOf((await claim(store, { build: OLD }, BOB)).runs), ['run'], 'its own')
      same((await snapshot(store, 'run')).pin, OLD, 'the pin, when it is held')
    },
  },
  {
    name: 'a run is granted to a build that declares to serve the pin of another',
    async run(fixture) {
      const { store } = fixture
      await pinned(fixture)
      same(await idsFor(store, { build: OLD, pins: { builds: ['x'], ...everything } }), [], 'not said')
      same(await idsFor(store, { pins: { builds: [], ...everything } }), [], 'of none')
      const pins = { builds: ['x', OLD], ...nothing }
      same(await idsFor(store, { pins }), ['run'], 'among others')
    },
  },
  {
    name: 'an unpinned run is granted to every build whose share contains it',
    async run({ store }) {
      await openSession(store)
      const ids = numbered('run', 12)
      await store.create(ids.map((id) => newRun(id)))
      const middle = ids.map(shareOf).toSorted((a, b) => a - b)[6] ?? 0
      const pins = { builds: [OLD], ...nothing }
      same(await idsFor(store, { pins }), [], 'of nothing')
      const below = ids.filter((id) => shareOf(id) < middle)
      same(await idsFor(store, { pins: { ...pins, to: middle } }), below, 'from 0')
      const above = ids.filter((id) => shareOf(id) >= middle)
      same(await idsFor(store, { pins: { ...pins, from: middle, to: 65_536 } }), above, 'the rest')
    },
  },
  {
    name: 'an unpinned run in progress is granted by its share as well, whatever made it due',
    async run(fixture) {
      const { store, clock } = fixture
      await openSession(store)
      await store.create(['due', 'told', 'paused', 'died', 'later'].map((id) => newRun(id)))
      const later = clock.now() + 60_000
      const ways: Record<string, Next> = {
        due,
        told: released(),
        paused: pausedBy('build-other'),
        died: due,
        later: released(later),
      }
      for (const run of (await claim(store, { runs: 9 })).runs) {
        const next = present(ways[run.head.runId], 'a way')
        await apply(store, turn(run, { next }))
      }
      await store.post([{ ...postTo('told', 'm'), urgent: true }])
      const isolated = (id: string) => ({ builds: [], from: shareOf(id), to: shareOf(id) + 1 })
      await dieHolding(fixture, { pins: isolated('died') })
      const none = await claim(store, { runs: 9, suspects: 9, pins: { builds: [OLD], ...nothing } })
      same([none.runs, none.nextDue, none.suspects], [[], undefined, undefined], 'no share')
      for (const id of ['due', 'told', 'paused', 'died'])
        same(await idsFor(store, { suspects: 9, pins: isolated(id) }), [id], id)
      same((await claim(store, { pins: isolated('later') })).nextDue, later, 'later')
    },
  },
  {
    name: 'a share has its first number and not its last',
    async run({ store }) {
      await openSession(store)
      await store.create([newRun('run')])
      const share = shareOf('run')
      const upTo = { builds: [], from: 0, to: share }
      same(await idsFor(store, { pins: upTo }), [], 'up to it')
      const behind = { builds: [], from: share + 1, to: 65_536 }
      same(await idsFor(store, { pins: behind }), [], 'behind it')
      const exactly = { builds: [], from: share, to: share + 1 }
      same(await idsFor(store, { pins: exactly }), ['run'], 'exactly')
    },
  },
  {
    name: 'a pin stays, whatever later turns say, and a turn may set it in any way of going on',
    async run({ store }) {
      await openSession(store)
      const ways: Record<string, Next> = {
        hold: { type: 'hold' },
        due,
        wait: released(),
        end: ended,
      }
      await store.create(Object.keys(ways).map((id) => newRun(id)))
      const { runs } = await claim(store)
      for (const run of runs) {
        const next = present(ways[run.head.runId], 'a way')
        await apply(store, turn(run, { pin: OLD, next }))
        same((await snapshot(store, run.head.runId)).pin, OLD, run.head.runId)
      }
      const held = present(
        runs.find(({ head }) => head.runId === 'hold'),
        'the one that is held',
      )
      await apply(store, turn(held, { seq: 1, pin: 'build-new' }))
      await apply(store, turn(held, { seq: 2, pin: 'build-new', next: released() }))
      same((await snapshot(store, 'hold')).pin, OLD, 'said again')
    },
  },
  {
    name: 'of the turns of a batch, each pins its own run',
    async run({ store }) {
      await openSession(store)
      const pins = new Map([
        ['a', 'x'],
        ['b', undefined],
        ['c', 'y'],
        ['d', 'z'],
      ])
      await store.create([...pins.keys()].map((id) => newRun(id)))
      const { runs } = await claim(store)
      const turns = runs.map((run) => {
        const pin = pins.get(run.head.runId)
        const next = run.head.runId === 'c' ? ended : due
        return turn(run, { next, ...(pin !== undefined && { pin }) })
      })
      await store.commit(turns)
      for (const [id, pin] of pins) same((await snapshot(store, id)).pin, pin, id)
      same(await idsFor(store, { build: 'z' }), ['b', 'd'], 'for one of them')
    },
  },
  {
    name: 'a message wakes a pinned run for its own build only',
    async run(fixture) {
      const { store } = fixture
      const run = await hold(store)
      await apply(store, turn(run, { pin: OLD, next: released() }))
      await store.post([{ ...postTo('run', 'm'), urgent: true }])
      same(await idsFor(store, {}), [], 'another')
      same(await idsFor(store, { build: OLD }), ['run'], 'its own')
    },
  },
  {
    name: 'an eager create gives the lease whatever the session serves, and its turn may pin',
    async run({ store }) {
      await openSession(store)
      const answer = await created(store, newRun('run', { eager: { session: ALICE, nonce: fresh() } }))
      holds(answer.outcome === 'created' && answer.run !== undefined, 'the lease is granted')
      await apply(store, turn(answer.run, { pin: OLD, next: due }))
      same([await idsFor(store, {}), await idsFor(store, { build: OLD })], [[], ['run']], 'then')
    },
  },
  {
    name: 'pins are not about tasks',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { pin: OLD, tasks: [newTask('task')], next: released() }))
      const pins = { builds: [], ...nothing }
      same((await claim(store, { pins })).tasks.length, 1, 'tasks of a pinned run')
    },
  },
]

const waiting: readonly Case[] = [
  {
    name: 'runs of another build at the head of a lane do not block the runs after them',
    async run({ store }) {
      await openSession(store)
      const count = 500
      const ids = Array.from({ length: count }, (_, index) => `other-${index}`)
      await store.create(ids.map((id) => newRun(id)))
      const { runs } = await claim(store, { runs: count })
      same(runs.length, count, 'all of them')
      await store.commit(runs.map((run) => turn(run, { pin: OLD, next: due })))
      await store.create([newRun('mine-a'), newRun('mine-b')])
      same(idsOf((await claim(store, { runs: 1 })).runs).length, 1, 'one')
      const rest = await claim(store, { runs: 10 })
      same([rest.runs.length, rest.nextDue], [1, undefined], 'the other')
      const own = await claim(store, { build: OLD, runs: count })
      same(own.runs.length, count, 'those of the other build')
    },
  },
  {
    name: 'nextDue ignores runs that the claim may not get',
    async run(fixture) {
      const { store, clock } = fixture
      await pinned(fixture, 'run', clock.now() + 1_000)
      same((await claim(store)).nextDue, undefined, 'for another build')
      same((await claim(store, { build: OLD })).nextDue, clock.now() + 1_000, 'for its own')
      await store.create([newRun('later', { delayMs: 5_000 })])
      same((await claim(store)).nextDue, clock.now() + 5_000, 'one behind it')
      const pins = { builds: [OLD], ...nothing }
      same((await claim(store, { pins })).nextDue, clock.now() + 1_000, 'only what is pinned')
      const share = shareOf('later')
      const outside = { builds: [], from: share + 1, to: 65_536 }
      same((await claim(store, { pins: outside })).nextDue, undefined, 'outside the share')
      const inside = { builds: [], from: share, to: share + 1 }
      same((await claim(store, { pins: inside })).nextDue, clock.now() + 5_000, 'inside')
    },
  },
  {
    name: 'nextDue is found after many runs that the claim may not get',
    async run({ store, clock }) {
      await openSession(store)
      const ids = Array.from({ length: 60 }, (_, index) => `other-${index}`)
      await store.create(ids.map((id) => newRun(id)))
      const { runs } = await claim(store, { runs: 60 })
      const turns = runs.map((run, index) => turn(run, { pin: OLD, next: released(clock.now() + 1_000 + index) }))
      await store.commit(turns)
      await store.create([newRun('mine', { delayMs: 50_000 })])
      same((await claim(store)).nextDue, clock.now() + 50_000, 'the next of its own')
    },
  },
  {
    name: 'a pinned run whose holder died is a suspect for its build, and not visible to others',
    async run(fixture) {
      const { store } = fixture
      await pinned(fixture)
      same(idsOf((await dieHolding(fixture, { build: OLD })).runs), ['run'], 'the one who dies')
      const other = await claim(store, { suspects: 9 })
      same([other.runs, other.suspects], [[], undefined], 'another build')
      same((await claim(store, { build: OLD })).suspects, true, 'its own is told')
      const next = only((await claim(store, { build: OLD, suspects: 9 })).runs, 'suspects')
      same(next.deliveries, 2, 'the delivery')
    },
  },
  {
    name: 'suspects of another build do not block the other runs of this one',
    async run(fixture) {
      const { store } = fixture
      await pinned(fixture)
      await dieHolding(fixture, { build: OLD })
      await dieHolding(fixture, { build: OLD, suspects: 9 })
      await store.create([newRun('mine')])
      same(await idsFor(store, { suspects: 9 }), ['mine'], 'the sound one')
    },
  },
  {
    name: 'what a session holds is granted again, even if it no longer serves it',
    async run(fixture) {
      const { store } = fixture
      await pinned(fixture)
      await claim(store, { build: OLD })
      const lost = await claim(store, { reconcile: true })
      same(idsOf(lost.runs), ['run'], 'with another build')
      const pins = { builds: [], ...nothing }
      const again = only((await claim(store, { reconcile: true, pins })).runs, 'given again')
      same(again.deliveries, 1, 'not charged again')
    },
  },
  {
    name: 'a paused run that is pinned goes to a build that is not the one it was paused by, and serves its pin',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { pin: OLD, next: pausedBy('build-1') }))
      const serving = { builds: [OLD], ...everything }
      same(await idsFor(store, { build: 'build-2' }), [], 'another build')
      same(await idsFor(store, { build: 'build-1', pins: serving }), [], 'the one that paused it')
      same(await idsFor(store, { build: 'build-2', pins: serving }), ['run'], 'both')
    },
  },
  {
    name: 'a run that its own build paused waits for another that serves the pin',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { pin: OLD, next: pausedBy(OLD) }))
      same(await idsFor(store, { build: OLD }), [], 'its own')
      same(await idsFor(store, { build: 'build-2' }), [], 'another')
      const pins = { builds: ['build-2', OLD], ...everything }
      same(await idsFor(store, { build: 'build-2', pins }), ['run'], 'another that serves it')
    },
  },
]

const staying: readonly Case[] = [
  {
    name: 'a pin stays in the next generation, whether the run continues or restarts',
    async run({ store }) {
      await openSession(store)
      await store.create(['continued', 'paused', 'ended'].map((id) => newRun(id)))
      const ways: Record<string, Next> = {
        continued: continued(),
        paused: pausedBy('build-1'),
        ended,
      }
      for (const run of (await claim(store)).runs) {
        const next = present(ways[run.head.runId], 'a way')
        await apply(store, turn(run, { pin: OLD, next }))
      }
      const begun = ['continued']
      for (const id of ['paused', 'ended']) if (await reopen(store, beginning(), id)) begun.push(id)
      for (const id of begun) {
        const { pin, head } = await snapshot(store, id)
        same([pin, head.generation], [OLD, 2], id)
      }
      same(await idsFor(store, {}), [], 'for another build')
      same(await idsFor(store, { build: OLD }), begun.sort(), 'for its own')
    },
  },
  {
    name: 'runs are listed and counted by their pin, in progress or ended',
    async run(fixture) {
      const { store } = fixture
      await openSession(store)
      const pins = new Map([
        ['a', OLD],
        ['b', 'other'],
        ['c', OLD],
        ['d', undefined],
      ])
      await store.create([...pins.keys()].map((id) => newRun(id)))
      for (const run of (await claim(store)).runs) {
        const pin = pins.get(run.head.runId)
        const next = run.head.runId === 'c' || run.head.runId === 'd' ? ended : released()
        await apply(store, turn(run, { next, ...(pin !== undefined && { pin }) }))
      }
      const listed = async (pin: string) => idsOf((await store.list({ limit: 9, pin })).runs).sort()
      same(await listed(OLD), ['a', 'c'], 'one build')
      same(await listed('other'), ['b'], 'another')
      same(await listed('none'), [], 'none')
      const count = async (query: object) => (await store.list({ limit: 1, count: true, ...query })).count
      same(await count({ pin: OLD }), 2, 'counted')
      same(await count({ pin: OLD, statuses: ['completed'] }), 1, 'of those that ended')
      same(await count({ pin: OLD, statuses: ['waiting', 'running'] }), 1, 'of the others')
      const { runs } = await store.list({ limit: 9, pin: OLD })
      same(
        runs.map(({ pin }) => pin),
        [OLD, OLD],
        'and say so',
      )
    },
  },
  {
    name: 'H18: builds may be called anything',
    async run({ store }) {
      await openSession(store)
      const builds = [`it's "so"`, '__proto__', '日本 🦦', 'a,b', '{x}', 'null', '%']
      await store.create(builds.map((_, index) => newRun(`run-${index}`)))
      const { runs } = await claim(store)
      await store.commit(
        runs.map((run) => turn(run, { pin: builds[Number(run.head.runId.slice(4))] ?? '', next: due })),
      )
      for (const [index, pin] of builds.entries()) {
        same(idsOf((await store.list({ limit: 9, pin })).runs), [`run-${index}`], `listed: ${pin}`)
        const pins = { builds: ['x', pin], ...nothing }
        same(await idsFor(store, { pins }), [`run-${index}`], `claimed: ${pin}`)
      }
    },
  },
  {
    name: 'a run released without a pin is for every build',
    async run({ store }) {
      const run = await hold(store)
      await apply(store, turn(run, { next: due }))
      same((await snapshot(store, 'run')).pin, undefined, 'the pin')
      await take(store, 'run')
    },
  },
]

export const pinCases: readonly Case[] = [...granting, ...waiting, ...staying]
