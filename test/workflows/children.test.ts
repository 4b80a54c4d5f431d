import { activity, CancelledError, type ChildOptions, RunError, type RunOptions, signal, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { historyOf, kinds, rejection, until, useStore, waitsFor } from './each-store.ts'

const go = signal('go')
const square = workflow('square', async (_ctx, n: number) => n * n)
const fails = workflow('fails', async (_ctx, what: string) => {
  throw new TypeError(what)
})
const waits = workflow('waits', async (ctx) => {
  await ctx.wait(go)
  return 'went'
})

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('C8 a child gives its result to its parent, and both are runs of their own', async () => {
    const sum = workflow('sum', async (ctx, numbers: number[]) => {
      const squares = await Promise.all(numbers.map((n) => ctx.child(square, n)))
      return squares.reduce((a, b) => a + b, 0)
    })
    const engine = await bench.serve({ workflows: [sum, square] })
    const run = await engine.start(sum, [1, 2, 3])
    expect(await run.result()).toBe(14)
    const { items } = await engine.list({ workflow: square })
    expect(items.map((each) => each.parentRunId)).toEqual([run.runId, run.runId, run.runId])
    expect(new Set(items.map((each) => each.output))).toEqual(new Set([1, 4, 9]))
  })

  test('C8 a parent waits for its child, and why names it', async () => {
    const parent = workflow('parent', async (ctx) => ctx.child(waits, undefined))
    const engine = await bench.serve({ workflows: [parent, waits] })
    const run = await engine.start(parent)
    const { runId } = await waitsFor(run, 'child')
    const child = engine.get(waits, runId)
    await waitsFor(child, 'signal')
    await child.signal(go)
    expect(await run.result()).toBe('went')
  })

  test("C8 a child's failure is a RunError in its parent, with the failure and its cause", async () => {
    const parent = workflow('parent', async (ctx) => {
      try {
        await ctx.child(fails, 'broken')
        return undefined
      } catch (error) {
        if (!(error instanceof RunError)) throw error
        const cause = error.cause as Error
        return { runId: error.runId, failure: error.failure, cause: [cause.name, cause.message] }
      }
    })
    const engine = await bench.serve({ workflows: [parent, fails] })
    const got = await engine.execute(parent)
    expect(got).toMatchObject({
      failure: { type: 'TypeError', message: 'broken' },
      cause: ['TypeError', 'broken'],
    })
    expect((await engine.get(got?.runId ?? '').describe()).status).toBe('failed')
  })

  test("C8 a child's failure that is not caught fails the parent, and keeps the chain of causes", async () => {
    const parent = workflow('parent', async (ctx) => ctx.child(fails, 'broken'))
    const engine = await bench.serve({ workflows: [parent, fails] })
    expect(await rejection(engine.execute(parent))).toMatchObject({
      failure: { type: 'RunError', cause: { type: 'TypeError', message: 'broken' } },
    })
  })

  test('C8 a child that is cancelled fails the call of its parent', async () => {
    const parent = workflow('parent', async (ctx) => {
      const error = await ctx.child(waits, undefined).catch((caught: unknown) => caught)
      return error instanceof RunError ? error.failure : undefined
    })
    const engine = await bench.serve({ workflows: [parent, waits] })
    const run = await engine.start(parent)
    const { runId } = await waitsFor(run, 'child')
    await engine.get(runId).cancel('not wanted')
    expect(await run.result()).toMatchObject({ type: 'CancelledError', message: 'not wanted' })
  })

  test('C8 a child that is still running is cancelled when its parent ends', async () => {
    const parent = workflow('parent', async (ctx) => {
      const child = ctx.child(waits, undefined)
      return Promise.race([child, ctx.wait(go).then(() => 'left')])
    })
    const engine = await bench.serve({ workflows: [parent, waits] })
    const run = await engine.start(parent)
    const { runId } = await waitsFor(run, 'child')
    await run.signal(go)
    expect(await run.result()).toBe('left')
    const error = await rejection(engine.get(runId).result())
    expect(error).toBeInstanceOf(CancelledError)
    expect((error as CancelledError).reason).toContain(run.runId)
  })

  test('C8 an abandoned child outlives its parent', async () => {
    const parent = workflow('parent', async (ctx) => {
      const child = ctx.child(waits, undefined, { parentClose: 'abandon', workflowId: 'orphan' })
      return Promise.race([child, ctx.wait(go).then(() => 'left')])
    })
    const engine = await bench.serve({ workflows: [parent, waits] })
    const run = await engine.start(parent)
    await waitsFor(run, 'signal')
    await run.signal(go)
    expect(await run.result()).toBe('left')
    const orphan = engine.get(waits, { workflowId: 'orphan' })
    await orphan.signal(go)
    expect(await orphan.result()).toBe('went')
  })

  test('C8 an abandoned child is started even if its parent ends at once, or continues as new', async () => {
    const leaves = workflow('leaves', async (ctx, n: number): Promise<string> => {
      void ctx.child(waits, undefined, { parentClose: 'abandon', workflowId: `orphan ${n}` })
      return n === 1 ? ctx.continueAsNew(2) : 'left'
    })
    const engine = await bench.serve({ workflows: [leaves, waits] })
    expect(await engine.execute(leaves, 1)).toBe('left')
    for (const n of [1, 2]) {
      const orphan = engine.get(waits, { workflowId: `orphan ${n}` })
      await orphan.signal(go)
      expect(await orphan.result()).toBe('went')
    }
  })

  test('C8 a child ends as it was told to when its parent ends', async () => {
    const parent = workflow('parent', async (ctx) => {
      void ctx.child(waits, undefined, { parentClose: 'terminate', workflowId: 'told' })
      await ctx.wait(go)
      return 'left'
    })
    const engine = await bench.serve({ workflows: [parent, waits] })
    const run = await engine.start(parent)
    await waitsFor(run, 'child')
    await run.signal(go)
    expect(await run.result()).toBe('left')
    const error = await rejection(engine.get({ workflowId: 'told' }).result())
    expect(error).toMatchObject({ failure: { type: 'Terminated' } })
  })

  test('C8 a parent that replays on another engine does not start its child again', async () => {
    const parent = workflow('parent', async (ctx) => ctx.child(waits, undefined))
    const first = await bench.worker({ workflows: [parent, waits] })
    const run = await first.engine.start(parent)
    const { runId } = await waitsFor(run, 'child')
    await first.engine.close()
    const second = await bench.serve({ workflows: [parent, waits] })
    await second.get(runId).signal(go)
    expect(await second.get(parent, run.runId).result()).toBe('went')
    expect(await second.count({ workflow: waits })).toBe(1)
  })

  test('C8 children have children, and results come up through all of them', async () => {
    const tree = workflow.declare<number, number>('tree')
    const code = tree.implement(async (ctx, depth) => {
      if (depth === 0) return 1
      const [left, right] = await Promise.all([ctx.child(tree, depth - 1), ctx.child(tree, depth - 1)])
      return left + right
    })
    const engine = await bench.serve({ workflows: [code] })
    expect(await engine.execute(tree, 4)).toBe(16)
    expect(
      await until(
        () => engine.count({ status: 'completed' }),
        (n) => n === 31,
      ),
    ).toBe(31)
  })

  test('C8 a parent signals its child, and cancels it; another run can be signalled by its id', async () => {
    const hello = signal<string>('hello')
    const listens = workflow('listens', async (ctx) => ctx.wait(hello))
    const patient = workflow('patient', async (ctx) => ctx.sleep('1h'))
    const talks = workflow('talks', async (ctx, other: string) => {
      const first = ctx.child(listens)
      await first.signal(hello, 'child')
      await ctx.signal(other, hello, 'neighbour')
      const second = ctx.child(patient)
      second.cancel('no longer needed')
      const failed = await second.catch((error: Error) => error.message)
      return [await first, failed]
    })
    const engine = await bench.serve({ workflows: [listens, patient, talks] }, { warm: 0 })
    const other = await engine.start(listens)
    const run = await engine.start(talks, other.runId)
    expect(await run.result()).toEqual(['child', expect.stringContaining('no longer needed')])
    expect(await other.result()).toBe('neighbour')
    const sent = (await historyOf(run)).flatMap(({ type, step }) => (type === 'MessageSent' ? [step] : []))
    expect(sent).toEqual(['signal:hello#1', 'signal:hello#2', 'cancel:cancel#1'])
  })

  test('C8 a cancel sent right before the end goes out, also to a child that is abandoned', async () => {
    const patient = workflow('patient', async (ctx) => ctx.sleep('1h'))
    const hasty = workflow('hasty', async (ctx) => {
      const child = ctx.child(patient, undefined, { parentClose: 'abandon' })
      await ctx.sleep('1ms')
      child.cancel('not needed')
      return child.runId
    })
    const engine = await bench.serve({ workflows: [patient, hasty] })
    const childId = await engine.execute(hasty)
    const { status } = await until(
      () => engine.get(childId).describe(),
      (record) => record.endedAt !== undefined,
    )
    expect(status).toBe('cancelled')
  })

  test('C8 a child, or an activity, of no possible queue or priority is refused where it is asked for', async () => {
    const leaf = workflow('leaf', async () => 1)
    const work = activity('work', async () => 1)
    const wrong: ChildOptions[] = [
      { priority: 1.5 },
      { priority: 1_001 },
      { priority: '1' as unknown as number },
      { queue: '' },
      { queue: 'a\0b' },
    ]
    const tree = workflow('tree', async (ctx) => {
      const codes: unknown[] = []
      for (const options of wrong) {
        for (const ask of [
          () => ctx.child(leaf, undefined, options),
          () => ctx.run(work, undefined, options as RunOptions),
        ]) {
          try {
            await ask()
            codes.push('taken')
          } catch (error) {
            codes.push((error as { code?: string }).code)
          }
        }
      }
      return [new Set(codes), await ctx.child(leaf, undefined, { priority: -1_000 })]
    })
    const engine = await bench.serve({ workflows: [leaf, tree], activities: [work] })
    expect(await engine.execute(tree)).toEqual([new Set(['INPUT_INVALID']), 1])
  })
})
