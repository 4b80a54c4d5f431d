// Steps whose bodies leave them to be completed from outside, by a token.
import { ActivityError, activity, graph, workflow } from 'pawl'
import { testEngine } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { historyOf, kinds, rejection, until, useStore, waitsFor } from './each-store.ts'

const review = activity.declare<string, string>('review', { queue: 'people' })
const flow = workflow('flow', async (ctx, what: string) =>
  ctx.run(review, what).catch((error: ActivityError) => `refused: ${error.failure.message}`),
)

/** Puts its token into `tokens`. */
function reviews(tokens: string[]) {
  return review.implement(async (_what, ctx) => {
    tokens.push(await ctx.completionToken())
    return ctx.completeLater()
  })
}

async function tokenIn(tokens: readonly string[], count = 1): Promise<string> {
  const seen = await until(
    async () => tokens,
    ({ length }) => length >= count,
  )
  return seen[count - 1] ?? ''
}

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)
  const both = { queues: ['default', 'people'] }

  test.each(['here', 'queued'] as const)(
    'api gap 12: an activity is completed from outside, while no worker is there (%s)',
    async (where) => {
      const tokens: string[] = []
      const code = reviews(tokens)
      const { engine, worker } =
        where === 'here'
          ? await bench.worker({ workflows: [flow], activities: [code] }, both)
          : await bench.worker({ workflows: [flow] })
      const people = where === 'queued' ? await bench.worker({ activities: [code] }, { queues: ['people'] }) : undefined
      const run = await engine.start(flow, 'text')
      const why = await waitsFor(run, 'completion')
      expect(why).toMatchObject({ step: 'activity:review#1' })
      expect(why).not.toHaveProperty('until')
      await worker.drain()
      await people?.worker.drain()
      const token = await tokenIn(tokens)
      const client = await bench.engine()
      await client.resolve(token, 'fine')
      const other = await bench.serve({ workflows: [flow], activities: [code] }, both)
      expect(await other.get(run.runId).result()).toBe('fine')
      // The same answer again changes nothing, another is refused, also when the run has ended.
      await client.resolve(token, 'fine')
      expect(await rejection(client.resolve('', 'fine'))).toMatchObject({
        code: 'TOKEN_INVALID',
        message: 'the token is empty. Pass the token of the webhook or step.',
      })
      expect(await rejection(client.resolve(token, 'poor'))).toMatchObject({
        code: 'TOKEN_INVALID',
        message: expect.stringContaining('another answer'),
      })
      expect(tokens).toHaveLength(1)
      const completed = (await historyOf(run)).find(({ type }) => type === 'StepCompleted')
      expect(completed).toMatchObject({ attempt: 1, result: 'fine' })
    },
  )

  test('a step of a graph is completed from outside, too', async () => {
    const tokens: string[] = []
    const parts = graph('parts').step('review', async (ctx) => {
      tokens.push(await ctx.completionToken())
      return ctx.completeLater()
    })
    const engine = await bench.serve({ workflows: [parts] })
    const run = await engine.start(parts)
    await engine.resolve(await tokenIn(tokens), 'fine')
    expect(await run.result()).toEqual({ review: 'fine' })
  })

  test('it is refused from outside for good, and tokens that were made up are refused', async () => {
    const tokens: string[] = []
    const engine = await bench.serve({ workflows: [flow], activities: [reviews(tokens)] }, both)
    const run = await engine.start(flow, 'text')
    const token = await tokenIn(tokens)
    const [place = ''] = token.split('.')
    for (const wrong of ['', 'x', `${place}.${'0'.repeat(36)}`, `${place}.x`, `.${'0'.repeat(36)}`])
      expect(await rejection(engine.resolve(wrong, 1)), wrong).toMatchObject({
        code: 'TOKEN_INVALID',
      })
    await engine.reject(token, 'it is full of errors')
    expect(await run.result()).toBe('refused: it is full of errors')
    await engine.reject(token, 'it is full of errors')
    const late = await engine.start(flow, 'other')
    await tokenIn(tokens, 2)
    await late.cancel()
    await rejection(late.result())
    expect(await rejection(engine.resolve(tokens[1] ?? '', 'fine'))).toMatchObject({
      code: 'TOKEN_INVALID',
    })
  })

  test('a token is good the moment its body has it: the step is recorded by then', async () => {
    const recorded: boolean[] = []
    const looks = review.implement(async (_what, ctx) => {
      const token = await ctx.completionToken()
      const history = await historyOf(client.get(ctx.runId))
      recorded.push(history.some(({ type }) => type === 'StepStarted'))
      await client.resolve(token, 'by itself')
      return ctx.completeLater()
    })
    const client = await bench.engine()
    const engine = await bench.serve({ workflows: [flow], activities: [looks] }, both)
    expect(await engine.execute(flow, 'text')).toBe('by itself')
    expect(recorded).toEqual([true])
  })

  test('a completion that comes while the body still runs ends the step', async () => {
    const tokens: string[] = []
    const slow = review.implement(async (_what, ctx) => {
      tokens.push(await ctx.completionToken())
      await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
      return 'never'
    })
    const engine = await bench.serve({ workflows: [flow], activities: [slow] }, both)
    const run = await engine.start(flow, 'text')
    await engine.resolve(await tokenIn(tokens), 'early')
    expect(await run.result()).toBe('early')
  })
})

describe('in virtual time', () => {
  const limited = activity.declare<void, string>('limited', {
    startToClose: '1h',
    retry: { maxAttempts: 2, initial: '1s' },
  })
  const waits = workflow('waits', async (ctx) => ctx.run(limited).catch((error: ActivityError) => error.failure))

  test('what is not completed within startToClose is tried again, with the same token, and then given up', async () => {
    const tokens: string[] = []
    const code = limited.implement(async (_, ctx) => {
      tokens.push(await ctx.completionToken())
      return ctx.completeLater()
    })
    await using engine = await testEngine({ workflows: [waits], activities: [code] })
    const run = await engine.start(waits)
    expect(await run.result()).toMatchObject({ type: 'Timeout', code: 'START_TO_CLOSE' })
    expect(new Set(tokens).size).toBe(1)
    expect(tokens).toHaveLength(2)
    const again = await engine.start(waits)
    await engine.clock.advance('90m')
    await engine.resolve(tokens.at(-1) ?? '', 'in the second hour')
    expect(await again.result()).toBe('in the second hour')
  })

  test('in a queue, too, the last attempt that is not completed in time has timed out', async () => {
    const once = activity.declare<void, string>('once', {
      queue: 'people',
      startToClose: '1h',
      retry: 'none',
    })
    const asks = workflow('asks', async (ctx) =>
      ctx.run(once).catch((error: ActivityError) => [error.failure.type, error.reason]),
    )
    const code = once.implement(async (_, ctx) => {
      await ctx.completionToken()
      return ctx.completeLater()
    })
    for (const queues of [['default', 'people'], ['default']]) {
      await using engine = await testEngine({ workflows: [asks], activities: [code], queues })
      if (queues.length === 1) engine.work({ queues: ['people'] })
      expect(await (await engine.start(asks)).result()).toEqual(['Timeout', 'timeout'])
    }
  })

  test('its worker dies: it is not begun again before its time', async () => {
    const tokens: string[] = []
    const code = limited.implement(async (_, ctx) => {
      tokens.push(await ctx.completionToken())
      return ctx.completeLater()
    })
    await using engine = await testEngine({ workflows: [waits], activities: [code] })
    const run = await engine.start(waits)
    await engine.clock.advance('1m')
    for (let deaths = 0; deaths < 3; deaths++) await engine.crash()
    await engine.clock.advance('1m')
    await engine.resolve(tokens[0] ?? '', 'fine')
    expect(await run.result()).toBe('fine')
    expect(tokens).toHaveLength(1)
  })

  test('a body that left no token with anybody fails', async () => {
    const careless = limited.implement(async (_, ctx) => ctx.completeLater())
    await using engine = await testEngine({ workflows: [waits], activities: [careless] })
    expect(await (await engine.start(waits)).result()).toMatchObject({
      message: expect.stringContaining('ctx.completionToken()'),
    })
  })
})
