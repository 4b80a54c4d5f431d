// An activity runs only where its queue is served and its code is: on its first attempt, and on every other.
import { ActivityError, activity, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { Gate, historyOf, kinds, useStore, waitsFor } from './each-store.ts'

const retry = { initial: '10ms', maxAttempts: 4 } as const
const render = activity.declare<string, string>('render', { queue: 'heavy', retry })
const asks = workflow('asks', async (ctx, what: string) => ctx.run(render, what))

/** Code of the activity that says where and as which attempt it ran, and fails as often as it is told to. */
function renders(where: string[], name: string, failures: number) {
  return render.implement(async (what, { attempt }) => {
    where.push(`${name} ${attempt}`)
    if (attempt <= failures) throw new Error(`attempt ${attempt} fails`)
    return `${what}!`
  })
}

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)
  const all = { queues: ['default', 'heavy'] }
  const heavy = { queues: ['heavy'] }

  test('W2, api D1: what is drained in a back-off goes on where its queue is served, with the attempts it has left', async () => {
    const where: string[] = []
    const slow = activity.declare<string, string>('render', {
      queue: 'heavy',
      retry: { ...retry, initial: '2s', max: '2s' },
    })
    const patient = workflow('patient', async (ctx, what: string) => ctx.run(slow, what))
    const code = renders(where, 'one', 2)
    const one = await bench.worker({ workflows: [patient], activities: [code] }, all)
    const run = await one.engine.start(patient, 'page')
    expect(await waitsFor(run, 'backoff')).toMatchObject({ failure: { type: 'Error' } })
    await one.worker.drain()
    // One that has no code, and one that has it and does not serve the queue.
    const bare = await bench.serve({ workflows: [patient] })
    await bench.serve({ workflows: [patient], activities: [renders(where, 'wrong', 9)] })
    const again = bare.get(patient, run.runId)
    expect(await waitsFor(again, 'noWorker')).toMatchObject({ type: 'render' })
    await bench.serve({ activities: [renders(where, 'right', 2)] }, heavy)
    expect(await again.result()).toBe('page!')
    expect(where).toEqual(['one 1', 'right 2', 'right 3'])
    const queued = (await historyOf(again)).filter(({ type }) => type === 'StepQueued')
    expect(queued).toMatchObject([{ step: 'activity:render#1', attempt: 2 }])
  })

  test('W2, W12, api D1: an attempt that a drain cut off counts, and the next is made where it belongs', async () => {
    const where: string[] = []
    const begun = new Gate()
    const stuck = render.implement(async () => {
      where.push('one')
      begun.open()
      return new Promise<string>(() => {})
    })
    const one = await bench.worker({ workflows: [asks], activities: [stuck] }, all)
    const run = await one.engine.start(asks, 'page')
    await begun.opened
    await one.worker.drain(0)
    const two = await bench.serve({ workflows: [asks], activities: [renders(where, 'wrong', 9)] })
    await bench.serve({ activities: [renders(where, 'right', 0)] }, heavy)
    expect(await two.get(asks, run.runId).result()).toBe('page!')
    expect(where).toEqual(['one', 'right 2'])
  })

  test('R1, api D1: attempts before and after it was queued are counted together', async () => {
    const where: string[] = []
    const explains = workflow('explains', async (ctx) => {
      const error = await ctx.run(render, 'page').catch((caught: unknown) => caught)
      return error instanceof ActivityError ? [error.attempts, error.reason] : []
    })
    const begun = new Gate()
    const stuck = render.implement(async () => {
      begun.open()
      return new Promise<string>(() => {})
    })
    const one = await bench.worker({ workflows: [explains], activities: [stuck] }, all)
    const run = await one.engine.start(explains)
    await begun.opened
    await one.worker.drain(0)
    const two = await bench.serve({ workflows: [explains] })
    await bench.serve({ activities: [renders(where, 'right', 9)] }, heavy)
    expect(await two.get(explains, run.runId).result()).toEqual([4, 'exhausted'])
    expect(where).toEqual(['right 2', 'right 3', 'right 4'])
  })

  test('A3, R1, api D5: what the registered activity says counts, unless the call says otherwise', async () => {
    let bodies = 0
    const bare = activity.declare<void, string>('charge')
    const options = { queue: 'heavy', retry: 'none', startToClose: '1m' } as const
    const charge = activity('charge', options, async () => {
      bodies++
      throw new Error('declined')
    })
    const pays = workflow('pays', async (ctx, attempts: number) => {
      const more = attempts > 1 ? { retry: { ...retry, maxAttempts: attempts } } : {}
      const error = await ctx.run(bare, undefined, more).catch((caught: unknown) => caught)
      return error instanceof ActivityError ? error.attempts : 0
    })
    // In the process of the run, and in one that alone has the code.
    const here = await bench.worker({ workflows: [pays], activities: [charge] }, all)
    expect(await here.engine.execute(pays, 1)).toBe(1)
    expect(bodies).toBe(1)
    expect(await here.engine.execute(pays, 3)).toBe(3)
    expect(bodies).toBe(4)
    await here.worker.drain()
    const client = await bench.serve({ workflows: [pays] })
    await bench.serve({ activities: [charge] }, { queues: ['default', 'heavy'], id: 'pays' })
    expect(await client.execute(pays, 1)).toBe(1)
    expect(bodies).toBe(5)
    expect(await client.execute(pays, 2)).toBe(2)
    expect(bodies).toBe(7)
  })
})
