import { activity, RunError, type StartOptions, signal, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { kinds, rejection, until, useStore, waitsFor } from './each-store.ts'

const go = signal('go')
const order = workflow('order', async (ctx, id: string) => {
  if (id === 'bad') throw new Error('bad order')
  if (id === 'wait') await ctx.wait(go)
  return id
})

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('O1 a run is found by the id it was given, the newest first', async () => {
    const engine = await bench.serve({ workflows: [order] })
    const first = await engine.start(order, 'a', { workflowId: 'order-1' })
    await first.result()
    const second = await engine.start(order, 'b', { workflowId: 'order-1' })
    await second.result()
    expect(first.runId).not.toBe(second.runId)
    const found = engine.get(order, { workflowId: 'order-1' })
    expect(await found.result()).toBe('b')
    expect([found.runId, found.workflowId]).toEqual([second.runId, 'order-1'])
    expect(await engine.count({ workflowId: 'order-1' })).toBe(2)
  })

  test('api D8: an input that is left out gets the default of the parameter', async () => {
    const double = activity('double', async (n: number = 5) => n * 2)
    const child = workflow('child', async (ctx, n: number = 3) => n + (await ctx.run(double)))
    const parent = workflow('parent', async (ctx, { n = 1 }: { n?: number } = {}) => [
      n,
      await ctx.child(child),
      await ctx.run(double, n),
    ])
    const engine = await bench.serve({ workflows: [parent, child], activities: [double] })
    expect(await engine.execute(parent)).toEqual([1, 13, 2])
    expect(await engine.execute(parent, { n: 4 })).toEqual([4, 13, 8])
  })

  test('O1 without an id of its own a run is known by its run id', async () => {
    const engine = await bench.serve({ workflows: [order] })
    const run = await engine.start(order, 'a')
    expect(run.workflowId).toBe(run.runId)
    expect(await engine.get(order, { workflowId: run.runId }).result()).toBe('a')
  })

  test.each<[StartOptions['reuse'] & {}, string, string, string]>([
    ['reject', 'refused', 'refused', 'refused'],
    ['allowIfFailed', 'refused', 'refused', 'new'],
    ['allowIfEnded', 'refused', 'new', 'new'],
    ['returnExisting', 'old', 'new', 'new'],
    ['allow', 'new', 'new', 'new'],
  ])('O1 reuse %s: running %s, completed %s, failed %s', async (reuse, running, done, failed) => {
    const engine = await bench.serve({ workflows: [order] })
    const outcomes: string[] = []
    for (const input of ['wait', 'done', 'bad']) {
      const workflowId = `order-${input}`
      const old = await engine.start(order, input, { workflowId })
      if (input === 'wait') await waitsFor(old, 'signal')
      else await old.result().catch(() => {})
      const again = await engine.start(order, 'new', { workflowId, reuse }).catch((error: unknown) => error)
      if (again instanceof Error) {
        expect(again).toMatchObject({ code: 'RUN_ALREADY_EXISTS', details: { runId: old.runId } })
        expect(again.message).toContain(`reuse: '${reuse}'`)
        outcomes.push('refused')
      } else {
        outcomes.push((again as typeof old).runId === old.runId ? 'old' : 'new')
      }
    }
    expect(outcomes).toEqual([running, done, failed])
  })

  test('api gap 2, users friction 10: a start says whether it is new, and beside which run', async () => {
    const engine = await bench.serve({ workflows: [order] })
    const first = await engine.start(order, 'wait', { workflowId: 'one' })
    expect(first).toMatchObject({ isNew: true })
    expect(first.alongside).toBeUndefined()
    const second = await engine.start(order, 'wait', { workflowId: 'one' })
    expect(second).toMatchObject({ isNew: true, alongside: first.runId })
    const reuse = 'returnExisting'
    const third = await engine.start(order, 'wait', { workflowId: 'one', reuse })
    expect(third).toMatchObject({ isNew: false, runId: second.runId })
  })

  test('R18 the same idempotency key starts one run, whatever else is said', async () => {
    const engine = await bench.serve({ workflows: [order] })
    const first = await engine.start(order, 'a', { idempotencyKey: 'k' })
    expect(await first.result()).toBe('a')
    const again = await engine.start(order, 'a', { idempotencyKey: 'k' })
    expect(again.runId).toBe(first.runId)
    expect(await again.result()).toBe('a')
    expect(await engine.count()).toBe(1)
  })

  test('R18 the same key with another input is refused, and names the run', async () => {
    const engine = await bench.engine()
    const first = await engine.start(order, 'a', { idempotencyKey: 'k' })
    await expect(engine.start(order, 'b', { idempotencyKey: 'k' })).rejects.toMatchObject({
      code: 'RUN_ALREADY_EXISTS',
      details: { runId: first.runId },
    })
    expect(await engine.count()).toBe(1)
  })

  test('R18 a key belongs to its workflow', async () => {
    const other = workflow('other', async () => 1)
    const engine = await bench.engine()
    const first = await engine.start(order, 'a', { idempotencyKey: 'k' })
    const second = await engine.start(other, undefined, { idempotencyKey: 'k' })
    expect(first.runId).not.toBe(second.runId)
  })

  test('INV9 many starts at once with one key, from two engines, make one run', async () => {
    const engines = [await bench.serve({ workflows: [order] }), await bench.engine()] as const
    const starts = Array.from({ length: 40 }, (_, n) =>
      (n % 2 === 0 ? engines[0] : engines[1]).start(order, 'a', { idempotencyKey: 'k' }),
    )
    const runs = await Promise.all(starts)
    expect(new Set(runs.map((run) => run.runId)).size).toBe(1)
    expect(await runs[0]?.result()).toBe('a')
    expect(await engines[1].count()).toBe(1)
  })

  test('INV9 many starts at once with one workflow id and reject make one run', async () => {
    const engines = [await bench.engine(), await bench.engine()] as const
    const starts = Array.from({ length: 20 }, (_, n) =>
      (n % 2 === 0 ? engines[0] : engines[1]).start(order, 'wait', {
        workflowId: 'one',
        reuse: 'reject',
      }),
    )
    const ends = await Promise.allSettled(starts)
    expect(ends.filter((end) => end.status === 'fulfilled')).toHaveLength(1)
    expect(await engines[0].count()).toBe(1)
  })

  test('R18 startMany starts each run once, with its own options', async () => {
    const engine = await bench.serve({ workflows: [order] })
    const runs = await engine.startMany(order, [
      { input: 'a', idempotencyKey: 'a' },
      { input: 'a', idempotencyKey: 'a' },
      { input: 'b', workflowId: 'bee', memo: { n: 1 } },
      { input: 'c' },
    ])
    const results = await Promise.all(runs.map((run) => run.result()))
    expect(results).toEqual(['a', 'a', 'b', 'c'])
    expect(runs[0]?.runId).toBe(runs[1]?.runId)
    expect(await engine.count()).toBe(3)
    expect((await engine.get({ workflowId: 'bee' }).describe()).memo).toEqual({ n: 1 })
  })

  test('O4 runs are listed newest first, in pages that neither repeat nor miss one', async () => {
    const engine = await bench.engine()
    const started: string[] = []
    for (let n = 0; n < 7; n++) {
      started.push((await engine.start(order, `${n}`)).runId)
      const at = Date.now()
      // Two runs of one millisecond are in no particular order.
      await until(
        () => Date.now(),
        (now) => now > at,
      )
    }
    const listed: string[] = []
    let cursor: string | undefined
    let pages = 0
    do {
      const page = await engine.list({}, { limit: 3, ...(cursor !== undefined && { cursor }) })
      listed.push(...page.items.map(({ runId }) => runId))
      cursor = page.cursor
      pages++
    } while (cursor !== undefined)
    expect(listed).toEqual(started.toReversed())
    expect(pages).toBe(3)
  })

  test('O4 runs are filtered by workflow, status, id and time, and counted alike', async () => {
    const other = workflow('other', async () => 1)
    const engine = await bench.serve({ workflows: [order, other] })
    await engine.execute(order, 'a')
    await rejection(engine.execute(order, 'bad'))
    const waiting = await engine.start(order, 'wait', { workflowId: 'w' })
    await engine.execute(other)
    await waitsFor(waiting, 'signal')
    const { createdAt } = await waiting.describe()
    const counts = async (filter: Parameters<typeof engine.list>[0]): Promise<number> => {
      const { items } = await engine.list(filter)
      expect(await engine.count(filter)).toBe(items.length)
      return items.length
    }
    await until(
      () => engine.count({ status: 'completed' }),
      (n) => n === 2,
    )
    expect(await counts({})).toBe(4)
    expect(await counts({ workflow: order })).toBe(3)
    expect(await counts({ workflow: 'other' })).toBe(1)
    expect(await counts({ status: 'completed' })).toBe(2)
    expect(await counts({ status: ['failed', 'waiting'] })).toBe(2)
    expect(await counts({ workflow: order, status: 'completed' })).toBe(1)
    expect(await counts({ workflowId: 'w' })).toBe(1)
    expect(await counts({ startedAfter: new Date(Date.now() + 60_000) })).toBe(0)
    expect(await counts({ startedBefore: new Date(createdAt.getTime() - 60_000) })).toBe(0)
    const [failed] = (await engine.list({ status: 'failed' })).items
    expect(failed).toMatchObject({ name: 'order', input: 'bad', failure: { message: 'bad order' } })
  })

  test('O4 a page has 50 runs unless told, and a limit out of bounds is refused', async () => {
    const engine = await bench.engine()
    await engine.startMany(
      order,
      Array.from({ length: 53 }, (_, n) => ({ input: `${n}` })),
    )
    const page = await engine.list()
    expect(page.items).toHaveLength(50)
    const rest = await engine.list({}, { cursor: page.cursor ?? '' })
    expect(rest.items).toHaveLength(3)
    expect(rest.cursor).toBeUndefined()
    for (const limit of [0, -1, 1.5, 1_001, Number.NaN]) {
      await expect(engine.list({}, { limit })).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    }
    await expect(engine.list({ status: 'odd' as 'failed' })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('pending, running, waiting'),
    })
  })

  test('O4 a cursor that was made up is refused or ignored, never an internal error', async () => {
    const engine = await bench.engine()
    await engine.start(order, 'a')
    const outcome = await engine.list({}, { cursor: 'not a cursor' }).catch((error: { code?: string }) => error.code)
    expect(typeof outcome === 'object' || outcome === 'INPUT_INVALID').toBe(true)
  })

  test('W3 runs of higher priority begin first', async () => {
    const begun: number[] = []
    const ranked = workflow('ranked', async (ctx, n: number) => {
      begun.push(n)
      await ctx.run('work', () => n)
    })
    const client = await bench.engine()
    for (const priority of [0, -5, 7, 3]) await client.start(ranked, priority, { priority })
    await bench.serve({ workflows: [ranked] }, { concurrency: 1 })
    await until(
      () => begun.length,
      (n) => n === 4,
    )
    expect(begun).toEqual([7, 3, 0, -5])
    await expect(client.start(ranked, 1, { priority: 1_001 })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
    })
  })

  test('A6 execute is start and result, and fails like result', async () => {
    const engine = await bench.serve({ workflows: [order] })
    expect(await engine.execute(order, 'x')).toBe('x')
    expect(await rejection(engine.execute(order, 'bad'))).toBeInstanceOf(RunError)
  })
})
