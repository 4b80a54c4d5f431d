import { activity, CancelledError, signal, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { Gate, kinds, rejection, until, useStore, waitsFor } from './each-store.ts'

const go = signal('go')

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('R24 a cancelled run ends with the reason it was given', async () => {
    const waits = workflow('waits', async (ctx) => ctx.wait(go))
    const engine = await bench.serve({ workflows: [waits] })
    const run = await engine.start(waits)
    await waitsFor(run, 'signal')
    await run.cancel('the customer left')
    const error = await rejection(run.result())
    expect(error).toBeInstanceOf(CancelledError)
    expect(error).toMatchObject({ reason: 'the customer left' })
    expect((await run.describe()).status).toBe('cancelled')
    expect(await run.why()).toEqual({ reason: 'ended', status: 'cancelled' })
    await run.cancel('again: harmless')
  })

  test('R24 the code sees a CancelledError at its next await, and may end otherwise', async () => {
    const tidy = workflow('tidy', async (ctx) => {
      try {
        await ctx.sleep('1h')
        return 'slept'
      } catch (error) {
        if (error instanceof CancelledError) return `tidied: ${error.reason}`
        throw error
      }
    })
    const engine = await bench.serve({ workflows: [tidy] })
    const run = await engine.start(tidy)
    await waitsFor(run, 'timer')
    await run.cancel('enough')
    expect(await run.result()).toBe('tidied: enough')
  })

  test('R24 every later call of a cancelled run is refused with the same error', async () => {
    let after = 0
    const stubborn = workflow('stubborn', async (ctx) => {
      await ctx.wait(go).catch(() => {})
      await ctx.run('after', () => ++after)
    })
    const engine = await bench.serve({ workflows: [stubborn] })
    const run = await engine.start(stubborn)
    await waitsFor(run, 'signal')
    await run.cancel('stop')
    expect(await rejection(run.result())).toMatchObject({ name: 'CancelledError', reason: 'stop' })
    expect(after).toBe(0)
  })

  test('R24 a running step is told by its signal', async () => {
    const begun = new Gate()
    const told = new Gate()
    const works = workflow('works', async (ctx) =>
      ctx.run('long', async (step) => {
        step.signal.addEventListener('abort', () => told.open())
        begun.open()
        await told.opened
      }),
    )
    const engine = await bench.serve({ workflows: [works] })
    const run = await engine.start(works)
    await begun.opened
    await run.cancel('stop')
    await told.opened
    expect(await rejection(run.result())).toMatchObject({ reason: 'stop' })
  })

  test('R24 an activity on another worker is told too', async () => {
    const begun = new Gate()
    const told = new Gate()
    const long = activity('long', { queue: 'heavy' }, async (_: void, ctx) => {
      ctx.signal.addEventListener('abort', () => told.open())
      begun.open()
      await told.opened
    })
    const works = workflow('works', async (ctx) => ctx.run(long))
    const engine = await bench.serve({ workflows: [works] })
    await bench.serve({ activities: [long] }, { queues: ['heavy'], lease: '600ms' })
    const run = await engine.start(works)
    await begun.opened
    await run.cancel('stop')
    expect(await rejection(run.result())).toMatchObject({ reason: 'stop' })
    await told.opened
  })

  test('R24 cancelling cascades to children and their children, with the reason', async () => {
    const leaf = workflow('leaf', async (ctx) => ctx.wait(go))
    const middle = workflow('middle', async (ctx) => ctx.child(leaf, undefined))
    const root = workflow('root', async (ctx) => ctx.child(middle, undefined))
    const engine = await bench.serve({ workflows: [root, middle, leaf] })
    const run = await engine.start(root)
    await until(
      () => engine.list({ workflow: leaf, status: 'waiting' }),
      ({ items }) => items.length === 1,
    )
    await run.cancel('all of it')
    await rejection(run.result())
    const { items } = await until(
      () => engine.list({ status: 'cancelled' }),
      (page) => page.items.length === 3,
    )
    for (const { runId } of items) {
      expect(await rejection(engine.get(runId).result())).toMatchObject({ reason: 'all of it' })
    }
  })

  test('R24 a run that has not begun is cancelled without code', async () => {
    const later = workflow('later', async () => 'ran')
    const engine = await bench.serve({ workflows: [later] })
    const run = await engine.start(later, undefined, { delay: '1h' })
    await run.cancel('changed my mind')
    expect(await rejection(run.result())).toMatchObject({ reason: 'changed my mind' })
  })

  test('R24 a paused run can be cancelled', async () => {
    const foreign = workflow('foreign', async () => new Promise<string>(() => {}))
    const engine = await bench.serve({ workflows: [foreign] })
    const run = await engine.start(foreign)
    const why = await waitsFor(run, 'paused')
    expect(why.failure?.code).toBe('NON_DURABLE_AWAIT')
    await run.cancel('give up')
    expect(await rejection(run.result())).toMatchObject({ reason: 'give up' })
  })

  test('R24 cancelling a paused run reaches its children as well', async () => {
    const leaf = workflow('leaf', async (ctx) => ctx.wait(go))
    const v1 = workflow('root', async (ctx) => {
      await Promise.race([ctx.child(leaf, undefined), ctx.wait(go)])
    })
    const v2 = workflow('root', async (ctx) => {
      await ctx.run('inserted', () => 1)
      await Promise.race([ctx.child(leaf, undefined), ctx.wait(go)])
    })
    const old = await bench.worker({ workflows: [v1] })
    const { runId } = await old.engine.start(v1)
    await waitsFor(old.engine.get(runId), 'child')
    await old.engine.close()
    const engine = await bench.serve({ workflows: [v2, leaf] })
    const run = engine.get(runId)
    await run.signal(go)
    await waitsFor(run, 'paused')
    const [child] = (await engine.list({ workflow: leaf })).items
    await run.cancel('all of it')
    expect(await rejection(run.result())).toMatchObject({ reason: 'all of it' })
    const { status } = await until(
      () => engine.get(child?.runId ?? '').describe(),
      (record) => record.endedAt !== undefined,
    )
    expect(status).toBe('cancelled')
  })

  test('R24 a race of a cancelled run is lost by all its branches', async () => {
    const seen: string[] = []
    const raced = workflow('raced', async (ctx) => {
      const branch = async (name: string, promise: Promise<unknown>): Promise<void> => {
        await promise.catch((error: unknown) => {
          seen.push(name)
          throw error
        })
      }
      await Promise.race([branch('sleep', ctx.sleep('1h')), branch('wait', ctx.wait(go))])
    })
    const engine = await bench.serve({ workflows: [raced] })
    const run = await engine.start(raced)
    await waitsFor(run, 'signal')
    await run.cancel()
    const error = await rejection(run.result())
    expect(error).toMatchObject({ name: 'CancelledError', message: 'cancelled' })
    expect(seen).toEqual(['sleep', 'wait'])
  })

  test('V9 a terminated run fails at once, with its children, and no code of theirs runs', async () => {
    const cleaned: string[] = []
    const leaf = workflow('leaf', async (ctx) => {
      try {
        await ctx.wait(go)
      } finally {
        cleaned.push('leaf')
      }
    })
    const tree = workflow('tree', async (ctx) => {
      try {
        await ctx.child(leaf)
      } finally {
        cleaned.push('tree')
      }
    })
    const engine = await bench.serve({ workflows: [tree, leaf] })
    const run = await engine.start(tree)
    await waitsFor(run, 'child')
    await until(
      () => engine.count({ workflow: leaf, status: 'waiting' }),
      (n) => n === 1,
    )
    await run.terminate('it went astray')
    expect(await rejection(run.result())).toMatchObject({
      failure: { type: 'Terminated', message: 'it went astray' },
    })
    await until(
      () => engine.count({ workflow: leaf, status: 'failed' }),
      (n) => n === 1,
    )
    expect(cleaned).toEqual([])
    await run.terminate('again')
    expect((await run.describe()).status).toBe('failed')
  })

  test('V9 a run whose time has not come, and a paused one, can be terminated', async () => {
    const odd = workflow('odd', async (ctx) => {
      await new Promise((resolve) => setTimeout(resolve, 1))
      await ctx.sleep('1h')
    })
    const engine = await bench.serve({ workflows: [odd] })
    const later = await engine.start(odd, undefined, { delay: '1h' })
    const paused = await engine.start(odd)
    await waitsFor(paused, 'paused')
    for (const run of [later, paused]) {
      await run.terminate('never mind')
      expect(await rejection(run.result())).toMatchObject({ failure: { type: 'Terminated' } })
    }
  })

  test('V10 a batch cancels, terminates or signals what a filter finds, up to a limit', async () => {
    const waits = workflow('waits', async (ctx) => ctx.wait(go))
    const other = workflow('other', async (ctx) => ctx.wait(go))
    const engine = await bench.serve({ workflows: [waits, other] })
    await engine.startMany(
      waits,
      Array.from({ length: 12 }, () => ({})),
    )
    const spared = await engine.start(other)
    await until(
      () => engine.count({ status: 'waiting' }),
      (n) => n === 13,
    )
    const some = engine.batch({ workflow: waits }, { limit: 5, reason: 'too many' })
    expect(await some.count()).toBe(12)
    expect(await some.cancel()).toEqual({ matched: 5, done: 5, failures: [] })
    await until(
      () => engine.count({ workflow: waits, status: 'cancelled' }),
      (n) => n === 5,
    )
    expect(await engine.batch({ workflow: waits }, { limit: 3 }).terminate()).toMatchObject({
      done: 3,
    })
    await until(
      () => engine.count({ workflow: waits, status: 'failed' }),
      (n) => n === 3,
    )
    const rest = await engine.batch({ workflow: waits }, { limit: 100 }).signal(go)
    expect(rest).toEqual({ matched: 4, done: 4, failures: [] })
    await until(
      () => engine.count({ workflow: waits, status: 'completed' }),
      (n) => n === 4,
    )
    expect((await spared.describe()).status).toBe('waiting')
    const ended = await engine.batch({ workflow: waits, status: 'completed' }, { limit: 2 }).signal(go)
    expect(ended).toMatchObject({ matched: 2, done: 0, failures: [{ code: 'RUN_ENDED' }, {}] })
    expect(() => engine.batch({}, { limit: 0 })).toThrow(/limit/)
  })
})
