// Random programs, compared with the model and with themselves.
import { expect, test } from 'vitest'
import { count, first } from './seeds.ts'
import { simulateSink } from './simulate-sink.ts'
import { asked, decidedCold, decidedWarm, runsOf, turnsIn } from './three-ways.ts'

test(`random programs from all primitives come to what the model says: ${count} seeds`, {
  timeout: 600_000,
}, async () => {
  let runs = 0
  for (let seed = first; seed < first + count; seed++) {
    const { violations, end } = await simulateSink(seed)
    expect(violations, `seed ${seed}: node test/simulation/run.ts ${seed} 1 trace sink`).toEqual([])
    runs += end.tables.ended.size
  }
  expect(runs).toBeGreaterThan(count * 3)
})

test('INV4: random programs ask for the same from the start, from the warm cache and after eviction', {
  timeout: 120_000,
}, async () => {
  let turns = 0
  for (let seed = 1; seed <= 200; seed++) {
    const { end, workflows } = await simulateSink(seed)
    for (const { head, events } of runsOf(end)) {
      const recorded = turnsIn(events)
      expect(await decidedWarm(workflows, head, recorded), `seed ${seed}`).toEqual(asked(recorded))
      expect(await decidedCold(workflows, head, recorded), `seed ${seed}`).toEqual(asked(recorded))
      turns += recorded.length
    }
  }
  expect(turns).toBeGreaterThan(1_000)
})
