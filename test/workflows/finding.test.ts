// How runs are told apart and found: workflow ids, attributes, memo, messages that come with a start, and webhooks.
import {
  type Engine,
  type PawlError,
  type RunError,
  type RunFilter,
  signal,
  TIMEOUT,
  update,
  type Webhook,
  workflow,
} from 'pawl'
import { describe, expect, test } from 'vitest'
import { historyOf, kinds, rejection, until, useStore, waitsFor } from './each-store.ts'

const add = signal<number>('add')
const close = signal('close')
const deposit = update<number, number>('deposit')

const account = workflow('account', async (ctx, start: number) => {
  let balance = start
  let closed = false
  ctx.on(add, (n) => void (balance += n))
  ctx.on(deposit, (n) => (balance += n))
  ctx.on(close, () => void (closed = true))
  await ctx.wait(() => closed)
  return balance
})

const region = workflow('region', async (ctx, at: string) => {
  ctx.setAttributes({ region: at, seen: 1 })
  await ctx.wait(close)
  ctx.setAttributes({ seen: 2, closedAt: new Date(86_400_000) })
  return at
})

const zero = workflow('zero', async (ctx) => ctx.setAttributes({ set: -0 }))

async function regions(engine: Engine): Promise<void> {
  const about = [
    { region: 'eu', total: 5, urgent: true, due: new Date(1_000) },
    { region: 'eu', total: 50, urgent: false, due: new Date(2_000) },
    { region: 'us', total: 5, urgent: true, due: new Date(3_000) },
    { region: 'us', total: '5' },
  ]
  const shelf = workflow('shelf', async (ctx) => ctx.wait(close))
  for (const attributes of about) await engine.start(shelf, undefined, { attributes })
}

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('O2: runs are found by attributes: equal, in a range, all of them, and by their type', async () => {
    const engine = await bench.engine()
    await regions(engine)
    const count = (attributes: RunFilter['attributes'] & {}): Promise<number> => engine.count({ attributes })
    expect(await count({ region: 'eu' })).toBe(2)
    expect(await count({ region: 'eu', urgent: true })).toBe(1)
    expect(await count({ total: 5 })).toBe(2)
    expect(await count({ total: '5' })).toBe(1)
    expect(await count({ total: { gte: 5, lt: 50 } })).toBe(2)
    expect(await count({ total: { gt: 5 } })).toBe(1)
    expect(await count({ due: { gte: new Date(2_000) } })).toBe(2)
    expect(await count({ due: 1_000 })).toBe(0)
    expect(await count({ region: { gt: 'eu', lte: 'us' } })).toBe(2)
    expect(await count({ unknown: 1 })).toBe(0)
    const page = await engine.list({ workflow: 'shelf', attributes: { urgent: true } }, { limit: 1 })
    expect(page.items[0]?.attributes).toEqual({
      region: 'us',
      total: 5,
      urgent: true,
      due: new Date(3_000),
    })
    const { cursor } = page
    const next = await engine.list(
      { attributes: { urgent: true } },
      { limit: 5, ...(cursor !== undefined && { cursor }) },
    )
    expect(next.items.map(({ attributes }) => attributes['region'])).toEqual(['eu'])
    expect(await rejection(count({ nested: {} }))).toMatchObject({ code: 'INPUT_INVALID' })
  })

  test('faults 4.8: an attribute that is -0 is 0 on every store, and found as it', async () => {
    const engine = await bench.engine({ workflows: [zero] })
    engine.work({ signals: false })
    const run = await engine.start(zero, undefined, { attributes: { given: -0 } })
    await run.result()
    const { attributes } = await run.describe()
    expect(attributes).toStrictEqual({ given: 0, set: 0 })
    for (const compare of [0, -0]) {
      const { items } = await engine.list({ attributes: { given: compare, set: compare } })
      expect(items.map(({ runId }) => runId)).toEqual([run.runId])
    }
  })

  test('O2: code sets attributes as it goes; the run is found by them while it runs and after', async () => {
    const engine = await bench.serve({ workflows: [region] }, { warm: 0 })
    const run = await engine.start(region, 'eu', { attributes: { owner: 'ops' } })
    await waitsFor(run, 'signal')
    const found = async (attributes: RunFilter['attributes'] & {}): Promise<string[]> =>
      (await engine.list({ attributes })).items.map(({ runId }) => runId)
    expect(await found({ region: 'eu', seen: 1, owner: 'ops' })).toEqual([run.runId])
    await run.signal(close)
    await run.result()
    expect(await found({ seen: 1 })).toEqual([])
    expect(await found({ seen: 2, closedAt: { gt: new Date(0) } })).toEqual([run.runId])
    expect(await rejection(engine.start(region, 'x', { attributes: { big: 'x'.repeat(3_000) } }))).toMatchObject({
      code: 'INPUT_INVALID',
    })
  })

  test('O3: a memo is kept with the run, and its code can read it', async () => {
    const told = workflow('told', async (ctx) => ctx.info.memo['by'])
    const engine = await bench.serve({ workflows: [told] })
    const run = await engine.start(told, undefined, { memo: { by: 'ops', at: new Date(7) } })
    expect(await run.result()).toBe('ops')
    expect((await run.describe()).memo).toEqual({ by: 'ops', at: new Date(7) })
  })

  test('S5: a signal starts its run or finds it, once, whichever caller is first', async () => {
    const engine = await bench.serve({ workflows: [account] })
    const others = await Promise.all([bench.engine(), bench.engine()])
    const clients = [engine, ...others]
    const runs = await Promise.all(
      [1, 2, 3, 4, 5, 6].map(async (n) =>
        (clients[n % 3] ?? engine).signalWithStart(account, {
          input: 100,
          workflowId: 'acc-1',
          signal: add,
          payload: n,
        }),
      ),
    )
    const ids = new Set(runs.map((run) => run.runId))
    expect(ids.size).toBe(1)
    const run = engine.get(account, { workflowId: 'acc-1' })
    await run.signal(close)
    expect(await run.result()).toBe(121)
    const again = await engine.signalWithStart(account, {
      input: 0,
      workflowId: 'acc-1',
      signal: close,
    })
    expect(ids.has(again.runId)).toBe(false)
    expect(await again.result()).toBe(0)
  })

  test('S5: the signal is there before the code runs, and is not taken twice when the start is repeated', async () => {
    const engine = await bench.engine()
    const begin = {
      input: 1,
      idempotencyKey: 'once',
      signal: add,
      payload: 5,
      messageId: 'm1',
    } as const
    const run = await engine.signalWithStart(account, begin)
    await engine.signalWithStart(account, begin)
    await bench.serve({ workflows: [account] })
    await run.signal(close)
    expect(await run.result()).toBe(6)
    // It was told this, and will not be told another.
    expect((await engine.signalWithStart(account, begin)).runId).toBe(run.runId)
    const another = engine.signalWithStart(account, { ...begin, messageId: 'm2' })
    expect(await rejection(another)).toMatchObject({ code: 'RUN_ENDED' })
  })

  test('S9: an update starts its run or finds it, and is answered', async () => {
    const engine = await bench.serve({ workflows: [account] })
    const request = { input: 10, workflowId: 'acc-2', update: deposit, payload: 5 }
    const first = await engine.updateWithStart(account, request)
    const second = await engine.updateWithStart(account, request)
    expect([first.result, second.result]).toEqual([15, 20])
    expect(second.run.runId).toBe(first.run.runId)
    await first.run.terminate('over')
  })

  test('O1: a start can take the place of a run in progress', async () => {
    const engine = await bench.serve({ workflows: [account] })
    const old = await engine.start(account, 1, { workflowId: 'w' })
    const young = await engine.start(account, 2, { workflowId: 'w', reuse: 'terminateRunning' })
    const failed = (await rejection(old.result())) as RunError
    expect(failed.failure).toMatchObject({ type: 'Terminated' })
    expect(engine.get({ workflowId: 'w' })).toBeDefined()
    expect((await engine.get({ workflowId: 'w' }).describe()).runId).toBe(young.runId)
    await young.signal(close)
    expect(await young.result()).toBe(2)
  })

  test('C8: a signal to another run by its workflow id; without one the code is told', async () => {
    const sender = workflow('sender', async (ctx, to: string) => {
      try {
        await ctx.signal({ workflowId: to }, close)
        return 'sent'
      } catch (error) {
        const { code, message } = error as PawlError
        return `${code}: ${message}`
      }
    })
    const engine = await bench.serve({ workflows: [account, sender] }, { warm: 0 })
    const run = await engine.start(account, 3, { workflowId: 'known' })
    expect(await engine.execute(sender, 'known')).toBe('sent')
    expect(await run.result()).toBe(3)
    expect(await engine.execute(sender, 'unknown')).toMatch(/^RUN_NOT_FOUND: .* workflow id 'unknown'/)
  })

  test('a webhook is settled once, from outside, by its token alone', async () => {
    const hooks: Webhook<{ ok: boolean }>[] = []
    const agent = workflow('agent', async (ctx) => {
      const hook = ctx.webhook<{ ok: boolean }>('callback')
      await ctx.run('tell', () => void hooks.push(hook))
      const answer = await ctx.wait(hook, { timeout: '1h' })
      return answer === TIMEOUT ? 'late' : answer.ok
    })
    const engine = await bench.serve({ workflows: [agent] }, { warm: 0 })
    const run = await engine.start(agent)
    expect(await waitsFor(run, 'webhook')).toMatchObject({ name: 'callback' })
    const { token } = hooks[0] as Webhook<unknown>
    const other = await bench.engine()
    const forged = `${token.slice(0, -4)}AAAA`
    for (const wrong of [forged, 'no token', '', run.runId]) {
      expect(await rejection(other.resolve(wrong, { ok: false }))).toMatchObject({
        code: 'TOKEN_INVALID',
      })
    }
    await other.resolve(token, { ok: true })
    await other.resolve(token, { ok: true })
    expect(await rejection(other.resolve(token, { ok: false }))).toMatchObject({
      code: 'TOKEN_INVALID',
    })
    expect(await run.result()).toBe(true)
    expect(hooks).toHaveLength(1)
    await other.resolve(token, { ok: true })
    expect(JSON.stringify(await historyOf(run))).toContain(token)
  })

  test('a webhook that is rejected fails its wait, and one that comes too late is refused', async () => {
    const tokens: string[] = []
    const agent = workflow('agent', async (ctx) => {
      const hook = ctx.webhook('callback')
      await ctx.run('tell', () => void tokens.push(hook.token))
      return ctx.wait(hook)
    })
    const engine = await bench.serve({ workflows: [agent] })
    const run = await engine.start(agent)
    await until(
      () => tokens.length,
      (length) => length === 1,
    )
    await engine.reject(tokens[0] ?? '', 'the bank said no')
    const failed = (await rejection(run.result())) as RunError
    expect(failed.failure.message).toBe('the bank said no')
    expect(await rejection(engine.resolve(tokens[0] ?? '', 1))).toMatchObject({
      code: 'TOKEN_INVALID',
    })
  })
})
