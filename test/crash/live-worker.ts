// A worker whose runs are followed live, and that gets killed. It ends with its parent.
// Usage: node test/crash/live-worker.ts <store url> <folder> <lease in ms> <queues> <longest step in ms>
import { flushCompileCache } from 'node:module'
import { sleep, systemClock } from '../../src/core/runtime/clock.ts'
import { type ActivityContext, open } from '../../src/index.ts'
import { tale } from './live-tale.ts'

const [, , store = '', , lease = '1500', queues = 'default', stepMsMax = '40'] = process.argv
// Every kill may cost an attempt, and no run may fail for that.
const RETRY = { maxAttempts: 100, initial: 10, max: 50 } as const

process.on('disconnect', () => process.exit(0))
const body = async (step: ActivityContext): Promise<string> => {
  await sleep(systemClock, Math.random() * Number(stepMsMax), step.signal)
  return 'x'.repeat(Math.random() * 2_000)
}
/** Turns with one event and with many, in several generations. */
const told = tale.implement(async (ctx, left) => {
  for (let n = 0; n < 6; n++) {
    await ctx.run('one', { retry: RETRY }, body)
    await Promise.all([1, 2, 3, 4].map((each) => ctx.run(`part${each}`, { retry: RETRY }, body)))
    if (n % 3 === 0) await ctx.sleep(20)
  }
  if (left > 0) return ctx.continueAsNew(left - 1)
  return left
})
const engine = await open(store, { workflows: [told], build: 'live' })
const worker = engine.work({ lease: Number(lease), queues: queues.split(','), concurrency: 100, signals: false })
await worker.ready
flushCompileCache()
process.send?.('ready')
