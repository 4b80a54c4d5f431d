// Activities that are started on their own, without a workflow around them.
import { type AnyWorkflow, activity, signal, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { kinds, rejection, useStore, waitsFor } from './each-store.ts'

const retry = { initial: '1ms', maxAttempts: 3 } as const
const charge = activity.declare<{ cents: number }, string>('charge', { queue: 'payments', retry })

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)
  const payments = { queues: ['payments'] }

  test('api gap 12: an activity is started like a workflow, with its retries and in its queue', async () => {
    const keys = new Set<string>()
    const code = charge.implement(async ({ cents }, { attempt, idempotencyKey }) => {
      keys.add(idempotencyKey)
      if (attempt < 3) throw new Error('the bank is busy')
      return `paid ${cents}`
    })
    // A worker that does not serve its queue leaves it alone.
    const engine = await bench.serve({ activities: [code] })
    const run = await engine.start(charge, { cents: 5 }, { workflowId: 'order-1' })
    expect(await waitsFor(run, 'noWorker')).toMatchObject({ type: 'activity:charge' })
    await bench.serve({ activities: [code] }, payments)
    expect(await run.result()).toBe('paid 5')
    expect(keys.size).toBe(1)
    expect(await engine.get(charge, { workflowId: 'order-1' }).describe()).toMatchObject({
      name: 'activity:charge',
      queue: 'payments',
      status: 'completed',
    })
    const { items } = await engine.list({ workflow: charge })
    expect(items.map(({ runId }) => runId)).toEqual([run.runId])
    const options = { idempotencyKey: 'order-2' }
    const first = await engine.start(charge, { cents: 6 }, options)
    const again = await engine.start(charge, { cents: 6 }, options)
    expect([again.runId, again.isNew]).toEqual([first.runId, false])
  })

  test('an activity is started by a schedule, in its queue', async () => {
    const code = charge.implement(async ({ cents }) => `paid ${cents}`)
    const engine = await bench.serve({ activities: [code] }, payments)
    const input = { cents: 5 }
    const job = await engine.schedules.set('job', { cron: '@yearly', workflow: charge, input })
    const { plan } = await job.describe()
    const again = await engine.schedules.set('again', plan)
    const from = new Date('2026-01-01T00:00:00Z')
    await again.backfill({ from, to: from })
    const filled = engine.get({ workflowId: `again@${from.toISOString()}` })
    await expect
      .poll(() => filled.describe().catch(() => 'not yet'))
      .toMatchObject({
        name: 'activity:charge',
        queue: 'payments',
      })
    const run = await again.trigger()
    expect([await run.result(), await filled.result()]).toEqual(['paid 5', 'paid 5'])
    expect(await run.describe()).toMatchObject({ queue: 'payments' })
    await again.update({ workflow: workflow.declare<{ cents: number }, unknown>('other') })
    expect(await (await again.trigger()).describe()).toMatchObject({ queue: 'default' })
  })

  test('it fails as an activity does, can be cancelled, and many can be started at once', async () => {
    const refused = charge.implement(async ({ cents }, { signal: stopped }) => {
      if (cents === 0) throw new TypeError('nothing to pay')
      if (cents > 1_000)
        await new Promise((_, reject) => stopped.addEventListener('abort', () => reject(stopped.reason)))
      return `paid ${cents}`
    })
    const engine = await bench.serve({ activities: [refused] }, payments)
    const [none, some, more] = await engine.startMany(charge, [
      { input: { cents: 0 } },
      { input: { cents: 7 } },
      { input: { cents: 5_000 } },
    ])
    expect(await rejection(none?.result() ?? Promise.resolve())).toMatchObject({
      name: 'RunError',
      failure: { type: 'ActivityError', message: expect.stringContaining('nothing to pay') },
    })
    expect(await some?.result()).toBe('paid 7')
    if (!more) throw new Error('three were started')
    await waitsFor(more, 'activity')
    await more.cancel('too much')
    expect(await rejection(more.result())).toMatchObject({ reason: 'too much' })
  })
})

test('names of workflows do not clash with those of activities', async () => {
  const { open } = await import('pawl')
  const clash = workflow('activity:charge', async () => 1)
  expect(await rejection(open('memory:', { workflows: [clash] }))).toMatchObject({
    code: 'DEFINITION_INVALID',
    message: expect.stringContaining("'activity:'"),
  })
  await using engine = await open('memory:')
  const no = signal('no') as unknown as AnyWorkflow
  expect(await rejection(engine.start(no, undefined as never))).toMatchObject({
    code: 'INPUT_INVALID',
  })
})
