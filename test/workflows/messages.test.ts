// Handlers, queries, updates and conditions: what a run does about messages besides waiting for them.
import { query, signal, TIMEOUT, update, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { historyOf, kinds, rejection, until, useStore, waitsFor } from './each-store.ts'

const add = signal<number>('add')
const stop = signal('stop')
const total = query<void, number>('total')
const take = update<number, { left: number }>('take')

/** A counter that is told, asked, and made to answer. */
const counter = workflow('counter', async (ctx, start: number) => {
  let sum = start
  ctx.on(add, async (n, own) => {
    const doubled = await own.run('double', () => n * 2)
    sum += doubled
  })
  ctx.on(total, () => sum)
  const refuseMore = (n: number): void => {
    if (n > sum) throw new RangeError(`there are only ${sum}`)
  }
  ctx.on(take, { validate: refuseMore }, async (n, own) => {
    await own.run('hand over', () => n)
    if (n === 13) throw new Error('unlucky')
    sum -= n
    return { left: sum }
  })
  await ctx.wait(stop)
  return sum
})

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('C6 a handler takes every signal in the background, those that came before among them', async () => {
    const engine = await bench.serve({ workflows: [counter] }, { warm: 0 })
    const run = await engine.start(counter, 1)
    for (const n of [1, 2, 3]) await run.signal(add, n)
    await until(
      () => run.query(total),
      (sum) => sum === 13,
    )
    await run.signal(stop)
    expect(await run.result()).toBe(13)
    const steps = (await historyOf(run)).flatMap(({ type, step }) => (type === 'StepStarted' ? [step ?? ''] : []))
    expect(steps.length).toBe(3)
    expect(steps.every((step) => /^on:add\[[^/]+\]\/step:double#1$/.test(step))).toBe(true)
  })

  test('S7 a query is answered on a run that waits and on one that has ended, and writes nothing', async () => {
    const engine = await bench.serve({ workflows: [counter] })
    const run = await engine.start(counter, 7)
    await waitsFor(run, 'signal')
    const before = await historyOf(run)
    expect(await run.query(total)).toBe(7)
    expect(await historyOf(run)).toEqual(before)
    await run.signal(stop)
    await run.result()
    expect(await run.query(total)).toBe(7)
    expect(await rejection(run.query(query('unknown')))).toMatchObject({ code: 'QUERY_NOT_FOUND' })
    const stranger = await bench.engine()
    expect(await rejection(stranger.get(run.runId).query(total))).toMatchObject({
      code: 'NO_CODE_HERE',
    })
  })

  test('S7 who asks a run something, or why it waits, only reads', async () => {
    const engine = await bench.serve({ workflows: [counter] })
    const run = await engine.start(counter, 7)
    await waitsFor(run, 'signal')
    const calls = new Set<string>()
    const asker = await bench.engine({ workflows: [counter] })
    asker.on('store.call', ({ method }) => calls.add(method))
    const same = asker.get(run.runId)
    expect(await same.query(total)).toBe(7)
    expect(await same.why()).toMatchObject({ reason: 'signal' })
    expect(await same.describe()).toMatchObject({ status: 'waiting' })
    expect([...calls]).toEqual(['load'])
    await run.terminate('enough')
  })

  test('S8 an update is done and answered; refused ones do nothing; failed ones say so', async () => {
    const engine = await bench.serve({ workflows: [counter] }, { warm: 0 })
    const run = await engine.start(counter, 20)
    expect(await run.update(take, 5)).toEqual({ left: 15 })
    expect(await rejection(run.update(take, 99))).toMatchObject({
      code: 'UPDATE_REJECTED',
      message: expect.stringContaining('there are only 15'),
    })
    expect(await rejection(run.update(take, 13))).toMatchObject({
      code: 'UPDATE_FAILED',
      message: expect.stringContaining('unlucky'),
    })
    expect(await run.query(total)).toBe(15)
    expect(await run.updateResult(take, 'never sent')).toBeUndefined()
    await run.update(take, 1, { messageId: 'once' })
    await run.update(take, 1, { messageId: 'once' })
    expect(await run.updateResult(take, 'once')).toEqual({ value: { left: 14 } })
    await run.signal(stop)
    expect(await run.result()).toBe(14)
    expect(await rejection(run.update(take, 1))).toMatchObject({ code: 'RUN_ENDED' })
    expect(await rejection(run.updateResult(take, 'never sent'))).toMatchObject({
      code: 'RUN_ENDED',
    })
  })

  test('S8 a run that ends before it answers an update says so', async () => {
    const deaf = workflow('deaf', async (ctx) => {
      await ctx.wait(stop)
    })
    const engine = await bench.serve({ workflows: [deaf] })
    const run = await engine.start(deaf)
    const answer = rejection(run.update(take, 1))
    await waitsFor(run, 'signal')
    await run.signal(stop)
    await run.result()
    expect(await answer).toMatchObject({ code: 'RUN_ENDED' })
  })

  test('C1 ctx.wait takes a condition, with a time-out, that handlers make true', async () => {
    const patient = workflow('patient', async (ctx) => {
      const seen: number[] = []
      ctx.on(add, (n) => {
        seen.push(n)
      })
      const late = await ctx.wait(() => seen.length === 99, { timeout: '10ms' })
      const met = await ctx.wait(() => seen.length >= 2)
      const already = await ctx.wait(() => true)
      return [late === TIMEOUT, met, already, seen]
    })
    const engine = await bench.serve({ workflows: [patient] }, { warm: 0 })
    const run = await engine.start(patient)
    await until(
      () => run.why(),
      (why) => why.reason === 'condition' && why.until === undefined,
    )
    await run.signal(add, 1)
    await run.signal(add, 2)
    expect(await run.result()).toEqual([true, true, true, [1, 2]])
  })

  test('C6 a handler that throws fails the run, and a query that asks for something is refused', async () => {
    const fragile = workflow('fragile', async (ctx) => {
      ctx.on(add, () => {
        throw new RangeError('no more')
      })
      ctx.on(total, () => {
        void ctx.sleep('1s')
        return 1
      })
      await ctx.wait(stop)
    })
    const engine = await bench.serve({ workflows: [fragile] })
    const run = await engine.start(fragile)
    await waitsFor(run, 'signal')
    expect(await rejection(run.query(total))).toMatchObject({ code: 'NOT_SUPPORTED' })
    await run.signal(add, 1)
    expect(await rejection(run.result())).toMatchObject({ failure: { type: 'RangeError' } })
  })

  test('S8 an answered update stays answered, and a validator is asked once, whenever it gets its say', async () => {
    const late = workflow('late', async (ctx) => {
      await ctx.wait(stop)
      const seen: number[] = []
      const odd = (n: number): void => {
        if (n % 2 === 0) throw new RangeError('even')
      }
      ctx.on(take, { validate: odd }, (n) => {
        seen.push(n)
        return { left: n }
      })
      await ctx.wait(() => seen.length === 2)
      await ctx.sleep('1ms')
      return seen
    })
    const engine = await bench.serve({ workflows: [late] }, { warm: 0 })
    const run = await engine.start(late)
    await waitsFor(run, 'signal')
    const answers = [1, 2, 3].map((n) => run.update(take, n).catch((error: Error) => error.message))
    await until(
      () => historyOf(run),
      (entries) => entries.filter(({ type }) => type === 'UpdateReceived').length === 3,
    )
    await run.signal(stop)
    expect(await run.result()).toHaveLength(2)
    expect(await Promise.all(answers)).toEqual([{ left: 1 }, expect.stringContaining('even'), { left: 3 }])
    const types = (await historyOf(run)).map(({ type }) => type)
    expect(types.filter((type) => type === 'UpdateCompleted').length).toBe(2)
    expect(types.filter((type) => type === 'UpdateFailed').length).toBe(1)
  })

  test('C6 a signal that has a handler cannot be waited for, nor the other way round', async () => {
    const both = workflow('both', async (ctx, handlerFirst: boolean) => {
      if (handlerFirst) {
        ctx.on(add, () => {})
        await ctx.wait(add)
      }
      await Promise.all([ctx.wait(add), ctx.run('later', () => 1).then(() => ctx.on(add, () => {}))])
    })
    const engine = await bench.serve({ workflows: [both] })
    for (const first of [true, false]) {
      expect(await rejection(engine.execute(both, first))).toMatchObject({
        failure: { code: 'INPUT_INVALID' },
      })
    }
  })
})
