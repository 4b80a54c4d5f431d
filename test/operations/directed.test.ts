// Orders of operations that the stories of operations.test.ts found, each by itself.
import { signal, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { kinds, rejection, until, useStore, waitsFor } from '../workflows/each-store.ts'

const go = signal('go')

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('faults 2.2: a cancellation that comes with what the code continues as new for is not lost', async () => {
    const again = workflow('again', async (ctx, generation: number) => {
      await ctx.wait(go)
      return ctx.continueAsNew(generation + 1)
    })
    const client = await bench.engine()
    const { engine, worker } = await bench.worker({ workflows: [again] })
    const run = await client.start(again, 1)
    await waitsFor(run, 'signal')
    await worker.drain()
    await run.signal(go)
    await run.cancel('enough')
    engine.work({ signals: false })
    expect(await rejection(run.result())).toMatchObject({ name: 'CancelledError' })
    expect(await run.describe()).toMatchObject({ status: 'cancelled' })
  })

  test('faults 2.2: a paused run that was asked to pause twice goes on when it is reset', async () => {
    const steps = workflow('steps', async (ctx) => {
      await ctx.run('one', () => 1)
      await ctx.wait(go)
      return 'done'
    })
    const engine = await bench.serve({ workflows: [steps] })
    const run = await engine.start(steps)
    await waitsFor(run, 'signal')
    await run.pause()
    const status = (wanted: string) =>
      until(
        () => run.describe(),
        (record) => record.status === wanted,
      )
    await status('paused')
    await run.pause('once more')
    await run.reset({ step: 'one' })
    await run.signal(go)
    expect(await run.result()).toBe('done')
  })
})
