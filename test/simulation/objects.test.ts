// The whole system on object storage, on virtual time, under faults, from seeds.
import { expect, test } from 'vitest'
import { count, first } from './seeds.ts'
import { simulateSeed } from './simulate-seed.ts'
import { simulateSink } from './simulate-sink.ts'

test(`P1, P15: ${count / 2} seeds on object storage that loses, repeats and delays requests`, {
  timeout: 600_000,
}, async () => {
  let ghosts = 0
  for (let seed = first; seed < first + count / 2; seed++) {
    const { violations, end } = await simulateSeed(seed, { store: 'objects' })
    expect(violations, `seed ${seed}: node test/simulation/run.ts ${seed} 1 trace objects`).toEqual([])
    ghosts += end.ledger.trace.filter((line) => line.includes('ghost')).length
  }
  // Numbers that were used again after they had been swept away: the worst that compaction can do.
  expect(ghosts).toBeGreaterThan(count / 50)
})

test(`random programs on object storage: ${count / 10} seeds`, { timeout: 600_000 }, async () => {
  for (let seed = first; seed < first + count / 10; seed++) {
    const { violations } = await simulateSink(seed, { store: 'objects' })
    const how = `seed ${seed}: node test/simulation/run.ts ${seed} 1 trace objects sink`
    expect(violations, how).toEqual([])
  }
})
