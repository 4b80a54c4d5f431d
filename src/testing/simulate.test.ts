import { expect, test } from 'vitest'
import { activity, workflow } from '../index.ts'
import { SeedFailed, simulate } from './simulate.ts'

const quiet = { log: () => {} }
let began: string[] = []
const pay = activity('pay', async (n: number, { attempt }) => {
  began.push(`pay ${n} ${attempt}`)
  return n
})
const order = workflow('order', async (ctx, n: number) => {
  const [first, second] = await Promise.all([ctx.run(pay, n), ctx.run(pay, n + 1)])
  await ctx.sleep('1h')
  return first + second + (await ctx.run(pay, 0))
})
const shop = { workflows: [order], activities: [pay], logger: quiet }

test('every seed has a future of its own: workers die in many, and the outcome is always the same', async () => {
  const futures = new Set<string>()
  let twice = 0
  await simulate({ ...shop, seeds: 60 }, async (engine) => {
    began = []
    expect(await engine.execute(order, 5)).toBe(11)
    futures.add(began.join())
    if (began.length > 3) twice++
  })
  expect(futures.size).toBeGreaterThan(5)
  expect(twice).toBeGreaterThan(10)
})

test('the same seed is the same future', async () => {
  const seen: string[][] = []
  const program = { ...shop, seed: 17, seeds: 1, workers: 3 }
  for (let time = 0; time < 2; time++) {
    await simulate(program, async (engine) => {
      began = []
      await engine.execute(order, 5)
      seen.push([...began, String(engine.clock.now())])
    })
  }
  expect(seen[1]).toEqual(seen[0])
})

test('what fails in one future names its seed, and fails again under it', async () => {
  const once = async (seed: number, seeds: number): Promise<SeedFailed> => {
    const failed = simulate({ ...shop, seed, seeds }, async (engine) => {
      began = []
      await engine.execute(order, 5)
      // Wrong: a body may run twice if its worker dies before that is recorded.
      expect(began).toHaveLength(3)
    })
    return failed.then(
      () => expect.unreachable(),
      (error: unknown) => error as SeedFailed,
    )
  }
  const found = await once(1, 100)
  expect(found).toBeInstanceOf(SeedFailed)
  expect(found.message).toMatch(new RegExp(`^seed ${found.seed} failed: .*[^]*seeds: 1`))
  expect((await once(found.seed, 1)).seed).toBe(found.seed)
})

test('without crashes and faults nothing runs twice', async () => {
  await simulate({ ...shop, seeds: 20, crashes: false, faults: false }, async (engine) => {
    began = []
    await engine.execute(order, 5)
    expect(began).toHaveLength(3)
  })
  await expect(simulate({ seed: 1, sseeds: 3 } as never, async () => {})).rejects.toThrow(/seeds/)
})
