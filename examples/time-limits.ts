// How long things may take, how an attempt tells that it lives, and what the next attempt finds of it.
import assert from 'node:assert/strict'
import { ActivityError, activity, open, RunError, signal, workflow } from 'pawl'

const seen: number[] = []
const mails: string[] = []

/** Copies rows; hangs in its first attempt. The second goes on where the first said it was. */
const copy = activity(
  'copy',
  { heartbeat: '500ms', startToClose: '10s', retry: { maxAttempts: 3, initial: '10ms' } },
  async (rows: number, ctx) => {
    const from = ctx.lastHeartbeat<{ row: number }>()?.row ?? 0
    seen.push(from)
    // Known to all attempts of this step, once it is written down.
    await ctx.runOnce('announce', () => void mails.push(`copying ${rows} rows`))
    for (let row = from + 1; row <= rows; row++) {
      ctx.heartbeat({ row })
      if (row === 3 && ctx.attempt === 1) await new Promise(() => {})
    }
    return rows
  },
)
/** Nobody serves this queue. */
const far = activity('far', { queue: 'far away' }, async () => 'never')
/** A failure is final, whatever it is; only the death of a worker has it run again. */
const once = activity('once', { retry: { nonRetryable: ['*'] } }, async () => {
  throw new TypeError('no')
})

const work = workflow('work', async (ctx) => {
  const told: unknown[] = [await ctx.run(copy, 5)]
  const tries = [
    () => ctx.run(far, undefined, { scheduleToStart: '100ms' }),
    () => ctx.run('slow', { startToClose: '50ms', retry: 'none' }, () => new Promise(() => {})),
    () => ctx.run(once),
  ]
  for (const attempt of tries) {
    try {
      await attempt()
    } catch (error) {
      if (!(error instanceof ActivityError)) throw error
      told.push([error.reason, error.failure.type, error.failure.code])
    }
  }
  return told
})
const idle = workflow('idle', { runTimeout: '200ms' }, async (ctx) => ctx.wait(signal('never')))

const pawl = await open('sqlite:./pawl.db', { workflows: [work, idle], activities: [copy, once] })
pawl.work()
const told = await pawl.execute(work)
console.log(told, seen, mails)
const late = await pawl.execute(idle).catch((error: unknown) => error)
console.log(String(late))
await pawl.close()

assert.deepEqual(told, [
  5,
  ['timeout', 'Timeout', 'SCHEDULE_TO_START'],
  ['timeout', 'Timeout', 'START_TO_CLOSE'],
  ['non-retryable', 'TypeError', undefined],
])
assert.deepEqual([seen, mails], [[0, 3], ['copying 5 rows']])
assert.ok(late instanceof RunError && late.failure.code === 'RUN_TIMEOUT')
