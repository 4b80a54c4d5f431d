// A history that grows by large values, rather than by many events, ends as well. The limit is the worker's and not the
// store's, so memory is enough.
import { activity, type RunHandle, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { limits } from '../../src/core/base/limits.ts'
import { tooLong } from '../../src/core/worker/errors.ts'
import { type Bench, rejection, useStore } from './each-store.ts'

const large = 'x'.repeat(limits.payloadBytesMax - 1_000)
/** As many of them as are in a history at its limit, and some more. */
const count = Math.ceil(limits.historyBytesMax / large.length) + 20

async function expectTooLong(bench: Bench, run: RunHandle<unknown>): Promise<void> {
  const error = await rejection(run.result())
  expect(error).toMatchObject({ failure: { type: 'HistoryTooLong', retryable: false } })
  expect((error as Error).message).toMatch(/passed 268435456 bytes.*continueAsNew/)
  expect(bench.logged.filter(({ message }) => message.includes('it fails'))).toMatchObject([
    { level: 'warn', message: expect.stringContaining(run.runId) },
  ])
}

describe('faults 4.5: a history has a limit in bytes', { timeout: 120_000 }, () => {
  const bench = useStore('memory')

  test('of the results of a function', async () => {
    const grows = workflow('grows', async (ctx) => {
      for (let step = 0; step < count; step++) await ctx.run('large', () => large)
    })
    const engine = await bench.serve({ workflows: [grows] })
    await expectTooLong(bench, await engine.start(grows))
  })

  test('of the inputs of a graph that is given as data', async () => {
    const keep = activity('keep', async () => 1)
    const engine = await bench.serve({ activities: [keep] })
    const submitted = await engine.submit({
      name: 'amplifies',
      nodes: [
        {
          id: 'all',
          handler: 'keep',
          each: '{{ input.items }}',
          with: { text: '{{ input.text }}', item: '{{ item }}' },
        },
      ],
    })
    const items = Array.from({ length: count }, (_, index) => index)
    const text = large.slice(0, -10_000)
    await expectTooLong(bench, await engine.start(submitted, { items, text }))
  })
})

test('a history at its limits goes on', () => {
  expect(tooLong(limits.historyEventsMax, limits.historyBytesMax)).toBe(undefined)
  expect(tooLong(limits.historyEventsMax + 1, 0)).toMatchObject({ type: 'RunFailed' })
})
