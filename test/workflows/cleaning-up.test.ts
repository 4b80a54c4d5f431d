// Code that waits until what it cancelled has cleaned up: bodies of steps, and children.
import { activity, CancelledError, signal, TIMEOUT, workflow } from 'pawl'
import { testEngine } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { Gate, kinds, rejection, until, useStore, waitsFor } from './each-store.ts'

const go = signal('go')
const wait = { onCancel: 'wait' } as const

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
    // Nobody need give a reason.
    await run.cancel()
    await until(
      async () => told.length,
      (length) => length === 2,
    )
    expect((await run.describe()).endedAt).toBeUndefined()
    gate.open()
    expect(await rejection(run.result())).toBeInstanceOf(CancelledError)
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

  test('a body in another worker of the test is told', async () => {
    const told: string[] = []
    const gate = new Gate()
    const work = activity('work', { queue: 'other' }, cleans(told, gate.opened))
    const flow = workflow('flow', async (ctx) => {
      await ctx.run(work, undefined, wait)
    })
    const options = { workflows: [flow], activities: [work], queues: ['default'] }
    await using engine = await testEngine(options)
    engine.work({ queues: ['other'] })
    const run = await engine.start(flow)
    await engine.clock.advance('1s')
    gate.open()
    await run.cancel()
    expect(await rejection(run.result())).toBeInstanceOf(CancelledError)
    expect(told).toEqual(['begun', 'told', 'cleaned'])
  })

  test('an attempt elsewhere that fails after it was cancelled is the last, whenever its worker hears of it', async () => {
    let begun = 0
    const work = activity('work', { queue: 'other', retry: { initial: '1d', max: '1d' } }, async () => {
      begun++
      await engine.clock.sleep('1m')
      throw new Error('busy')
    })
    const flow = workflow('flow', async (ctx) => {
      await ctx.run(work, undefined, wait)
    })
    const options = { workflows: [flow], activities: [work], queues: ['default'] }
    await using engine = await testEngine(options)
    engine.work({ queues: ['other'] })
    const run = await engine.start(flow)
    await engine.clock.advance('1s')
    const before = engine.clock.now()
    await run.cancel()
    await rejection(run.result())
    expect(engine.clock.now() - before).toBeLessThan(3_600_000)
    expect(begun).toBe(1)
  })

  test.each([
    [false, true],
    [true, false],
  ])('what was recorded counts, when the option changes from %s to %s', async (first, then) => {
    let waits = first
    const work = activity('work', async (_: unknown, ctx) => {
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
    })
    const flow = workflow('flow', async (ctx) => {
      await ctx.run(work, undefined, waits ? wait : {})
    })
    await using engine = await testEngine({ workflows: [flow], activities: [work] })
    const run = await engine.start(flow)
    await engine.clock.advance('3s')
    waits = then
    await engine.crash()
    await engine.clock.advance('3s')
    await run.cancel()
    await run.result({ timeout: '1h' }).catch(() => {})
    expect((await run.describe()).endedAt).toBeDefined()
  })

  test('a run that is tried again, or reset, does what the cancellation stopped once more', async () => {
    let tries = 0
    const work = activity('work', async (_: unknown, ctx) => {
      if (++tries > 1) return 'all of it'
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      return 'half of it'
    })
    const other = activity('other', async () => 'other')
    const flow = workflow('flow', async (ctx) => {
      const slow = ctx.run(work, undefined, wait)
      const values = [await ctx.run(other), await slow]
      await ctx.sleep('1s')
      return values
    })
    for (const again of ['retry', 'reset'] as const) {
      tries = 0
      await using engine = await testEngine({ workflows: [flow], activities: [work, other] })
      const run = await engine.start(flow)
      await engine.clock.advance('3s')
      await run.cancel()
      await rejection(run.result())
      await (again === 'retry' ? run.retry() : run.reset({ step: 'other' }))
      expect(await run.result(), again).toEqual(['other', 'all of it'])
    }
  })

  test('heartbeats count while a body cleans up', async () => {
    const ended: string[] = []
    const work = activity('work', { heartbeat: '10s' }, async (_: unknown, ctx) => {
      const beat = async (): Promise<void> => {
        ctx.heartbeat()
        await engine.clock.sleep('5s')
      }
      while (!ctx.signal.aborted) await beat()
      for (let times = 0; times < 6; times++) await beat()
      ended.push('cleaned')
    })
    const flow = workflow('flow', async (ctx) => {
      await ctx.run(work, undefined, wait).finally(() => ended.push('went on'))
    })
    await using engine = await testEngine({ workflows: [flow], activities: [work] })
    const run = await engine.start(flow)
    await engine.clock.advance('12s')
    await run.cancel()
    await run.result().catch(() => {})
    expect(ended).toEqual(['cleaned', 'went on'])
  })

  test('a parent that is terminated while it waits for its child terminates that, too', async () => {
    const child = workflow('child', async (ctx) => {
      await ctx.wait(go).catch(() => ctx.shield((inner) => inner.sleep('30d')))
    })
    const parent = workflow('parent', async (ctx) => {
      await ctx.child(child, undefined, { ...wait, parentClose: 'terminate' })
    })
    await using engine = await testEngine({ workflows: [parent, child] })
    const run = await engine.start(parent)
    await engine.clock.advance('1s')
    await run.cancel()
    await engine.clock.advance('1s')
    await run.terminate('enough')
    await engine.clock.advance('1s')
    const { items } = await engine.list({ workflow: child })
    expect(items[0]?.failure).toMatchObject({ type: 'Terminated' })
  })

  test('no answer is taken for a step that was cancelled, and none is sent from a cancelled scope', async () => {
    let token = ''
    const left = activity('left', async (_: unknown, ctx): Promise<string> => {
      token = await ctx.completionToken()
      return ctx.completeLater()
    })
    const flow = workflow('flow', async (ctx) => {
      const to = { workflowId: 'other', input: undefined, signal: go }
      try {
        await ctx.run(left)
      } finally {
        const sent = await ctx.signalWithStart(flow, to).catch((error: Error) => error.name)
        await ctx.shield((inner) => inner.run('note', () => notes.push(sent)))
        await ctx.shield((inner) => inner.sleep('1h'))
      }
    })
    const notes: unknown[] = []
    await using engine = await testEngine({ workflows: [flow], activities: [left] })
    const run = await engine.start(flow)
    await engine.clock.advance('1s')
    await run.cancel()
    await engine.clock.advance('1s')
    expect(await rejection(engine.resolve(token, 'late'))).toMatchObject({
      code: 'TOKEN_INVALID',
      message: expect.stringContaining('has ended'),
    })
    expect(notes).toEqual(['CancelledError'])
  })
})
