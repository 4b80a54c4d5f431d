// Inputs and outputs pass their schemas once, where they first meet them, and what is recorded is what came out.
import { ActivityError, activity, type Context, RunError, signal, TIMEOUT, typed, workflow } from 'pawl'
import { crashAtEveryAwait, testEngine } from 'pawl/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import { historyOf, kinds, rejection, useStore, waitsFor } from './each-store.ts'
import { amountSchema, asked, type Given, type Order, orderSchema, slow } from './fake-schemas.ts'

const go = signal('go')
const order = workflow('order', { input: orderSchema }, async (ctx, { id, cents }) => {
  if (id === 'wait') await ctx.wait(go)
  return `${id}: ${cents}`
})
/** The same by name alone: a caller that starts it so has no schema. */
const byName = workflow.declare<Given, string>('order')
const bad = { cents: -1 }
const refusal = {
  name: 'InvalidInput',
  code: 'INPUT_INVALID',
  message: "the input of workflow 'order' does not fit its schema: id: expected a text; cents: too little",
  details: {
    issues: [
      { message: 'expected a text', path: ['id'] },
      { message: 'too little', path: ['cents'] },
    ],
  },
}

beforeEach(() => {
  asked.orders = 0
})

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('a start parses the input; what came out is recorded, and not parsed again', async () => {
    const engine = await bench.serve({ workflows: [order] }, { warm: 0 })
    const run = await engine.start(order, { id: ' wait ' })
    await waitsFor(run, 'signal')
    await run.signal(go)
    expect(await run.result()).toBe('wait: 100')
    expect((await run.describe()).input).toEqual({ id: 'wait', cents: 100 })
    expect(asked.orders).toBe(1)
    expect((await historyOf(run)).map(({ type }) => type)).not.toContain('StepStarted')
  })

  test('a contract with schemas is enough for a client, and waits for a schema that waits', async () => {
    const contract = workflow.declare('declared', {
      input: slow(orderSchema),
      output: typed<string>(),
    })
    const code = contract.implement(async (_ctx, { id, cents }) => `${id}: ${cents}`)
    await bench.serve({ workflows: [code] })
    const client = await bench.engine()
    expect(await client.execute(contract, { id: ' A ' })).toBe('A: 100')
    expect(asked.orders).toBe(1)
    await expect(client.start(contract, {})).rejects.toMatchObject({ code: 'INPUT_INVALID' })
  })

  test('what the schema refuses is not started, neither alone nor among many', async () => {
    const engine = await bench.engine()
    expect(await rejection(engine.start(order, bad))).toMatchObject(refusal)
    expect(await rejection(engine.execute(order, bad))).toMatchObject(refusal)
    const many = [{ input: { id: 'A' } }, { input: bad }]
    expect(await rejection(engine.startMany(order, many))).toMatchObject(refusal)
    const told = { input: bad, signal: go, workflowId: 'w' }
    expect(await rejection(engine.signalWithStart(order, told))).toMatchObject(refusal)
    expect(await engine.count()).toBe(0)
    const two = await engine.startMany(order, [{ input: { id: ' A ' } }, { input: { id: 'B' } }])
    expect(await Promise.all(two.map(async (run) => (await run.describe()).input))).toMatchObject([
      { id: 'A' },
      { id: 'B' },
    ])
  })

  test('R18 an idempotency key stands for the parsed input', async () => {
    const engine = await bench.engine()
    const options = { idempotencyKey: 'k' }
    const first = await engine.start(order, { id: 'A', cents: 5 }, options)
    const again = await engine.start(order, { id: ' A ', cents: 5 }, options)
    expect(again.runId).toBe(first.runId)
    const other = engine.start(order, { id: 'B', cents: 5 }, options)
    expect(await rejection(other)).toMatchObject({ code: 'RUN_ALREADY_EXISTS' })
  })

  test('a run that was started by name parses its input first of all, once', async () => {
    const engine = await bench.serve({ workflows: [order] }, { warm: 0 })
    const run = await engine.start(byName, { id: ' wait ' })
    await waitsFor(run, 'signal')
    await run.signal(go)
    expect(await run.result()).toBe('wait: 100')
    expect(asked.orders).toBe(1)
    expect((await run.describe()).input).toEqual({ id: ' wait ' })
    const steps = (await historyOf(run)).filter(({ type }) => type === 'StepStarted')
    expect(steps.map(({ step }) => step)).toEqual(['schema:input#1'])
  })

  test('started by name with an input the schema refuses, it fails and is not paused', async () => {
    const engine = await bench.serve({ workflows: [order] })
    const run = await engine.start(byName, bad)
    const error = await rejection(run.result())
    expect(error).toBeInstanceOf(RunError)
    const { name: type, ...rest } = refusal
    expect(error).toMatchObject({ failure: { type, ...rest, retryable: false } })
    expect((await run.describe()).status).toBe('failed')
    expect(asked.orders).toBe(1)
  })

  test('a child parses its input, and its parent hears of a refusal', async () => {
    const parent = workflow('parent', async (ctx, given: Given) => ctx.child(order, given))
    const engine = await bench.serve({ workflows: [parent, order] }, { warm: 0 })
    expect(await engine.execute(parent, { id: ' A ' })).toBe('A: 100')
    expect(asked.orders).toBe(1)
    const error = await rejection(engine.execute(parent, bad))
    expect(error).toMatchObject({ failure: { type: 'RunError', cause: { type: 'InvalidInput' } } })
  })

  test('an input that is parsed by the run may wait for something, too', async () => {
    const code = workflow('order', { input: slow(orderSchema) }, async (_ctx, { id }) => id)
    const engine = await bench.serve({ workflows: [code] }, { warm: 0 })
    expect(await engine.execute(byName, { id: ' A ' })).toBe('A')
    expect(asked.orders).toBe(1)
  })

  test('C7: what a run continues with is parsed anew', async () => {
    const countdown = workflow('countdown', { input: amountSchema }, async (ctx, n) => {
      if (n > 1.5) return ctx.continueAsNew(n - 0.5)
      return n
    })
    const engine = await bench.serve({ workflows: [countdown] })
    expect(await engine.execute(countdown, 3.7)).toBe(1)
    const below = workflow('below', { input: amountSchema }, async (ctx) => ctx.continueAsNew(-1))
    const other = await bench.serve({ workflows: [below] })
    expect(await rejection(other.execute(below, 1))).toMatchObject({
      failure: { type: 'InvalidInput', message: expect.stringContaining('not an amount') },
    })
  })

  test('V9: a retry of what a run continued as has its input parsed, as it was', async () => {
    let fails = true
    const twice = workflow('twice', { input: amountSchema }, async (ctx, n) => {
      if (n > 5) return ctx.continueAsNew(n - 2.5)
      await ctx.run('pay', { retry: 'none' }, () => {
        if (fails) throw new Error('declined')
      })
      return n
    })
    const engine = await bench.serve({ workflows: [twice] }, { warm: 0 })
    const run = await engine.start(twice, 7)
    await rejection(run.result())
    fails = false
    await run.retry()
    expect(await run.result()).toBe(4)
  })

  test('V9: a fork with another input parses it; a retry does not parse again', async () => {
    let fails = true
    const seen: Order[] = []
    const paid = workflow('order', { input: orderSchema }, async (ctx, given) => {
      seen.push(given)
      await ctx.run('pay', { retry: 'none' }, () => {
        if (fails) throw new Error('declined')
      })
      return given.id
    })
    const engine = await bench.serve({ workflows: [paid] }, { warm: 0 })
    for (const contract of [paid, byName]) {
      fails = true
      seen.length = asked.orders = 0
      const run = await engine.start(contract, { id: ' A ' })
      await rejection(run.result())
      fails = false
      await run.retry()
      expect(await run.result()).toBe('A')
      expect([...new Set(seen.map(({ cents }) => cents))]).toEqual([100])
      const other = await run.fork({ step: 'pay', input: { id: ' B ' } })
      expect(await other.result()).toBe('B')
      expect(asked.orders).toBe(2)
    }
  })

  test('V9: a run that its input failed is tried again with a schema that takes it', async () => {
    const strict = await bench.engine({ workflows: [order] })
    const worker = strict.work({ signals: false })
    const run = await strict.start(byName, { id: 'A', cents: -5 })
    await rejection(run.result())
    await worker.drain()
    const lenient = workflow('order', { input: typed<Given>() }, async (_ctx, { cents }) => cents)
    const engine = await bench.serve({ workflows: [lenient] })
    await engine.get(run.runId).retry()
    expect(await engine.get(run.runId).result()).toBe(-5)
  })

  test('a run that began before there was a schema goes on with what it began with', async () => {
    const before = workflow('order', async (ctx, given: Given) => {
      await ctx.run('note', () => 1)
      await ctx.wait(go)
      return given.cents
    })
    const old = await bench.engine({ workflows: [before] })
    const worker = old.work({ signals: false })
    const run = await old.start(before, bad)
    await waitsFor(run, 'signal')
    await worker.drain()
    const now = workflow('order', { input: orderSchema }, async (ctx, given) => {
      await ctx.run('note', () => 1)
      await ctx.wait(go)
      return given.cents
    })
    await bench.serve({ workflows: [now] })
    await run.signal(go)
    expect(await run.result()).toBe(-1)
    expect(asked.orders).toBe(0)
  })

  test('the output is parsed before it is recorded, at once or with a wait', async () => {
    const sum = { output: amountSchema }
    const at = workflow('at once', sum, async (_ctx, n: number) => n)
    const later = workflow('later', { output: slow(amountSchema) }, async (_ctx, n: number) => n)
    const engine = await bench.serve({ workflows: [at, later] }, { warm: 0 })
    for (const each of [at, later]) {
      expect(await engine.execute(each, 2.5)).toBe(2)
      const run = await engine.start(each, -1)
      expect(await rejection(run.result())).toMatchObject({
        failure: {
          type: 'InvalidOutput',
          code: 'OUTPUT_INVALID',
          message: `the output of workflow '${each.name}' does not fit its schema: not an amount`,
          retryable: false,
        },
      })
      expect((await run.describe()).status).toBe('failed')
    }
  })

  test('a cancelled run that ends well all the same has its output parsed, too', async () => {
    const stubborn = workflow('stubborn', { output: slow(amountSchema) }, async (ctx) => {
      const ended = await ctx.wait(go, { timeout: '1h' }).catch(() => 2.5)
      return ended === TIMEOUT ? 0 : Number(ended)
    })
    const engine = await bench.serve({ workflows: [stubborn] })
    const run = await engine.start(stubborn)
    await waitsFor(run, 'signal')
    await run.cancel()
    expect(await run.result()).toBe(2)
  })

  test('an activity gets what its schema made of the input; recorded is what the code gave', async () => {
    const inputs: unknown[] = []
    const price = activity('price', { input: orderSchema, output: amountSchema }, async (given) => {
      inputs.push(given)
      return given.cents / 8
    })
    const queued = activity('queued', { input: slow(orderSchema), queue: 'far' }, async ({ id }) => id)
    const shop = workflow('shop', async (ctx, id: string) => [
      await ctx.run(price, { id }),
      await ctx.run(queued, { id }),
    ])
    const engine = await bench.serve({ workflows: [shop], activities: [price, queued] }, { queues: ['default', 'far'] })
    const run = await engine.start(shop, ' A ')
    expect(await run.result()).toEqual([12, 'A'])
    expect(inputs).toEqual([{ id: 'A', cents: 100 }])
    const started = (await historyOf(run)).filter(({ type }) => type === 'StepStarted')
    expect(started).toMatchObject([{ input: { id: ' A ' } }, { input: { id: ' A ' } }])
  })

  test('R5: what a schema of an activity refuses is not tried again', async () => {
    let calls = 0
    const price = activity('price', { input: orderSchema, output: amountSchema }, async (given) => {
      calls++
      return -given.cents
    })
    const shop = workflow('shop', async (ctx, given: Given) => ctx.run(price, given))
    const engine = await bench.serve({ workflows: [shop], activities: [price] })
    for (const [given, code, type] of [
      [bad, 'INPUT_INVALID', 'InvalidInput'],
      [{ id: 'A' }, 'OUTPUT_INVALID', 'InvalidOutput'],
    ] as const) {
      const error = await rejection(engine.execute(shop, given))
      expect(error).toMatchObject({ cause: { name: ActivityError.name, cause: { code } } })
      expect(error).toMatchObject({ failure: { cause: { type, retryable: false } } })
    }
    expect([calls, asked.orders]).toEqual([1, 2])
  })

  test('a schedule refuses an input that none of its runs would take', async () => {
    const engine = await bench.engine()
    const timing = { every: '1h', workflow: order } as const
    const set = engine.schedules.set('hourly', { ...timing, input: bad })
    expect(await rejection(set)).toMatchObject(refusal)
    await engine.schedules.set('hourly', { ...timing, input: { id: ' A ' } })
    const run = await engine.schedules.get('hourly').trigger()
    await bench.serve({ workflows: [order] })
    expect(await run.result()).toBe(`A: ${asked.orders * 100}`)
  })
})

test('wherever a worker dies, a run that parses its own input ends the same', async () => {
  const parent = workflow('parent', async (ctx, n: number) => {
    const half = await ctx.child(child, n / 2)
    return ctx.run('double', () => half * 2)
  })
  const child = workflow('child', { input: slow(amountSchema), output: slow(amountSchema) }, later)
  const engine = await testEngine({ workflows: [parent, child] })
  expect(await crashAtEveryAwait(engine, parent, 5)).toMatchObject({ output: 4 })
  await engine.close()
})

async function later(ctx: Context<number>, n: number): Promise<number> {
  await ctx.sleep('1h')
  return n + 0.5
}
