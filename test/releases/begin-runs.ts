// Starts runs of every kind, and prints their ids and inputs; or says why it cannot.
// Usage: node test/crash/begin-runs.ts <store url> <how many of each>
import { open, PawlError } from '../../src/index.ts'
import { contracts } from '../crash/definitions.ts'

const [, , store = '', count = '5'] = process.argv
try {
  const engine = await open(store)
  const started: [string, number][] = []
  for (const contract of Object.values(contracts)) {
    for (let n = 1; n <= Number(count); n++) started.push([(await engine.start(contract, n)).runId, n])
  }
  await engine.close()
  console.log(JSON.stringify({ started }))
} catch (error) {
  if (!(error instanceof PawlError)) throw error
  console.log(JSON.stringify({ code: error.code }))
}
