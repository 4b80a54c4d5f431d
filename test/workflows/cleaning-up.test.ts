// Code that waits until what it cancelled has cleaned up: bodies of steps, and children.
import { activity, CancelledError, signal, TIMEOUT, workflow } from 'pawl'
import { testEngine } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { Gate, kinds, rejection, until, useStore, waitsFor } from './each-store.ts'

const go = signal('go')

/** A body that takes a while to clean up when it is told to stop, and says when it did. */
function cleans(told: string[], mayEnd: Promise<void>) {
  return async (_: unknown, ctx: { readonly signal: AbortSignal }): Promise<string> => {
    told.push('begun')
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
    told.push('told')
    await mayEnd
    told.push('cleaned')
    throw new Error('stopped half-way')
  }
}

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('api gap 5: a cancelled run ends after the body it waits for', async () => {
    const told: string[] = []
    const gate = new Gate()
    const work = activity('work', { retry: { maxAttempts: 9 } }, cleans(told, gate.opened))
    const flow = workflow('flow', async (ctx) => {
      try {
        await ctx.run(work, undefined, { onCancel: 'wait' })
      } catch (error) {
        told.push(error instanceof CancelledError ? `caught ${error.reason}` : String(error))
        throw error
      }
    })
    const engine = await bench.serve({ workflows: [flow], activities: [work] })
    const run = await engine.start(flow)
    await until(
      async () => told.length,
      (length) => length === 1,
    )
    await run.cancel('enough')
    await until(
      async () => told.length,
      (length) => length === 2,
    )
    expect((await run.describe()).endedAt).toBeUndefined()
    gate.open()
    expect(await rejection(run.result())).toMatchObject({ reason: 'enough' })
    expect(told).toEqual(['begun', 'told', 'cleaned', 'caught enough'])
  })

  test('api gap 5: a body in another worker is told, and waited for; one that nobody has begun is not', async () => {
    const told: string[] = []
    const gate = new Gate()
    const queue = 'elsewhere'
    const work = activity('work', { queue }, cleans(told, gate.opened))
    const flow = workflow('flow', async (ctx) => {
      await ctx.run(work, undefined, { onCancel: 'wait' })
    })
    const engine = await bench.serve({ workflows: [flow] })
    const early = await engine.start(flow)
    await waitsFor(early, 'noWorker')
    await early.cancel('too early')
    expect(await rejection(early.result())).toMatchObject({ reason: 'too early' })
    await bench.serve({ activities: [work] }, { queues: [queue], lease: '1s' })
    const run = await engine.start(flow)
    await until(
      async () => told.length,
      (length) => length === 1,
    )
    await run.cancel('enough')
    await until(
      async () => told.length,
      (length) => length === 2,
    )
    expect((await run.describe()).endedAt).toBeUndefined()
    gate.open()
    expect(await rejection(run.result())).toMatchObject({ reason: 'enough' })
    expect(told).toEqual(['begun', 'told', 'cleaned'])
  })

  test('api gap 5: a cancelled run ends after the child it waits for, and before any other', async () => {
    const ended: string[] = []
    const child = workflow('child', async (ctx, name: string) => {
      try {
        await ctx.wait(go)
      } finally {
        await ctx.shield((inner) => inner.run('clean', () => ended.push(name)))
      }
    })
    const parent = workflow('parent', async (ctx) => {
      try {
        await ctx.child(child, 'awaited', { onCancel: 'wait' })
      } finally {
        await ctx.shield((inner) => inner.run('last', () => ended.push('parent')))
      }
    })
    const engine = await bench.serve({ workflows: [parent, child] })
    const run = await engine.start(parent)
    const { runId } = await waitsFor(run, 'child')
    await waitsFor(engine.get(runId), 'signal')
    await run.cancel()
    await rejection(run.result())
    expect(ended).toEqual(['awaited', 'parent'])
  })
})

describe('in virtual time', () => {
  test('a scope that ran out of time ends with what the body makes of it', async () => {
    const save = activity('save', async (_: unknown, ctx) => {
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      return 'half of it'
    })
    const flow = workflow('flow', async (ctx) => {
      let kept = ''
      const end = await ctx.scope('slow', { timeout: '1h' }, async (inner) => {
        kept = await inner.run(save, undefined, { onCancel: 'wait' })
        await inner.sleep('1m')
      })
      return [kept, end === TIMEOUT]
    })
    await using engine = await testEngine({ workflows: [flow], activities: [save] })
    expect(await engine.execute(flow)).toEqual(['half of it', true])
  })

  test('what is in a back-off, or stands in line, or was left to be completed, is over at once', async () => {
    const fails = activity('fails', { retry: { initial: '1d' } }, async () => {
      throw new Error('busy')
    })
    const left = activity('left', async (_: unknown, ctx): Promise<string> => {
      await ctx.completionToken()
      return ctx.completeLater()
    })
    const flow = workflow('flow', async (ctx, name: string) => {
      const option = { onCancel: 'wait' } as const
      await (name === 'left' ? ctx.run(left, undefined, option) : ctx.run(fails, undefined, option))
    })
    await using engine = await testEngine({ workflows: [flow], activities: [fails, left] })
    for (const name of ['fails', 'left']) {
      const run = await engine.start(flow, name)
      await engine.clock.advance('1m')
      const before = engine.clock.now()
      await run.cancel('enough')
      expect(await rejection(run.result())).toMatchObject({ reason: 'enough' })
      expect(engine.clock.now() - before).toBeLessThan(60_000)
    }
  })

  test('the worker dies while the body cleans up: it is not begun again', async () => {
    let begun = 0
    const work = activity('work', async (_: unknown, ctx) => {
      begun++
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      await engine.clock.sleep('1h')
    })
    const flow = workflow('flow', async (ctx) => {
      await ctx.run(work, undefined, { onCancel: 'wait' })
    })
    await using engine = await testEngine({ workflows: [flow], activities: [work] })
    const run = await engine.start(flow)
    await engine.clock.advance('1m')
    await run.cancel('enough')
    await engine.clock.advance('1m')
    expect((await run.describe()).endedAt).toBeUndefined()
    await engine.crash()
    expect(await rejection(run.result())).toMatchObject({ reason: 'enough' })
    expect(begun).toBe(1)
  })
})
