// A run as it was after any of its events: its steps, its timeline, the events of one step, the items of a list.
import { activity, type Engine, graph, type HistoryEvent, open, type RunHandle, signal, workflow } from 'pawl'
import { afterAll, beforeAll, expect, test } from 'vitest'

const go = signal<number>('go')
const double = activity('double', async (n: number) => n * 2)
const flow = workflow('flow', async (ctx, n: number) => {
  const twice = await ctx.run(double, n)
  const more = await ctx.wait(go)
  return ctx.run(double, twice + more)
})
const sheet = graph<readonly number[]>('sheet')
  .step('rows', async ({ input }) => input)
  .each('square', { after: ['rows'], over: ({ results }) => results.rows, retry: 'none' }, async ({ item }) => {
    if (item === 3) throw new Error('three')
    return item * item
  })
  .step('tell', { after: ['square'], rule: 'allDone' }, async () => 'told')
const rounds = workflow('rounds', async (ctx, left: number) => {
  await ctx.run('note', () => left)
  if (left > 0) ctx.continueAsNew(left - 1)
})

let engine: Engine

beforeAll(async () => {
  const options = { workflows: [flow, sheet, rounds], activities: [double], logger: { log: () => {} } }
  engine = await open('memory:', options)
  engine.work({ signals: false })
})
afterAll(() => engine?.close())

async function historyOf(run: RunHandle<unknown>, options = {}): Promise<HistoryEvent[]> {
  const found: HistoryEvent[] = []
  for await (const event of run.history(options)) found.push(event)
  return found
}

async function told(run: RunHandle<unknown>, at: number): Promise<string[]> {
  return (await run.steps({ at })).map(({ step, state }) => `${step} ${state}`)
}

test('I13: steps and timeline after an event are those that the run had then', async () => {
  const run = await engine.start(flow, 4)
  await run.signal(go, 1)
  expect(await run.result()).toBe(18)
  const events = await historyOf(run)
  const end = (await run.timeline()).to.getTime()
  for (const { seq, at } of events) {
    const steps = await run.steps({ at: seq })
    const { rows, to } = await run.timeline({ at: seq })
    expect(rows.filter(({ kind }) => kind !== 'mark')).toHaveLength(steps.length)
    expect(to.getTime(), `after event ${seq}`).toBe(seq === events.at(-1)?.seq ? end : at.getTime())
  }
  expect(await told(run, 0)).toEqual([])
  expect(await told(run, 1)).toEqual(['double running'])
  const last = events.findLast(({ type }) => type === 'StepStarted')?.seq ?? 0
  expect(await told(run, last)).toEqual(['double completed', 'go completed', 'double #2 running'])
  expect(await run.steps({ at: 1_000, generation: 1 })).toEqual(await run.steps())
})

test('I13: a history is read by step, by type, and by both', async () => {
  const run = await engine.start(flow, 5)
  await run.signal(go, 1)
  await run.result()
  const ofStep = await historyOf(run, { step: 'activity:double#2' })
  expect(ofStep.map(({ type }) => type)).toEqual(['StepStarted', 'StepCompleted'])
  expect(await historyOf(run, { step: 'activity:double#2', type: 'StepCompleted' })).toEqual(ofStep.slice(1))
  expect((await historyOf(run, { type: 'RunStarted' })).map(({ seq }) => seq)).toEqual([0])
})

test('I13: an earlier generation has its own steps and timeline', async () => {
  const run = await engine.start(rounds, 1)
  await run.result()
  expect((await run.describe()).generation).toBe(2)
  const [first] = await run.steps({ generation: 1 })
  const [second] = await run.steps()
  expect(first?.endedAt?.getTime()).toBeLessThanOrEqual(second?.startedAt?.getTime() ?? 0)
  expect((await run.timeline({ generation: 1 })).rows).toHaveLength(1)
  expect(await run.steps({ generation: 3 })).toEqual([])
})

test('Q4: steps of a graph name what they come after; a list opens into its items', async () => {
  const run = await engine.start(sheet, [1, 2, 3])
  await run.result().catch(() => {})
  const steps = await run.steps()
  expect(steps.map(({ step, after, rule }) => [step, after, rule])).toEqual([
    ...[
      ['rows', [], undefined],
      ['square', ['rows'], undefined],
      ['tell', ['square'], 'allDone'],
    ],
  ])
  const items = await run.steps({ list: 'square' })
  expect(items.map(({ step, state }) => `${step} ${state}`).toSorted()).toEqual([
    ...['square[0] completed', 'square[1] completed', 'square[2] failed'],
  ])
  expect(await run.steps({ list: 'rows' })).toEqual([])
})
