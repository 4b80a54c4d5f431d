// Suspects: a run whose last holder died may have caused that. Suspects are granted apart from other runs, and those
// that lost several holders one at a time, so that a run which kills its worker affects no others.
import {
  ALICE,
  apply,
  claim,
  dieHolding,
  ended,
  idsOf,
  newRun,
  numbered,
  openSession,
  postTo,
  release,
  snapshot,
  take,
  turn,
} from './builders.ts'
import type { Case } from './case.ts'
import { holds, only, same } from './check.ts'

export const suspectCases: readonly Case[] = [
  {
    name: 'H10: a run whose holder died is granted only to a claim that asks for suspects',
    async run(fixture) {
      const { store } = fixture
      await openSession(store)
      await store.create([newRun('run')])
      await dieHolding(fixture)
      const without = await claim(store, { suspects: 0 })
      same([without.runs.length, without.suspects], [0, true], 'at 0 it is only told of')
      const run = only((await claim(store, { suspects: 1 })).runs, 'suspects')
      same([run.head.runId, run.deliveries], ['run', 2], 'the second delivery')
    },
  },
  {
    name: 'H10: a claim reports no suspects when there are none',
    async run(fixture) {
      const { store } = fixture
      await openSession(store)
      await store.create([newRun('run'), newRun('other')])
      same((await claim(store, { runs: 1 })).suspects, undefined, 'before anybody died')
      await dieHolding(fixture)
      const taken = await claim(store, { suspects: 10 })
      same([taken.runs.length, taken.suspects], [1, undefined], 'when the last one is taken')
    },
  },
  {
    name: 'H10: a claim does not report suspects of other queues and names',
    async run(fixture) {
      const { store } = fixture
      await openSession(store)
      await store.create([newRun('run', { queue: 'x', name: 'y' })])
      await dieHolding(fixture, { queues: ['x'] })
      same((await claim(store)).suspects, undefined, 'in another queue')
      const named = { queues: ['x'], workflows: ['z'] }
      same((await claim(store, named)).suspects, undefined, 'with other code')
      same((await claim(store, { queues: ['x'] })).suspects, true, 'where it is')
    },
  },
  {
    name: 'H10: while there are suspects, a claim that asks for them gets nothing else',
    async run(fixture) {
      const { store } = fixture
      await openSession(store)
      await store.create([newRun('suspect')])
      await dieHolding(fixture)
      await store.create([newRun('sound', { priority: 9 })])
      same(idsOf((await claim(store, { suspects: 5 })).runs), ['suspect'], 'suspects')
      same(idsOf((await claim(store, { suspects: 5 })).runs), ['sound'], 'when there are none')
    },
  },
  {
    name: 'H10: a claim for 0 suspects gets the other runs as if there were none',
    async run(fixture) {
      const { store } = fixture
      await openSession(store)
      await store.create([newRun('suspect', { priority: 9 })])
      await dieHolding(fixture)
      await store.create([newRun('sound')])
      const { runs, suspects } = await claim(store, { suspects: 0 })
      same([idsOf(runs), suspects], [['sound'], true], 'the sound one, and word of the other')
    },
  },
  {
    name: 'H10: at most as many suspects as asked for come together',
    async run(fixture) {
      const { store } = fixture
      await openSession(store)
      await store.create(numbered('run', 9).map((id) => newRun(id)))
      same((await dieHolding(fixture)).runs.length, 9, 'the dead one held them all')
      const group = await claim(store, { runs: 9, suspects: 4 })
      same([group.runs.length, group.suspects], [4, true], 'a group')
      same((await claim(store, { runs: 9, suspects: 4 })).runs.length, 4, 'the next')
      same((await claim(store, { runs: 9, suspects: 4 })).runs.length, 1, 'the last')
    },
  },
  {
    name: 'H10: a run that lost more than one holder comes alone',
    async run(fixture) {
      const { store } = fixture
      await openSession(store)
      await store.create(numbered('run', 6).map((id) => newRun(id)))
      await dieHolding(fixture)
      same((await dieHolding(fixture, { suspects: 3 })).runs.length, 3, 'a group dies')
      const groups: number[][] = []
      for (let round = 0; round < 6; round++) {
        const { runs } = await claim(store, { suspects: 10 })
        groups.push(runs.map((run) => run.deliveries))
      }
      const sizes = groups.map((group) => group.join('+')).filter((group) => group !== '')
      same(sizes.sort(), ['2+2+2', '3', '3', '3'], 'deliveries in each claim')
    },
  },
  {
    name: 'H10: a suspect that is released is no longer a suspect',
    async run(fixture) {
      const { store } = fixture
      await openSession(store)
      await store.create([newRun('run')])
      await dieHolding(fixture)
      const run = only((await claim(store, { suspects: 1 })).runs, 'suspects')
      await release(store, run)
      await store.post([postTo('run', 'm1')])
      same(only((await claim(store)).runs, 'sound runs').deliveries, 1, 'deliveries')
    },
  },
  {
    name: 'a turn that keeps the lease does not clear the count of deliveries',
    async run(fixture) {
      const { store } = fixture
      await openSession(store)
      await store.create([newRun('run')])
      await dieHolding(fixture)
      const run = only((await claim(store, { suspects: 1 })).runs, 'suspects')
      await apply(store, turn(run))
      same((await snapshot(store, 'run')).deliveries, 2, 'deliveries')
    },
  },
  {
    name: 'INV12: a run that ended is no suspect, though its holder dies',
    async run(fixture) {
      const { store, clock } = fixture
      await openSession(store)
      await store.create([newRun('run')])
      const session = ALICE + 50
      await openSession(store, session, 1_000)
      const run = await take(store, 'run', session)
      await apply(store, turn(run, { next: ended }))
      await clock.advance(1_000)
      const { runs, suspects } = await claim(store, { suspects: 10 })
      same([runs.length, suspects], [0, undefined], 'the claim')
    },
  },
  {
    name: 'H10: the count of deliveries grows with every holder that dies',
    async run(fixture) {
      const { store } = fixture
      await openSession(store)
      await store.create([newRun('run')])
      for (let death = 1; death <= 4; death++) {
        const run = only((await dieHolding(fixture, { suspects: 1 })).runs, 'claimed runs')
        same(run.deliveries, death, 'deliveries')
      }
      holds((await take(store, 'run')).deliveries === 5, 'the fifth delivery')
    },
  },
]
