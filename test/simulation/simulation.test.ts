// The whole system on virtual time, under faults, from seeds. PAWL_SEEDS raises their number; PAWL_SEED_FIRST moves on.
import { expect, test } from 'vitest'
import type { SimulationEnd } from '../../src/testing/simulator.ts'
import { simulateSeed } from './simulate-seed.ts'
import { simulateSink } from './simulate-sink.ts'
import { asked, decidedCold, decidedWarm, runsOf, turnsIn } from './three-ways.ts'

const count = Number(process.env['PAWL_SEEDS'] ?? 2_000)
const first = Number(process.env['PAWL_SEED_FIRST'] ?? 1)

test(`INV1–INV15: ${count} seeds under crashes, freezes and a bad network, no violation`, {
  timeout: 600_000,
}, async () => {
  let crashes = 0
  let runs = 0
  for (let seed = first; seed < first + count; seed++) {
    const { violations, end } = await simulateSeed(seed)
    expect(violations, `seed ${seed}: node test/simulation/run.ts ${seed} 1 trace`).toEqual([])
    crashes += end.crashes
    runs += end.tables.ended.size
  }
  // A simulation in which nothing happens proves nothing.
  expect(crashes).toBeGreaterThan(count / 2)
  expect(runs).toBeGreaterThan(count * 4)
})

test(`P1, P15: ${count / 2} seeds on object storage that loses, repeats and delays requests`, {
  timeout: 600_000,
}, async () => {
  let ghosts = 0
  for (let seed = first; seed < first + count / 2; seed++) {
    const { violations, end } = await simulateSeed(seed, { store: 'objects' })
    expect(violations, `seed ${seed}: node test/simulation/run.ts ${seed} 1 trace objects`).toEqual(
      [],
    )
    ghosts += end.ledger.trace.filter((line) => line.includes('ghost')).length
  }
  // Numbers that were used again after they had been swept away: the worst that compaction can do.
  expect(ghosts).toBeGreaterThan(count / 50)
})

test.each(['memory', 'objects'] as const)(
  'a seed replays to the identical trace: %s',
  {
    timeout: 60_000,
  },
  async (store) => {
    for (const seed of [3, 40, 94, 188, 1_000_003]) {
      const one = await simulateSeed(seed, { store })
      const two = await simulateSeed(seed, { store })
      expect(one.end.ledger.trace.length).toBeGreaterThan(20)
      expect(two.end.traceHash).toBe(one.end.traceHash)
    }
  },
)

test('INV4: executions that are replayed at every turn do what warm ones do', {
  timeout: 120_000,
}, async () => {
  for (let seed = 1; seed <= 100; seed++) {
    const warm = await simulateSeed(seed, { alwaysReplay: false, calm: true })
    const cold = await simulateSeed(seed, { alwaysReplay: true, calm: true })
    expect(cold.violations).toEqual([])
    expect(historiesOf(cold.end), `seed ${seed}`).toEqual(historiesOf(warm.end))
  }
})

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

test(`random programs on object storage: ${count / 10} seeds`, { timeout: 600_000 }, async () => {
  for (let seed = first; seed < first + count / 10; seed++) {
    const { violations } = await simulateSink(seed, { store: 'objects' })
    const how = `seed ${seed}: node test/simulation/run.ts ${seed} 1 trace objects sink`
    expect(violations, how).toEqual([])
  }
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

// Not the whole trace: runs that move at the same instant may do so in another order. And not where in pawl an error was met.
function historiesOf({ tables }: SimulationEnd): Map<string, string[]> {
  const found = [...tables.turns].map(
    ([runId, turns]) => [runId, turns.map(({ body }) => withoutStacks(body))] as const,
  )
  return new Map(found.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function withoutStacks(body: string): string {
  return JSON.stringify(JSON.parse(body), (key, value: unknown) =>
    key === 'stack' ? undefined : value,
  )
}
