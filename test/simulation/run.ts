// node test/simulation/run.ts <first seed> <count> [trace] [memory|objects] [sink]: simulates seeds until one fails, and says how to see it again.
import { simulateSeed } from './simulate-seed.ts'
import { simulateSink } from './simulate-sink.ts'

const store = process.argv.includes('objects') ? 'objects' : 'memory'
const [first = 1, count = 1] = process.argv.slice(2, 4).map(Number)
for (let seed = first; seed < first + count; seed++) {
  const { violations, end } = process.argv.includes('sink')
    ? await simulateSink(seed, { store })
    : await simulateSeed(seed, { store })
  if (process.argv.includes('trace')) console.log(end.ledger.trace.join('\n'))
  if (violations.length === 0) continue
  console.log(
    `seed ${seed}: ${violations.length} violations\n${violations.slice(0, 10).join('\n')}`,
  )
  const what = process.argv.includes('sink') ? `${store} sink` : store
  console.log(`see it again: node test/simulation/run.ts ${seed} 1 trace ${what}`)
  process.exit(1)
}
console.log(`${count} seeds, no violation`)
