// The whole system on virtual time, under faults, from seeds. Object storage and random programs have files of their own,
// so that the seeds are spread over all cores.
import { expect, test } from 'vitest'
import type { SimulationEnd } from '../../src/testing/simulator.ts'
import { count, first } from './seeds.ts'
import { simulateSeed } from './simulate-seed.ts'

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

// Not the whole trace: runs that move at the same instant may do so in another order. And not where in pawl an error was met.
function historiesOf({ tables }: SimulationEnd): Map<string, string[]> {
  const found = [...tables.turns].map(
    ([runId, turns]) => [runId, turns.map(({ body }) => withoutStacks(body))] as const,
  )
  return new Map(found.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function withoutStacks(body: string): string {
  return JSON.stringify(JSON.parse(body), (key, value: unknown) => (key === 'stack' ? undefined : value))
}
