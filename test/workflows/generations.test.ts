// Continue-as-new: one run that begins again and again, with nothing lost in between.
import { RunError, signal, TIMEOUT, update, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { Gate, historyOf, kinds, rejection, until, useStore, waitsFor } from './each-store.ts'

const work = signal<number>('work')
const flush = signal('flush')
const ask = update<string, string>('ask')

interface Ledger {
  readonly seen: readonly number[]
  readonly generations: number
}

/** Takes three pieces of work per generation, and ends when a generation finds none. */
const ledger = workflow('ledger', async (ctx, { seen, generations }: Ledger): Promise<Ledger> => {
  const taken = [...seen]
  for (let n = 0; n < 3; n++) {
    const next = await ctx.wait(work, { timeout: '150ms' })
    if (next === TIMEOUT) return { seen: taken, generations }
    taken.push(await ctx.run('take', () => next))
  }
  return ctx.continueAsNew({ seen: taken, generations: generations + 1 })
})

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('C7: continue-as-new with queued signals loses none, takes none twice, and keeps their order', async () => {
    const engine = await bench.serve({ workflows: [ledger] }, { warm: 0 })
    const run = await engine.start(ledger, { seen: [], generations: 1 })
    for (let n = 1; n <= 10; n++) await run.signal(work, n, { messageId: `m${n}` })
    const result = await run.result()
    expect(result).toEqual({ seen: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], generations: 4 })
    const { generation, status } = await run.describe()
    expect([generation, status]).toEqual([4, 'completed'])
  })

  test('C7: each generation has a short history of its own, and earlier ones stay readable', async () => {
    const engine = await bench.serve({ workflows: [ledger] })
    const run = await engine.start(ledger, { seen: [], generations: 1 })
    for (let n = 1; n <= 4; n++) await run.signal(work, n)
    await run.result()
    const first = []
    for await (const entry of run.history({ generation: 1 })) first.push(entry.type)
    expect([first[0], first.at(-1)]).toEqual(['RunStarted', 'RunContinued'])
    const last = await historyOf(run)
    expect(last[0]).toMatchObject({ type: 'GenerationBegan', seq: 1, reason: 'continued' })
    expect(last.filter(({ type }) => type === 'StepCompleted')).toHaveLength(1)
  })

  test('C7: a message whose sender repeats it after the run continued is not taken again', async () => {
    const engine = await bench.serve({ workflows: [ledger] })
    const run = await engine.start(ledger, { seen: [], generations: 1 })
    for (let n = 1; n <= 3; n++) await run.signal(work, n, { messageId: `m${n}` })
    await until(
      () => run.describe(),
      ({ generation }) => generation === 2,
    )
    await run.signal(work, 3, { messageId: 'm3' })
    expect(await run.result()).toMatchObject({ seen: [1, 2, 3] })
  })

  test('C7: a child reports to a parent as one run, however often it continued', async () => {
    const counting = workflow('counting', async (ctx, n: number): Promise<string> => {
      if (n < 3) return ctx.continueAsNew(n + 1)
      return `counted to ${n} in ${ctx.info.generation} generations`
    })
    const parent = workflow('parent', async (ctx) => ctx.child(counting, 1))
    const engine = await bench.serve({ workflows: [counting, parent] })
    expect(await engine.execute(parent)).toBe('counted to 3 in 3 generations')
  })

  test('C7: what a generation leaves open is cancelled, and an update it did not look at is for the next', async () => {
    const open = workflow('open', async (ctx, n: number): Promise<string[]> => {
      const said: string[] = []
      if (n === 1) {
        void ctx.sleep('1h')
        await ctx.wait(flush)
        return ctx.continueAsNew(2)
      }
      ctx.on(ask, (word) => {
        said.push(word)
        return `${word}!`
      })
      await ctx.wait(() => said.length > 0)
      return said
    })
    const engine = await bench.serve({ workflows: [open] })
    const run = await engine.start(open, 1)
    await waitsFor(run, 'signal')
    const answer = run.update(ask, 'hello')
    await run.signal(flush)
    expect(await answer).toBe('hello!')
    expect(await run.result()).toEqual(['hello'])
  })

  test('C7: a run that was cancelled does not continue', async () => {
    const stubborn = workflow('stubborn', async (ctx, n: number): Promise<number> => {
      try {
        await ctx.wait(flush)
      } catch {
        return ctx.continueAsNew(n + 1)
      }
      return n
    })
    const engine = await bench.serve({ workflows: [stubborn] })
    const run = await engine.start(stubborn, 1)
    await waitsFor(run, 'signal')
    await run.cancel('enough')
    expect(await rejection(run.result())).toMatchObject({ name: 'CancelledError' })
    expect((await run.describe()).generation).toBe(1)
  })

  test('R9: the run time-out begins anew with each generation, the execution time-out does not', async () => {
    const slow = workflow(
      'slow',
      { runTimeout: '400ms', executionTimeout: '900ms' },
      async (ctx, n: number): Promise<number> => {
        await ctx.sleep('250ms')
        return ctx.continueAsNew(n + 1)
      },
    )
    const stuck = workflow('stuck', { runTimeout: '100ms' }, async (ctx) => {
      await ctx.wait(flush)
    })
    const engine = await bench.serve({ workflows: [slow, stuck] })
    const [run, other] = [await engine.start(slow, 1), await engine.start(stuck)]
    const failed = (await rejection(run.result())) as RunError
    expect(failed.failure).toMatchObject({ type: 'Timeout', code: 'EXECUTION_TIMEOUT' })
    expect((await run.describe()).generation).toBeGreaterThan(2)
    const late = (await rejection(other.result())) as RunError
    expect(late).toBeInstanceOf(RunError)
    expect(late.failure).toMatchObject({ type: 'Timeout', code: 'RUN_TIMEOUT' })
  })

  test('C7: a caller that waits for an update in progress when the run continues is told', async () => {
    const busy = workflow('busy', async (ctx, n: number): Promise<number> => {
      if (n === 2) return n
      let begun = false
      ctx.on(ask, async (word, own) => {
        begun = true
        await own.sleep('1h')
        return word
      })
      await ctx.wait(() => begun)
      return ctx.continueAsNew(2)
    })
    const engine = await bench.serve({ workflows: [busy] })
    const run = await engine.start(busy, 1)
    expect(await rejection(run.update(ask, 'hello'))).toMatchObject({
      code: 'UPDATE_FAILED',
      message: expect.stringContaining('continued as new'),
    })
    expect(await run.result()).toBe(2)
  })

  test('V11: who pauses a run that then continues as new finds it paused', async () => {
    const gate = new Gate()
    const relay = workflow('relay', async (ctx, n: number): Promise<number> => {
      await ctx.run('step', () => (n === 1 ? gate.opened : undefined))
      return n < 5 ? ctx.continueAsNew(n + 1) : n
    })
    const engine = await bench.serve({ workflows: [relay] })
    const run = await engine.start(relay, 1)
    await waitsFor(run, 'activity')
    await run.pause('look here')
    // Its holder knows that once it is written.
    await until(
      () => historyOf(run),
      (entries) => entries.some(({ type }) => type === 'PauseRequested'),
    )
    gate.open()
    const { generation } = await until(
      () => run.describe(),
      ({ status }) => status === 'paused',
    )
    expect(generation).toBeLessThan(5)
    expect(await run.why()).toMatchObject({ reason: 'paused', note: 'look here' })
    await run.resume()
    expect(await run.result()).toBe(5)
  })

  test('C7: a run that would continue with more than can be written fails, and says so', async () => {
    const heap = workflow('heap', async (ctx) => {
      await ctx.wait(flush)
      return ctx.continueAsNew(undefined)
    })
    const engine = await bench.engine()
    const run = await engine.start(heap)
    const large = signal<string>('large')
    for (let n = 0; n < 18; n++) await run.signal(large, 'x'.repeat(1_000_000))
    await run.signal(flush)
    await bench.serve({ workflows: [heap] })
    const error = (await rejection(run.result())) as RunError
    expect(error.failure).toMatchObject({ type: 'TurnRejected' })
    expect(error.failure.message).toContain('too large')
  })
})
