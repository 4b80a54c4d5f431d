// Runs are found by what they wait for and why they failed, by their parent, and by how their workflow id begins.
import { activity, type Engine, type PawlError, type RunFilter, signal, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { kinds, rejection, until, useStore } from './each-store.ts'

const approval = signal('approval')
const elsewhere = activity.declare<undefined, void>('elsewhere')
const declines = activity('declines', async () => {
  throw Object.assign(new Error('no'), { name: 'CardDeclined' })
})

const forTimer = workflow('for-timer', async (ctx) => ctx.sleep('1d'))
const waits = {
  'signal:approval': workflow('for-signal', async (ctx) => ctx.wait(approval, { timeout: '1d' })),
  timer: forTimer,
  condition: workflow('for-condition', async (ctx) => ctx.wait(() => false)),
  'webhook:paid': workflow('for-webhook', async (ctx) => ctx.wait(ctx.webhook('paid'))),
  'activity:elsewhere': workflow('for-activity', async (ctx) => ctx.run(elsewhere, undefined, { queue: 'nobody' })),
  'child:for-timer': workflow('for-child', async (ctx) => ctx.child(forTimer)),
} as const
const fails = workflow('fails', async (ctx) => ctx.run(declines, undefined, { retry: { maxAttempts: 1 } }))
const throws = workflow('throws', async () => {
  throw new RangeError('too far')
})
const workflows = [...Object.values(waits), fails, throws]

async function idsOf(engine: Engine, filter: RunFilter): Promise<string[]> {
  const { items } = await engine.list(filter)
  expect(await engine.count(filter)).toBe(items.length)
  return items.map(({ workflowId }) => workflowId).toSorted()
}

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('O4 O8: what a run waits for, with its name or by its kind; and why it failed', async () => {
    const engine = await bench.serve({ workflows, activities: [declines] })
    for (const [reason, flow] of Object.entries(waits)) {
      const run = await engine.start(flow, undefined, { workflowId: reason })
      await until(
        () => run.describe(),
        ({ waitingFor }) => waitingFor === reason,
      )
      expect(await idsOf(engine, { waitingFor: reason })).toEqual([reason])
    }
    expect(await idsOf(engine, { waitingFor: 'signal' })).toEqual(['signal:approval'])
    expect(await idsOf(engine, { waitingFor: 'webhook', workflow: ['for-webhook', 'for-timer'] })).toHaveLength(1)
    expect(await idsOf(engine, { waitingFor: 'signal:appro' })).toEqual([])
    expect(await idsOf(engine, { waitingFor: 'timer', status: 'paused' })).toEqual([])
    for (const flow of [fails, throws]) {
      const run = await engine.start(flow, undefined, { workflowId: flow.name })
      await rejection(run.result())
    }
    expect(await idsOf(engine, { failure: 'CardDeclined' })).toEqual(['fails'])
    expect(await idsOf(engine, { failure: 'RangeError', status: ['failed', 'paused'] })).toEqual(['throws'])
    expect(await idsOf(engine, { failure: 'RangeError', status: 'completed' })).toEqual([])
    expect(await idsOf(engine, { failure: 'Error' })).toEqual([])
  })

  test('O4: children, prefixes of workflow ids, several workflows, and a count that stops', async () => {
    const engine = await bench.serve({ workflows })
    const parent = await engine.start(waits['child:for-timer'], undefined, { workflowId: 'order/7' })
    await engine.start(forTimer, undefined, { workflowId: 'order/8' })
    await engine.start(waits.condition, undefined, { workflowId: 'Order/9' })
    const [child] = await until(
      async () => (await engine.list({ parentRunId: parent.runId })).items,
      ({ length }) => length === 1,
    )
    expect(child).toMatchObject({ name: 'for-timer', parentRunId: parent.runId })
    expect(await idsOf(engine, { workflowIdPrefix: 'order/' })).toEqual(['order/7', 'order/8'])
    expect(await engine.count({ workflow: [forTimer, 'for-condition'] })).toBe(3)
    expect(await engine.count({}, { atMost: 2 })).toBe(2)
  })

  test('what is no reason, run id or number is refused with what was expected', async () => {
    const engine = await bench.engine()
    const refused: readonly [Promise<unknown>, PawlError['code'], string][] = [
      [engine.list({ waitingFor: 'singal:approval' }), 'INPUT_INVALID', 'signal'],
      [engine.list({ parentRunId: 'order-1' }), 'RUN_ID_INVALID', 'UUID'],
      [engine.count({}, { atMost: 0 }), 'INPUT_INVALID', 'atMost'],
      [engine.count({ waitFor: 'timer' } as never), 'INPUT_INVALID', 'waitingFor'],
    ]
    for (const [call, code, text] of refused) {
      expect(await rejection(call)).toMatchObject({ code, message: expect.stringContaining(text) })
    }
  })
})
