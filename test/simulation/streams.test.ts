// Streams under crashes, freezes and a bad network.
import { expect, test } from 'vitest'
import { count, first } from './seeds.ts'
import { simulateStreams } from './simulate-streams.ts'

test.each([
  ['memory', Math.ceil(count / 8)],
  ['objects', Math.ceil(count / 80)],
] as const)(
  'W9: streams on %s have what an execution without faults writes',
  { timeout: 600_000 },
  async (store, seeds) => {
    for (let seed = first; seed < first + seeds; seed++) {
      const { violations } = await simulateStreams(seed, { store })
      expect(violations, `seed ${seed}: node test/simulation/run.ts ${seed} 1 trace ${store} streams`).toEqual([])
    }
  },
)
