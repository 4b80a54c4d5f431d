// node test/simulation/run.ts <first seed> <count> [trace] [memory|objects] [sink|graph|calm graph|streams]: simulates seeds until one fails, and says how to see it again.
import type { SimulationEnd } from '../../src/testing/simulator.ts'
import { simulateGraphs } from './simulate-graphs.ts'
import { simulateSeed } from './simulate-seed.ts'
import { simulateSink } from './simulate-sink.ts'
import { simulateStreams } from './simulate-streams.ts'

const has = (word: string): boolean => process.argv.includes(word)
const store = has('objects') ? 'objects' : 'memory'
const [first = 1, count = 1] = process.argv.slice(2, 4).map(Number)

interface Simulated {
  readonly violations: readonly string[]
  readonly end: SimulationEnd
  /** What was to be done, where that is not the same for every seed. */
  readonly described?: readonly string[]
}

function simulate(seed: number): Promise<Simulated> {
  if (has('streams')) return simulateStreams(seed, { store, calm: has('calm') })
  if (has('graph')) return simulateGraphs(seed, { store, calm: has('calm') })
  return has('sink') ? simulateSink(seed, { store }) : simulateSeed(seed, { store })
}

for (let seed = first; seed < first + count; seed++) {
  const result = await simulate(seed)
  const { violations, end } = result
  if (has('trace')) {
    console.log(end.ledger.trace.join('\n'))
    for (const text of result.described ?? []) console.log(text)
  }
  if (violations.length === 0) continue
  console.log(`seed ${seed}: ${violations.length} violations\n${violations.slice(0, 10).join('\n')}`)
  const what = [store, ...['sink', 'calm', 'graph', 'streams'].filter(has)].join(' ')
  console.log(`see it again: node test/simulation/run.ts ${seed} 1 trace ${what}`)
  process.exit(1)
}
console.log(`${count} seeds, no violation`)
