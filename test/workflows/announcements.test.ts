// What is announced, to whom, and when: after it is durable, and never at the cost of the run.
import { type Announcement, activity, type Engine, PermanentError, signal, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { kinds, rejection, useStore } from './each-store.ts'

const go = signal<number>('go')
const flaky = activity('flaky', { retry: { initial: '5ms' } }, async (_: void, ctx) => {
  if (ctx.attempt === 1) throw new Error('not yet')
  return ctx.attempt
})
const told = workflow('told', async (ctx, n: number): Promise<number> => {
  const tries = await ctx.run(flaky)
  const word = await ctx.wait(go)
  return n > 1 ? tries + word : ctx.continueAsNew(n + 1)
})
const doomed = workflow('doomed', async () => {
  throw new PermanentError('no luck')
})

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('O5: the life of a run is announced, in order, once', async () => {
    const heard: Announcement[] = []
    const engine = await bench.serve({
      workflows: [told, doomed],
      activities: [flaky],
      listeners: [(each) => heard.push(each)],
    })
    const run = await engine.start(told, 1)
    for (const n of [1, 2]) {
      await counted(heard, 'run.suspended', n)
      await run.signal(go, n)
      await counted(heard, 'run.continued', 1)
    }
    expect(await run.result()).toBe(4)
    // A caller that waits for a result may get it before the listeners.
    await counted(heard, 'run.completed', 1)
    const mine = heard.filter((each) => 'runId' in each && each.runId === run.runId)
    const life: readonly string[] = ['run.started', 'run.suspended', 'run.continued', 'run.completed']
    const types = mine.map(({ type }) => type).filter((type) => life.includes(type))
    expect(types).toEqual(['run.started', 'run.suspended', 'run.continued', 'run.suspended', 'run.completed'])
    expect(mine.at(-1)).toMatchObject({ type: 'run.completed', output: 4, workflow: 'told' })
    const failures = mine.filter((each) => each.type === 'activity.failed')
    expect(failures.map((each) => [each.activity, each.attempt, each.willRetry])).toEqual([
      ['flaky', 1, true],
      ['flaky', 1, true],
    ])
    await rejection(engine.execute(doomed))
    await counted(heard, 'run.failed', 1)
    expect(heard.find((each) => each.type === 'run.failed')).toMatchObject({
      failure: { type: 'PermanentError', message: 'no luck' },
    })
  })

  test('O5: a listener that throws harms nothing, and can be taken off', async () => {
    let calls = 0
    const engine = await bench.serve({
      workflows: [told],
      activities: [flaky],
      listeners: [
        () => {
          throw new Error('a broken listener')
        },
      ],
    })
    const off = engine.on('run.completed', () => void calls++)
    for (let n = 0; n < 2; n++) {
      const run = await engine.start(told, 2)
      const over = heardOf(engine, run.runId)
      await run.signal(go, 1)
      expect(await run.result()).toBe(3)
      await over
      off()
    }
    expect(calls).toBe(1)
  })
})

async function counted(heard: readonly Announcement[], type: Announcement['type'], count: number): Promise<void> {
  while (heard.filter((each) => each.type === type).length < count) {
    await new Promise((resolve) => setImmediate(resolve))
  }
}

function heardOf(engine: Engine, runId: string): Promise<void> {
  return new Promise((resolve) => {
    engine.on('run.completed', (each) => void (each.runId === runId && resolve()))
  })
}
