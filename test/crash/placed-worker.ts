// A worker of one of three kinds, that writes down which activities began in it.
// Usage: node test/crash/placed-worker.ts <store url> <ledger folder> <role>
import { appendFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { open } from '../../src/index.ts'
import { implement, placed, roles } from './placed-definitions.ts'

const [, , store = '', folder = '', role = '0'] = process.argv
const { queues, code, holds } = roles[Number(role)] ?? { queues: [], code: [], holds: false }

process.on('disconnect', () => process.exit(0))
// One write for one line: a process that is killed leaves whole lines, or none.
const began = (name: string): void => appendFileSync(join(folder, 'begun'), `${role} ${name}\n`)
const engine = await open(store, {
  workflows: holds ? [placed] : [],
  activities: code.map((name) => implement(name, began)),
  build: 'placed',
  logger: { log: () => {} },
})
const worker = engine.work({ queues, lease: 1_000, grace: 200 })
await worker.ready
flushCompileCache()
process.send?.('ready')
