import { activity, signal, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { kinds, rejection, until, useStore, waitsFor } from './each-store.ts'

const go = signal('go')

const everything = {
  nothing: undefined,
  nil: null,
  when: new Date('2026-01-02T03:04:05.678Z'),
  map: new Map<unknown, unknown>([
    ['a', 1],
    [{ deep: true }, new Set([1n, 'x'])],
  ]),
  big: 12345678901234567890n,
  odd: [Number.NaN, Number.POSITIVE_INFINITY, -0],
  bytes: new Uint8Array([0, 1, 255]),
  text: 'ünïcode 🦆 \u0000 "quoted" \u2028',
  url: new URL('https://example.com/?q=1'),
  list: [undefined, { a: [] }],
}

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('A6 values come out of inputs, steps, activities, signals, children and results as they went in', async () => {
    const echo = activity('echo', async (value: typeof everything) => value)
    const tell = signal<typeof everything>('tell')
    const inner = workflow('inner', async (_ctx, value: typeof everything) => value)
    const seen: Record<string, unknown> = {}
    const outer = workflow('outer', async (ctx, input: typeof everything) => {
      seen['input'] = input
      seen['step'] = await ctx.run('step', () => everything)
      seen['activity'] = await ctx.run(echo, everything)
      seen['signal'] = await ctx.wait(tell)
      seen['child'] = await ctx.child(inner, everything)
      return everything
    })
    const engine = await bench.serve({ workflows: [outer, inner], activities: [echo] })
    const run = await engine.start(outer, everything)
    await run.signal(tell, everything)
    expect(await run.result()).toStrictEqual(everything)
    for (const value of Object.values(seen)) expect(value).toStrictEqual(everything)
    expect(Object.keys(seen)).toHaveLength(5)
    const elsewhere = await bench.engine()
    expect(await elsewhere.get(run.runId).result()).toStrictEqual(everything)
    const record = await elsewhere.get(run.runId).describe()
    expect([record.input, record.output]).toStrictEqual([everything, everything])
  })

  test('A6 a result that cannot be stored fails the step at once, and says where it is', async () => {
    const bad = workflow('bad', async (ctx) => ctx.run('bad', () => ({ rows: [{ ok: 1 }, { save: () => 1 }] })))
    const engine = await bench.serve({ workflows: [bad] })
    const error = await rejection(engine.execute(bad))
    expect(error).toMatchObject({
      failure: { cause: { code: 'NOT_SERIALISABLE' }, type: 'ActivityError' },
    })
    expect(String(error)).toMatch(/the result of step 'bad'.*rows\[1\]\.save.*function/)
    expect(String(error)).toMatch(/after 1 attempt \(non-retryable\)/)
  })

  test('A6 a workflow result that cannot be stored fails the run with the path', async () => {
    const bad = workflow('bad', async () => ({ deep: [Symbol('x')] }))
    const engine = await bench.serve({ workflows: [bad] })
    const error = await rejection(engine.execute(bad))
    expect(error).toMatchObject({ failure: { code: 'NOT_SERIALISABLE' } })
    expect(String(error)).toMatch(/the result of workflow 'bad'.*deep\[0\].*symbol/)
  })

  test('A6 an input or payload that cannot be stored is refused before anything is written', async () => {
    const any = workflow('any', async (_ctx, value: unknown) => value)
    const tell = signal<unknown>('tell')
    const engine = await bench.engine()
    await expect(engine.start(any, { f: () => 1 })).rejects.toMatchObject({
      code: 'NOT_SERIALISABLE',
      message: expect.stringMatching(/the input of workflow 'any'.*f.*function/),
    })
    expect(await engine.count()).toBe(0)
    const run = await engine.start(any, 1)
    await expect(run.signal(tell, new WeakMap())).rejects.toMatchObject({
      code: 'NOT_SERIALISABLE',
    })
  })

  test('C9 a side effect runs once, is recorded, and is never retried', async () => {
    let calls = 0
    const effects = workflow('effects', async (ctx) => {
      const value = await ctx.sideEffect(() => ({ n: ++calls }))
      const failed = await ctx.sideEffect(() => Promise.reject(new Error('no'))).catch(String)
      await ctx.wait(go)
      return { value, failed }
    })
    const engine = await bench.serve({ workflows: [effects] }, { warm: 0 })
    const run = await engine.start(effects)
    await waitsFor(run, 'signal')
    await run.signal(go)
    const result = await run.result()
    expect(result.value).toEqual({ n: 1 })
    expect(result.failed).toMatch(/after 1 attempt/)
    expect(calls).toBe(1)
  })

  test('C10 now, random and uuid are the same when another engine replays', async () => {
    const seen: unknown[] = []
    const draws = workflow('draws', async (ctx) => {
      const first = [ctx.now(), ctx.random(), ctx.uuid()]
      await ctx.run('step', () => 1)
      const second = [ctx.now(), ctx.random(), ctx.uuid()]
      seen.push([first, second])
      await ctx.wait(go)
      return [first, second]
    })
    const first = await bench.worker({ workflows: [draws] })
    const before = Date.now()
    const { runId } = await first.engine.start(draws)
    await waitsFor(first.engine.get(runId), 'signal')
    await first.engine.close()
    const second = await bench.serve({ workflows: [draws] })
    const run = second.get(draws, runId)
    await run.signal(go)
    const result = await run.result()
    expect(seen).toEqual([result, result])
    const [[now, random, uuid], [, otherRandom, otherUuid]] = result as [
      [number, number, string],
      [number, number, string],
    ]
    expect(Math.abs(now - before)).toBeLessThan(60_000)
    expect(random).toBeGreaterThanOrEqual(0)
    expect(random).toBeLessThan(1)
    expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect([otherRandom, otherUuid]).not.toEqual([random, uuid])
  })

  test('C10 two runs draw different numbers', async () => {
    const draw = workflow('draw', async (ctx) => ctx.uuid())
    const engine = await bench.serve({ workflows: [draw] })
    expect(await engine.execute(draw)).not.toBe(await engine.execute(draw))
  })

  test('C11 info tells the code which run it is', async () => {
    const about = workflow('about', async (ctx) => {
      await ctx.run('one', () => 1)
      const { info } = ctx
      return { ...info, historyEvents: info.historyEvents }
    })
    const outer = workflow('outer', async (ctx) => ctx.child(about))
    const engine = await bench.serve({ workflows: [about, outer] })
    const memo = { by: 'ops', at: new Date(0) }
    const run = await engine.start(about, undefined, { workflowId: 'mine', memo })
    const info = await run.result()
    expect(info).toMatchObject({
      runId: run.runId,
      workflowId: 'mine',
      name: 'about',
      definitionHash: about.definitionHash,
      generation: 1,
      memo,
      queue: 'default',
      priority: 0,
      suggestsContinue: false,
    })
    expect(info.historyEvents).toBeGreaterThan(0)
    expect(info.parent).toBeUndefined()
    const parent = await engine.start(outer)
    expect((await parent.result()).parent).toEqual({ runId: parent.runId })
  })

  test('C11 what the code logs is written once, when it is durable, and not again by a replay', async () => {
    const chatty = workflow('chatty', async (ctx) => {
      ctx.log.info('before')
      await ctx.run('step', (step) => step.log.warn('inside'))
      await ctx.wait(go)
      ctx.log.info('after')
    })
    const engine = await bench.serve({ workflows: [chatty] }, { warm: 0 })
    const run = await engine.start(chatty)
    await waitsFor(run, 'signal')
    await run.signal(go)
    await run.result()
    const messages = await until(
      () => bench.logged.map(({ message }) => message),
      (all) => all.includes('after'),
    )
    expect(messages).toEqual(['before', 'inside', 'after'].sort((a, b) => order(messages, a, b)))
    expect(messages).toHaveLength(3)
  })
})

function order(messages: readonly string[], a: string, b: string): number {
  return messages.indexOf(a) - messages.indexOf(b)
}
