// Requests made from the schemas of every operation, and near misses. A million: see test/server/fuzz.ts.
import { expect, test } from 'vitest'
import { fuzz } from './fuzz.ts'

const COUNT = 20_000

test('20,000 hostile requests: no answer but those the API describes, no crash, no log line', async () => {
  const { found, statuses } = await fuzz(COUNT, 20_261_118)
  expect(found).toEqual([])
  // Not only refusals: a fuzz that is never let in proves nothing.
  const answered = Object.values(statuses).reduce((sum, count) => sum + count, 0)
  expect(answered).toBeGreaterThan(COUNT * 0.95)
  const succeeded = ['200', '201', '202', '204'].reduce((sum, status) => sum + (statuses[status] ?? 0), 0)
  expect(succeeded).toBeGreaterThan(COUNT * 0.25)
}, 180_000)
