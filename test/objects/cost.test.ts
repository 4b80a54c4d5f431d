// The cost of a run on object storage: requests, and round trips until it ends. Counted, not timed.
import { expect, test } from 'vitest'
import { limits } from '../../src/core/base/limits.ts'
import { workflow } from '../../src/index.ts'
import { ROUND_TRIP_MS } from './far-bucket.ts'
import { FarWorld } from './far-engine.ts'

const chain = workflow('chain', async (ctx, steps: number) => {
  for (let n = 0; n < steps; n++) await ctx.run(`step ${n}`, () => n)
  return steps
})

const MINUTE_MS = 60_000

async function idleWorker(world: FarWorld) {
  const far = world.engine([chain])
  const worker = far.engine.work({ signals: false })
  await world.during(worker.ready)
  await world.pass(12_345)
  return far
}

test('P1: a one-step run takes at most 5 round trips, and each further step one', async () => {
  const world = new FarWorld()
  const { engine } = await idleWorker(world)
  const one = await world.during(engine.execute(chain, 1))
  const ten = await world.during(engine.execute(chain, 10))
  expect(one.ms / ROUND_TRIP_MS).toBeLessThanOrEqual(5)
  expect((ten.ms - one.ms) / 9 / ROUND_TRIP_MS).toBeLessThanOrEqual(1)
})

test('P1: a run started by another process is picked up and its result is heard of', async () => {
  const world = new FarWorld()
  await idleWorker(world)
  const { engine } = world.engine([chain])
  const { value, ms } = await world.during(engine.execute(chain, 1))
  expect(value).toBe(1)
  // The worker polls every two seconds while no process writes; the other process polls soon after its own write.
  expect(ms).toBeLessThan(4_000)
})

test('P15: a single run costs at most 4 requests a step, with all that is written for people', async () => {
  const world = new FarWorld()
  const { engine, requests } = await idleWorker(world)
  for (const steps of [1, 10]) {
    const before = requests.copy()
    await world.during(engine.execute(chain, steps))
    // Stops when the projections are written; another test counts the requests of an idle worker.
    await world.pass(100)
    const spent = requests.since(before)
    expect(spent.all / steps, JSON.stringify(spent)).toBeLessThanOrEqual(4)
    expect(world.space.list('runs/').length).toBeGreaterThan(0)
  }
})

test('P15: saturated with ten-step runs, 1,000 steps cost at most 20 requests', async () => {
  const world = new FarWorld()
  const { engine, requests } = await idleWorker(world)
  const runs = 2_000
  const before = requests.copy()
  await world.during(Promise.all(Array.from({ length: runs }, () => engine.execute(chain, 10))))
  await world.pass(1_000)
  const spent = requests.since(before)
  expect((spent.all / (runs * 10)) * 1_000, JSON.stringify(spent)).toBeLessThanOrEqual(20)
})

test('P1: an idle worker never lists, and asks for one object every two seconds', async () => {
  const world = new FarWorld()
  const { requests } = await idleWorker(world)
  const before = requests.copy()
  await world.pass(10 * MINUTE_MS)
  const spent = requests.since(before)
  expect(spent.list).toBe(0)
  expect(spent.get, JSON.stringify(spent)).toBeLessThanOrEqual(10 * 42 + 5)
  const renewals = (10 * MINUTE_MS * limits.leaseRenewalsPerLife) / limits.leaseMs
  expect(spent.put, JSON.stringify(spent)).toBeLessThanOrEqual(renewals + 5)
})
