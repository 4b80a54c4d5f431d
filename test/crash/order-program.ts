// Steps side by side, a timer, a signal, a child and an activity in another queue.

import { sleep } from '../../src/core/runtime/clock.ts'
import { activity, signal, workflow } from '../../src/index.ts'
import { type Program, RETRY, type Stage, unless } from './programs.ts'

const go = signal<number>('go')
const order = workflow.declare<number, unknown>('order')
const parcel = workflow.declare<number, number>('parcel')

export const orders: Program = { definitions, perform }

function definitions({ body }: Stage) {
  const ship = activity('ship', { queue: 'other', retry: RETRY }, async (n: number, step) => {
    return n + (await body(step))
  })
  // Whether a step without retries gives a result depends on the crash; that it runs at most once does not.
  const child = parcel.implement(async (ctx, n) => {
    await ctx.run('seal', { retry: 'none' }, (step) => body(step)).catch(() => 0)
    return n + (await ctx.run('pack', { retry: RETRY }, (step) => body(step)))
  })
  const parent = order.implement(async (ctx, n) => {
    const one = await ctx.run('one', { retry: RETRY }, (step) => body(step))
    const pair = await Promise.all([
      ctx.run('two', { retry: RETRY }, (step) => body(step)),
      ctx.run('three', { retry: RETRY }, (step) => body(step)),
    ])
    await ctx.run('only', { retry: 'none' }, (step) => body(step)).catch(() => 0)
    await ctx.sleep(80)
    const heard = await ctx.wait(go)
    const packed = await ctx.child(parcel, n)
    const shipped = await ctx.run(ship, n)
    const five = await ctx.run('five', { retry: RETRY }, (step) => body(step))
    return { one, pair, heard, packed, shipped, five }
  })
  return { workflows: [parent, child], activities: [ship] }
}

async function perform(engine: Parameters<Program['perform']>[0], stage: Stage): Promise<unknown> {
  const run = await engine.start(order, 3, { idempotencyKey: 'order 3' })
  stage.promise(run.runId)
  await sleep(stage.process.clock, 300)
  await unless(['RUN_ENDED'], async () => {
    await run.signal(go, 7, { messageId: 'm' })
    stage.promise(run.runId, 'signal:m')
  })
  return run.result()
}
