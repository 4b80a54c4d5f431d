// Completes runs by processes that each serve a single call, a third of them killed with SIGKILL.
// Usage: node test/crash/serverless.ts --store sqlite|postgres|file|radosgw [--runs 1000] [--for-ms 800] [--seed 1]
import { parseArgs } from 'node:util'
import { onStore } from './kill.ts'
import { completeByCalls } from './serverless-calls.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite' },
    runs: { type: 'string', default: '1000' },
    'for-ms': { type: 'string', default: '800' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
const numbers = { runs: Number(values.runs), forMs: Number(values['for-ms']), seed: Number(values.seed) }
const report = await onStore(values.store, ({ store }) =>
  completeByCalls({ ...numbers, store, progress: (text) => console.log(text) }),
)
console.log(report)
if (report.violations.length + report.failures.length > 0) process.exitCode = 1
