// What the simulated deployment runs: workflows that use every primitive, and a client that starts, signals and
// cancels them over a bad network, noting what it was promised.

import { sleep } from '../../src/core/runtime/clock.ts'
import {
  type ActivityContext,
  ActivityError,
  activity,
  CANCELLED,
  CancelledError,
  type Engine,
  PermanentError,
  type RunHandle,
  TIMEOUT,
  type Workflow,
  workflow,
} from '../../src/index.ts'
import type { Acknowledged } from '../../src/testing/checkers.ts'
import { SeededRandom } from '../../src/testing/seeded-random.ts'
import { checkPlace, simulatedBody } from '../../src/testing/simulated-body.ts'
import type { Definitions, ProgramWorld, SimulatedWorld } from '../../src/testing/simulator.ts'
import { machines } from './machines.ts'
import { retryIn } from './retries.ts'
import { go } from './signals.ts'

export function definitions(world: SimulatedWorld): Definitions {
  const { chain, fan, once } = plainWorkflows(world)
  const { flaky, remote, activities } = failingWorkflows(world)
  const { patient, collector, sleeper } = waitingWorkflows(world)
  const { child, parent } = families(world)
  const { racer, scoped, listener } = structuredWorkflows(world, child)
  const plain = [chain, fan, once, flaky, remote, patient, collector, sleeper]
  const all = [...plain, child, parent, racer, scoped, listener]
  const counting = machines(world, body(world))
  return {
    workflows: [...all, ...counting.workflows],
    activities: [...activities, ...counting.activities],
  }
}

/** A step body: is written down, takes a while, and gives a value that depends on nothing but its place. */
function body(world: SimulatedWorld) {
  return (step: ActivityContext): Promise<number> =>
    simulatedBody(world, step, async () => {
      const { runId, stepKey: key, attempt } = step
      checkCause(world, runId, key)
      const random = new SeededRandom(world.seed).fork(`${runId} ${key} ${attempt}`)
      const ms = random.chance(0.05) ? random.below(4_000) : random.below(40)
      if (random.chance(0.8)) await sleep(world.process.clock, ms, step.signal)
      return key.length
    })
}

// Nothing leaves before what it rests on is durable: link n is begun because link n - 1 was recorded.
function checkCause(world: SimulatedWorld, runId: string, key: string): void {
  const n = Number(/^step:link#(\d+)$/.exec(key)?.[1] ?? 1)
  // The cause was durable, and a fail-over has lost it.
  if (world.ledger.failOvers > 0) return
  if (n === 1 || world.ledger.durable.has(`${runId} step:link#${n - 1}`)) return
  world.ledger.violate(`an effect left before its cause was durable: ${key} of ${runId}`)
}

function plainWorkflows(world: SimulatedWorld) {
  const work = body(world)
  const chain = workflow('chain', async (ctx, steps: number) => {
    const seen = [ctx.random(), ctx.uuid(), ctx.now()]
    let sum = 0
    for (let n = 0; n < steps; n++) sum += await ctx.run('link', { retry: retryIn(world) }, work)
    return { sum, seen, after: ctx.now(), again: ctx.random() }
  })
  const fan = workflow('fan', async (ctx, width: number) => {
    const order: number[] = []
    const branch = async (n: number): Promise<number> => {
      await ctx.run('first', { retry: retryIn(world) }, work)
      order.push(n)
      return ctx.run('second', { key: `second-${n}`, retry: retryIn(world) }, work)
    }
    const all = await Promise.all(Array.from({ length: width }, (_, n) => branch(n)))
    const raced = await Promise.race([
      ctx.sleep(30).then(() => 'time'),
      ctx.run('racer', { retry: retryIn(world) }, work).then(() => 'step'),
    ])
    const settled = await Promise.allSettled([ctx.sleep(5), ctx.sideEffect(() => 7)])
    return { all, order, raced, settled: settled.map((each) => each.status) }
  })
  const once = workflow('once', async (ctx) => {
    try {
      return await ctx.run('only', { retry: 'none' }, work)
    } catch (error) {
      return error instanceof ActivityError ? error.reason : 'other'
    }
  })
  return { chain, fan, once }
}

function failingWorkflows(world: SimulatedWorld) {
  const work = body(world)
  const charge = activity('charge', { retry: retryIn(world) }, async (amount: number, step) => {
    await work(step)
    return amount * 2
  })
  const far = activity('far', { queue: 'other', retry: retryIn(world) }, async (amount: number, step) => {
    checkPlace(world, 'other', step)
    await work(step)
    return amount + 1
  })
  const flaky = workflow('flaky', async (ctx, fails: number) => {
    const value = await ctx.run('flake', { retry: retryIn(world) }, async (step) => {
      const got = await work(step)
      if (step.attempt <= fails) throw new Error(`attempt ${step.attempt} fails`)
      return got
    })
    const refused = await ctx
      .run('refuse', { retry: retryIn(world) }, async (step) => {
        await work(step)
        throw new PermanentError('never')
      })
      .catch((error: unknown) => (error instanceof ActivityError ? error.reason : 'other'))
    const hopeless = await ctx
      .run('hopeless', { retry: { ...retryIn(world), maxAttempts: 2, initial: 10 } }, async (step) => {
        await work(step)
        throw new Error('always')
      })
      .catch((error: unknown) => (error instanceof ActivityError ? error.reason : 'other'))
    return { value, refused, hopeless, charged: await ctx.run(charge, 21) }
  })
  const remote = workflow('remote', async (ctx, width: number) => {
    const sums = await Promise.all(Array.from({ length: width }, (_, n) => ctx.run(far, n)))
    return sums.reduce((a, b) => a + b, await ctx.run(charge, 1))
  })
  return { flaky, remote, activities: [charge, far] }
}

function waitingWorkflows(world: SimulatedWorld) {
  const work = body(world)
  const patient = workflow('patient', async (ctx, timeout: number) => {
    const got = await ctx.wait(go, { timeout })
    await ctx.run('after', { retry: retryIn(world) }, work)
    const late = await ctx.wait(go, { timeout: 50 })
    return { got: got === TIMEOUT ? 'timeout' : got, late: late === TIMEOUT ? 'timeout' : late }
  })
  const collector = workflow('collector', async (ctx, wanted: number) => {
    const got: number[] = []
    while (got.length < wanted) {
      const next = await ctx.wait(go, { timeout: 60_000 })
      if (next === TIMEOUT) break
      got.push(next)
      if (got.length % 2 === 0) await ctx.run('digest', { retry: retryIn(world) }, work)
    }
    return got
  })
  const sleeper = workflow('sleeper', async (ctx, ms: number) => {
    try {
      await Promise.all([ctx.sleep(ms), ctx.run('meanwhile', { retry: retryIn(world) }, work)])
      await ctx.sleepUntil(ctx.now() + ms)
      return 'slept'
    } catch (error) {
      if (error instanceof CancelledError) throw error
      return 'failed'
    }
  })
  return { patient, collector, sleeper }
}

function families(world: SimulatedWorld) {
  const work = body(world)
  const child = workflow('child', async (ctx, n: number) => {
    const got = await ctx.run('childWork', { retry: retryIn(world) }, work)
    if (n === 3) throw new PermanentError('the third child fails')
    await ctx.sleep(n * 10)
    return got + n
  })
  const parent = workflow('parent', async (ctx, children: number) => {
    const ends = await Promise.allSettled(Array.from({ length: children }, (_, n) => ctx.child(child, n)))
    await ctx.run('sum', { retry: retryIn(world) }, work)
    return ends.map((end) => (end.status === 'fulfilled' ? end.value : 'failed'))
  })
  return { child, parent }
}

/** Everything that calls something off, or runs in the background. */
function structuredWorkflows(world: SimulatedWorld, child: Workflow<number, number>) {
  const work = body(world)
  const racer = workflow('racer', async (ctx, rounds: number) => {
    const winners: string[] = []
    for (let n = 0; n < rounds; n++) {
      const won = await ctx.race({
        step: ctx.run('slow', { retry: retryIn(world) }, work),
        timer: ctx.sleep(20),
        signal: ctx.wait(go),
        child: ctx.child(child, n),
        branch: async (own) => {
          await own.sleep(10)
          return own.run('inner', { retry: retryIn(world) }, work)
        },
      })
      winners.push(won.winner)
    }
    const left = await ctx.wait(go, { timeout: 30 })
    return { winners, left: left === TIMEOUT ? 'none' : left }
  })
  const scoped = workflow('scoped', async (ctx, width: number) => {
    const late = await ctx.scope('late', { timeout: 25 }, async (own) => {
      await own.run('held', { retry: retryIn(world) }, work)
      return own.wait(go)
    })
    const cancelled = await ctx.scope('off', async (own) => {
      const never = own.sleep('1h')
      await own.run('first', { retry: retryIn(world) }, work)
      own.cancel()
      return never
    })
    const items = Array.from({ length: width }, (_, n) => n)
    const mapped = await ctx.map(items, { concurrency: 2, tolerate: 1 }, async (own, item) => {
      const got = await own.run('item', { retry: retryIn(world) }, work)
      if (item === 1) throw new PermanentError('the second item fails')
      return got
    })
    const shielded = await ctx.shield(async (own) => own.run('safe', { retry: retryIn(world) }, work))
    const names = mapped.map((each) => (each.ok ? each.value : each.failure.type))
    return { late: typeof late, cancelled: cancelled === CANCELLED, names, shielded }
  })
  const listener = workflow('listener', async (ctx, wanted: number) => {
    const heard: number[] = []
    ctx.on(go, async (n, own) => {
      await own.run('heed', { retry: retryIn(world) }, work)
      heard.push(n)
    })
    const met = await ctx.wait(() => heard.length >= wanted, { timeout: 5_000 })
    return { met: met === TIMEOUT ? 'timeout' : met, heard: heard.length }
  })
  return { racer, scoped, listener }
}

export interface Promised extends Acknowledged {
  readonly runs: Set<string>
  readonly signals: Map<string, string[]>
}

export function promised(): Promised {
  return { runs: new Set(), signals: new Map() }
}

/** A client that keeps a note of everything it was told is safe. */
export function program(kept: Promised, starts: number) {
  return async (client: Engine, world: ProgramWorld): Promise<void> => {
    const stories = Array.from({ length: starts }, (_, n) => {
      const random = world.random.fork(`story ${n}`)
      return oneStory(client, { ...world, random }, kept, n)
    })
    await Promise.all(stories)
  }
}

async function oneStory(client: Engine, world: ProgramWorld, kept: Promised, n: number): Promise<void> {
  const { random, ledger } = world
  await world.pause(random.below(2_000))
  const run = await begin(client, random, n)
  if (!run) return
  kept.runs.add(run.runId)
  ledger.note(`acknowledged start ${n}`)
  for (let k = random.below(5); k > 0; k--) await signalOnce(run, world, kept)
  if (random.chance(0.2)) await rest(run, world)
  if (!random.chance(0.15)) return
  await world.pause(random.below(300))
  await run.cancel('the client changed its mind')
}

// The caller that pauses a run resumes it, at whatever moment that comes.
async function rest(run: RunHandle<unknown>, world: ProgramWorld): Promise<void> {
  const { random } = world
  try {
    await run.pause('for a moment')
    await world.pause(random.below(100))
    await run.resume()
  } catch {
    // The run had ended.
  }
}

async function begin(client: Engine, random: SeededRandom, n: number): Promise<RunHandle<unknown> | undefined> {
  const names = [
    'chain',
    'fan',
    'once',
    'flaky',
    'remote',
    'patient',
    'collector',
    'sleeper',
    'parent',
    'racer',
    'scoped',
    'listener',
    'ticker',
    'relay',
  ] as const
  const name = random.pick(names)
  const contract = workflow.declare<number, unknown>(name)
  const input = name === 'patient' || name === 'sleeper' ? random.below(400) : 1 + random.below(4)
  const options = random.chance(0.4) ? { idempotencyKey: `key ${n}` } : {}
  const starts = 'idempotencyKey' in options ? 3 : 1
  const runs = await Promise.all(Array.from({ length: starts }, () => client.start(contract, input, options)))
  const ids = new Set(runs.map((run) => run.runId))
  if (ids.size !== 1) throw new Error(`INV9: one key started ${ids.size} runs`)
  return runs[0]
}

async function signalOnce(run: RunHandle<unknown>, world: ProgramWorld, kept: Promised): Promise<void> {
  const { random } = world
  await world.pause(random.below(150))
  const messageId = `m${random.integer()}`
  try {
    await run.signal(go, random.below(100), { messageId })
    // The same message sent again is the same message.
    if (random.chance(0.3)) await run.signal(go, 999, { messageId }).catch(() => {})
    kept.signals.set(run.runId, [...(kept.signals.get(run.runId) ?? []), `signal:${messageId}`])
  } catch {
    // The run had ended: nothing was promised.
  }
}
