// Runs that start by the clock. A schedule is kept in the store; any worker keeps it going.
import assert from 'node:assert/strict'
import { setTimeout as later } from 'node:timers/promises'
import { open, workflow } from 'pawl'

const report = workflow('report', async (_ctx, region: string) => `report for ${region}`)

const pawl = await open('sqlite:./pawl.db', { workflows: [report] })
pawl.work()

// Said at every start of the program: the same id replaces what was there. In earnest: cron: '0 6 * * MON-FRI'.
const seconds = await pawl.schedules.set('seconds', {
  every: '1s',
  overlap: 'skip',
  catchUp: 'skip',
  workflow: report,
  input: 'eu',
  run: { attributes: { team: 'finance' } },
})
const done = {
  workflow: 'report',
  status: 'completed',
  attributes: { schedule: 'seconds' },
} as const
while ((await pawl.count(done)) < 2) await later(50)
await seconds.pause('seen enough')
// It is durable by now; the schedule shows it when a worker has heard it.
while (!(await seconds.describe()).paused) await later(50)
const { paused, note, next, lastRunId } = await seconds.describe()
console.log({ paused, note, next, lastRunId })

// Each run is named after its slot, and is found by it.
const [newest] = (await pawl.list(done)).items
console.log(newest?.workflowId, newest?.output, newest?.attributes)

// One now, and three slots of the past, although it is paused.
const extra = await seconds.trigger()
console.log(await extra.result())
const from = new Date('2026-01-31T06:00:00Z')
const filled = await seconds.backfill({ from, to: new Date(from.getTime() + 2_000) })
while ((await pawl.count({ ...done, attributes: { slot: { lt: new Date('2026-02-01') } } })) < 3) await later(50)

// At half past two every night in Berlin. Nothing is started here: it shows when it would be.
const nights = await pawl.schedules.set('nights', {
  cron: '30 2 * * *',
  timeZone: 'Europe/Berlin',
  workflow: report,
  input: 'de',
})
const { next: slots, plan } = await nights.describe()
console.log(slots.map((slot) => slot.toISOString()))

// The plan can be set again under another id, and changed in part: what is not named stays as it is.
const copy = await pawl.schedules.set('copy', plan)
const timings = [{ cron: '30 2 * * *', timeZone: 'Europe/Berlin' }, { every: '8h' }] as const
await copy.update({ timings, catchUp: 'all', catchUpWindow: '1h' })
const changed = async () => (await copy.describe()).plan
while ((await changed()).catchUpWindow !== '1h') await later(50)
const { input, overlap } = await changed()
for (const { id } of (await pawl.schedules.list()).items) await pawl.schedules.get(id).delete()
await pawl.close()

assert.deepEqual([paused, note, next], [true, 'seen enough', []])
assert.match(newest?.workflowId ?? '', /^seconds@.*:\d\d\.000Z$/)
assert.equal(newest?.attributes['team'], 'finance')
assert.equal(filled, 3)
assert.equal(slots.length, 5)
assert.deepEqual([input, overlap], ['de', 'allow'])
