// The process that gets killed: a worker like any other, that writes down what it does. It ends with its parent.
// Usage: node test/crash/worker.ts <store url> <ledger folder> <lease in ms> <queues> <longest step in ms>
import { flushCompileCache } from 'node:module'
import { open } from '../../src/index.ts'
import { definitions } from './definitions.ts'
import { LedgerFile } from './ledger.ts'

const [, , store = '', folder = '', lease = '1500', queues = 'default', stepMsMax = '80'] = process.argv

process.on('disconnect', () => process.exit(0))
const ledger = new LedgerFile(folder)
// One build for all: what differs between two starts of this file is nothing.
const engine = await open(store, { ...definitions(ledger, Number(stepMsMax)), build: 'crash' })
engine.on('activity.completed', ({ runId, step }) => ledger.write({ type: 'recorded', runId, key: step }))
engine.on('lease.lost', ({ runId }) => ledger.write({ type: 'lost', runId }))
const worker = engine.work({
  id: `w${process.pid}`,
  lease: Number(lease),
  queues: queues.split(','),
  concurrency: 100,
  signals: false,
})
await worker.ready
// It is written when a process exits, which this one is not going to live to see.
flushCompileCache()
process.send?.('ready')
