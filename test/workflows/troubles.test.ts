// What goes wrong is told without anybody asking: one line in the log, and what to do about it from `why`.
import { activity, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { historyOf, kinds, rejection, useStore } from './each-store.ts'

const charge = activity('charge', { retry: { maxAttempts: 2, initial: 1 } }, async () => {
  throw new Error('card declined\nby the bank')
})
const checkout = workflow('checkout', async (ctx) => ctx.run(charge))

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)
  // Of runs: a server that has just been started may be slow, and a worker says so.
  const warnings = (): string[] =>
    bench.logged.flatMap(({ level, message }) => (level === 'warn' && message.startsWith('run ') ? [message] : []))

  test('users friction 2: a run that fails, and the step it fails by, are a line each in the log', async () => {
    const engine = await bench.serve({ workflows: [checkout], activities: [charge] })
    const run = await engine.start(checkout, undefined, { workflowId: 'order-1' })
    await rejection(run.result())
    const of = `run order-1 (${run.runId}) of 'checkout'`
    expect(warnings()).toEqual([
      `${of}: step activity:charge#1 failed after 2 attempts (exhausted): Error: card declined`,
      expect.stringMatching(/^run order-1 \(.*\) of 'checkout': it failed: ActivityError: [^\n]*$/),
    ])
  })

  test('users friction 2: why of a run that failed says how, and what to do', async () => {
    const engine = await bench.serve({ workflows: [checkout], activities: [charge] })
    const run = await engine.start(checkout)
    await rejection(run.result())
    expect(await run.why()).toEqual({
      reason: 'ended',
      status: 'failed',
      failure: expect.objectContaining({ type: 'ActivityError' }),
      suggestion: `See what happened: pawl run ${run.runId}\nResume it from the step that failed: pawl retry ${run.runId}`,
    })
  })

  test('users D8: a step that was not awaited, and so never begun, is told and recorded', async () => {
    let mails = 0
    const mail = activity('mail', () => void mails++)
    const forgets = workflow('forgets', async (ctx) => {
      void ctx.run(mail)
      void ctx.child(checkout)
      return 'done'
    })
    const engine = await bench.serve({ workflows: [forgets, checkout], activities: [mail] })
    const run = await engine.start(forgets)
    expect(await run.result()).toBe('done')
    const keys = ['activity:mail#1', 'child:checkout#1']
    const [end] = (await historyOf(run)).slice(-1)
    expect(end).toMatchObject({ type: 'RunCompleted', notBegun: keys })
    expect(warnings()).toEqual([
      `run ${run.runId} of 'forgets': it completed without ${keys.join(', ')}: its code did not await them, so they were never begun`,
    ])
    expect(mails).toBe(0)
  })

  test('users friction 7: an activity that was not given to a worker of its queue is told, once', async () => {
    const greet = activity('greet', () => 'hello')
    const far = activity('far', { queue: 'elsewhere' }, () => 'far')
    const order = workflow('order', async (ctx) => Promise.all([ctx.run(greet), ctx.run(greet), ctx.run(far)]))
    const engine = await bench.serve({ workflows: [order] })
    const run = await engine.start(order, undefined, { workflowId: 'order-1' })
    await bench.serve({ activities: [greet, far] }, { queues: ['default', 'elsewhere'] })
    expect(await run.result()).toEqual(['hello', 'hello', 'far'])
    expect(warnings()).toEqual([
      `run order-1 (${run.runId}) of 'order': activity 'greet' waits for another worker: this one serves queue 'default', and was not given its code`,
    ])
  })

  test('users friction 2: no warning of what a caller asked for', async () => {
    const engine = await bench.engine({ workflows: [checkout] })
    const run = await engine.start(checkout)
    await run.terminate('not needed')
    await bench.serve({ workflows: [checkout], activities: [charge] })
    await rejection(run.result())
    expect(warnings()).toEqual([])
    expect(await run.why()).toMatchObject({ failure: { type: 'Terminated' } })
  })
})
