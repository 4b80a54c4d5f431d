// A worker whose steps write to streams, and that gets killed and stopped. It ends with its parent.
// Usage: node test/crash/stream-worker.ts <store url> <folder> <lease in ms> <queues> <longest step in ms>
import { randomUUID } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { sleep, systemClock } from '../../src/core/runtime/clock.ts'
import { type ActivityContext, activity, open } from '../../src/index.ts'
import { ROUNDS, recital, WORDS, type Word, words } from './stream-tale.ts'

const [, , store = '', folder = '', lease = '1000', , stepMsMax = '40'] = process.argv
// Every kill may cost an attempt, and no run may fail for that.
const RETRY = { maxAttempts: 100, initial: 10, max: 50 } as const

process.on('disconnect', () => process.exit(0))

async function recite(step: ActivityContext, by: 'again' | 'resumed', round: number): Promise<void> {
  const out = step.stream(words, { resume: by === 'resumed' })
  const execution = randomUUID()
  for (let n = await out.kept(); n < WORDS[by]; n++) {
    const word: Word = { by, round, execution, n }
    await out.write(word)
    if (Math.random() < 0.1) {
      await out.flush()
      // From here on the item is acknowledged: it must never be lost, whatever dies.
      appendFileSync(join(folder, 'acknowledged'), `${step.runId} ${execution} ${n}\n`)
    }
    await sleep(systemClock, (Math.random() * Number(stepMsMax)) / 2, step.signal)
  }
}

const again = activity('again', { retry: RETRY }, (round: number, ctx) => recite(ctx, 'again', round))
const told = recital.implement(async (ctx, round) => {
  const say = (n: number): void => ctx.stream(words).write({ by: 'code', round, execution: 'code', n })
  say(0)
  const resumed = ctx.run('resumed', { retry: RETRY }, (step) => recite(step, 'resumed', round))
  say(1)
  await Promise.all([ctx.run(again, round, { queue: 'others' }), resumed])
  say(2)
  await ctx.sleep(20)
  say(3)
  if (round < ROUNDS) return ctx.continueAsNew(round + 1)
  return round
})
const engine = await open(store, { workflows: [told], activities: [again], build: 'streams' })
const queues = ['default', 'others']
const worker = engine.work({ lease: Number(lease), queues, concurrency: 100, signals: false })
await worker.ready
flushCompileCache()
process.send?.('ready')
