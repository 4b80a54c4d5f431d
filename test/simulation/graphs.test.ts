// Random graphs on virtual time, compared with a naive reference.
import { expect, test } from 'vitest'
import { count, first } from './seeds.ts'
import { CALM_GRAPHS, type GraphOptions, simulateGraphs } from './simulate-graphs.ts'
import { asked, decidedCold, decidedWarm, runsOf, turnsIn } from './three-ways.ts'

const calmSeeds = Math.ceil(count * 0.45)
const faultySeeds = Math.ceil(count * 0.35)

interface Tally {
  graphs: number
  crashes: number
  readonly ends: Record<string, number>
}

async function simulateAll(seeds: number, options: GraphOptions, how: string): Promise<Tally> {
  const tally: Tally = { graphs: 0, crashes: 0, ends: {} }
  for (let seed = first; seed < first + seeds; seed++) {
    const { violations, end, stories } = await simulateGraphs(seed, options)
    const again = `seed ${seed}: node test/simulation/run.ts ${seed} 1 trace ${how}`
    expect(violations, again).toEqual([])
    tally.graphs += stories.length
    tally.crashes += end.crashes
    for (const { runId = '', generation } of stories) {
      const status = end.tables.run(runId)?.status ?? 'missing'
      const what = generation > 1 ? `${status} again` : status
      tally.ends[what] = (tally.ends[what] ?? 0) + 1
    }
  }
  return tally
}

// A simulation in which nothing happens proves nothing.
function expectVariety({ graphs, ends }: Tally): void {
  for (const each of ['completed', 'failed', 'cancelled', 'completed again', 'failed again'])
    expect(ends[each] ?? 0, each).toBeGreaterThan(graphs / 200)
}

test(`D4, D6: ${calmSeeds * CALM_GRAPHS} graphs in peace do what the reference says`, {
  timeout: 600_000,
}, async () => {
  expectVariety(await simulateAll(calmSeeds, { calm: true }, 'memory calm graph'))
})

test(`D4, D6, R7: graphs of ${faultySeeds} seeds under crashes, freezes and a bad network do, too`, {
  timeout: 600_000,
}, async () => {
  const tally = await simulateAll(faultySeeds, {}, 'memory graph')
  const { graphs, crashes } = tally
  expectVariety(tally)
  expect(graphs).toBeGreaterThan(faultySeeds * 1.3)
  expect(crashes).toBeGreaterThan(faultySeeds / 4)
})

test('D4, D6, R7: and on object storage', { timeout: 600_000 }, async () => {
  await simulateAll(count / 20, { store: 'objects' }, 'objects graph')
})

test('a seed of graphs replays to the identical trace', { timeout: 60_000 }, async () => {
  for (const seed of [3, 40, 188]) {
    const one = await simulateGraphs(seed)
    const two = await simulateGraphs(seed)
    expect(two.end.traceHash).toBe(one.end.traceHash)
  }
})

test('INV4: graphs ask for the same from the start, from the warm cache and after eviction', {
  timeout: 120_000,
}, async () => {
  let turns = 0
  for (let seed = 1; seed <= 120; seed++) {
    const { end, workflows, stories } = await simulateGraphs(seed, { calm: seed % 5 === 0 })
    // What a condition said that changes its mind, or code that was mended meanwhile, cannot be asked for again.
    const steady = stories.filter(
      ({ spec, generation }) => generation === 1 && spec.steps.every(({ when }) => when !== 'fickle'),
    )
    const names = new Set(steady.map(({ name }) => name))
    for (const { head, events } of runsOf(end)) {
      if (!names.has(head.name)) continue
      const recorded = turnsIn(events)
      expect(await decidedWarm(workflows, head, recorded), `seed ${seed}`).toEqual(asked(recorded))
      expect(await decidedCold(workflows, head, recorded), `seed ${seed}`).toEqual(asked(recorded))
      turns += recorded.length
    }
  }
  expect(turns).toBeGreaterThan(1_000)
})
