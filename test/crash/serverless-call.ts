// A process that serves a single call, as a serverless function does: it works until nothing is due or its time is up,
// says what it did, and ends.
// Usage: node test/crash/serverless-call.ts <store url> <ledger folder> <for in ms> <longest step in ms>
import { flushCompileCache } from 'node:module'
import { open } from '../../src/index.ts'
import { definitions } from './definitions.ts'
import { LedgerFile } from './ledger.ts'

const [, , store = '', folder = '', forMs = '1000', stepMsMax = '80'] = process.argv

process.on('disconnect', () => process.exit(1))
flushCompileCache()
const ledger = new LedgerFile(folder)
const engine = await open(store, { ...definitions(ledger, Number(stepMsMax)), build: 'crash' })
engine.on('activity.completed', ({ runId, step }) => ledger.write({ type: 'recorded', runId, key: step }))
engine.on('lease.lost', ({ runId }) => ledger.write({ type: 'lost', runId }))
engine.on('worker.changed', ({ status }) => process.send?.({ status }))
const worked = await engine.workUntilIdle({
  for: Number(forMs),
  queues: ['default', 'other'],
  // A few at once, so that the work takes many calls.
  concurrency: 4,
  signals: false,
})
await engine.close()
process.send?.({ worked }, undefined, undefined, () => process.exit(0))
