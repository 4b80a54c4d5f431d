// Forks with given results: of steps and children that had ended, were open, or had been attempted.
import { afterEach, expect, test } from 'vitest'
import { activity, graph, type RunHandle, signal, workflow } from '../index.ts'
import { type TestEngine, testEngine } from './test-engine.ts'

let down = true
let ran: string[] = []
const act = activity('act', { retry: { initial: '1m', maxAttempts: 100 } }, async (name: string) => {
  if (down && name === 'a') throw new Error('down')
  ran.push(name)
  return name
})
const child = workflow('child', async (ctx) => ctx.wait(signal<string>('never')))
const steps = workflow('steps', async (ctx) =>
  ctx.all({
    left: async (left) => [await left.run(act, 'a', { key: 'a' }), await left.run(act, 'a2')],
    right: async (right) => {
      const before = [await right.run(act, 'b'), await right.run(act, 'c')]
      await right.sleep('1s')
      return [...before, await right.run(act, 'd', { key: 'd' })]
    },
  }),
)
const children = workflow('children', async (ctx) =>
  ctx.all({
    left: async (left) => [await left.child(child, undefined, { key: 'k' }), await left.run(act, 'a2')],
    right: async (right) => {
      await right.run(act, 'b')
      await right.sleep('1s')
      return right.run(act, 'd', { key: 'd' })
    },
  }),
)
const lines = graph('lines')
  .step('slow', async () => {
    ran.push('slow')
    if (down) await new Promise(() => {})
    return 'slow'
  })
  .step('quick', async () => 'quick')
  .step('then', { after: ['quick'] }, async () => 'then')
  .step('last', { after: ['slow', 'then'] }, ({ results }) => results.slow)

let engine: TestEngine
afterEach(() => engine.close())

async function begun(definition: typeof steps | typeof children): Promise<RunHandle<unknown>> {
  down = true
  engine = await testEngine({
    workflows: [steps, children, child, lines],
    activities: [act],
    patience: 20,
    logger: { log: () => {} },
  })
  const run = await engine.start(definition as never)
  await engine.clock.advance('90s')
  await run.pause()
  await engine.idle()
  down = false
  ran = []
  return run
}

const keyOf = async (run: RunHandle<unknown>, end: string): Promise<string> => {
  for await (const { step } of run.history()) if (step?.endsWith(end)) return step
  throw new Error(`no step ${end}`)
}

test('users D2: an open step that was retried takes the result it is given, behind what went on without it', async () => {
  const run = await begun(steps)
  const fork = await run.fork({
    step: await keyOf(run, '[d]'),
    results: { [await keyOf(run, '[a]')]: 'GIVEN' },
  })
  expect(await fork.result()).toMatchObject({ left: ['GIVEN', 'a2'], right: ['b', 'c', 'd'] })
  expect(ran.toSorted()).toEqual(['a2', 'd'])
})

test('users D2: an open child takes the result it is given, and is not started again', async () => {
  const run = await begun(children)
  const before = await engine.count({ workflow: child })
  const fork = await run.fork({
    step: await keyOf(run, '[d]'),
    results: { [await keyOf(run, '[k]')]: 'GIVEN' },
  })
  expect(await fork.result()).toMatchObject({ left: ['GIVEN', 'a2'] })
  expect(await engine.count({ workflow: child })).toBe(before)
})

test('users D2: a graph takes results of steps that are open, and refuses those that nobody has', async () => {
  const run = await begun(lines as never)
  const fork = await run.fork({ step: 'then', results: { slow: 'GIVEN' } })
  expect(await fork.result()).toMatchObject({ last: 'GIVEN' })
  expect(ran).toEqual([])
  await expect(run.fork({ step: 'quick', results: { then: 1 } })).rejects.toThrow(/no step or child 'then'/)
})
