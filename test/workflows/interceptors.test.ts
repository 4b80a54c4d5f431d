// Functions of the user's around step bodies, starts and calls on runs.
import {
  type ActivityCall,
  activity,
  type ClientCall,
  type Interceptor,
  open,
  query,
  type StartCall,
  signal,
  workflow,
} from 'pawl'
import { testEngine } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { rejection, useStore } from './each-store.ts'

const double = activity('double', { retry: { initial: '1ms' } }, async (n: number, ctx) => {
  if (ctx.attempt === 1) throw new Error('not yet')
  return n * 2
})
const go = signal<string>('go')
const stage = query<void, string>('stage')
const flow = workflow('flow', async (ctx, n: number) => {
  let at = 'begun'
  ctx.on(stage, () => at)
  const doubled = await ctx.run(double, n)
  const more = await ctx.run('add', () => doubled + 1)
  at = 'waiting'
  return `${more} ${await ctx.wait(go)}`
})

/** Writes down what goes through it. */
class Tracer implements Interceptor {
  readonly seen: string[] = []
  readonly #name: string

  constructor(name = '') {
    this.#name = name
  }

  async activity(call: ActivityCall, next: (call: ActivityCall) => Promise<unknown>) {
    const { kind, name, input, ctx } = call
    const about = `${this.#name}${kind} ${name}(${String(input)}) ${ctx.attempt}`
    try {
      const value = await next(call)
      this.seen.push(`${about}: ${String(value)}`)
      return value
    } catch (error) {
      this.seen.push(`${about}: ${String(error)}`)
      throw error
    }
  }

  start(call: StartCall, next: (call: StartCall) => ReturnType<NonNullable<Interceptor['start']>>) {
    const { operation, workflow: name, input } = call
    this.seen.push(`${this.#name}${operation} ${name}(${String(input)})`)
    return next(call)
  }

  async client(call: ClientCall, next: (call: ClientCall) => Promise<unknown>) {
    this.seen.push([`${this.#name}${call.operation}`, call.name].filter(Boolean).join(' '))
    return next(call)
  }
}

describe.each(['memory', 'sqlite', 'postgres'] as const)('on %s', (kind) => {
  const bench = useStore(kind)

  test('api gap 12: interceptors see every attempt, start and call, the first outermost', async () => {
    const [outer, inner] = [new Tracer('outer '), new Tracer('inner ')]
    const engine = await bench.serve({
      workflows: [flow],
      activities: [double],
      interceptors: [outer, inner, {}],
    })
    const run = await engine.start(flow, 5)
    await run.signal(go, 'now')
    expect(await run.result()).toBe('11 now')
    expect(await engine.get(run.runId).query(stage)).toBe('waiting')
    for (const { seen } of [outer, inner])
      expect(seen.map((each) => each.replace(/^(outer|inner) /, ''))).toEqual(
        expect.arrayContaining([
          'start flow(5)',
          'signal go',
          'activity double(5) 1: Error: not yet',
          'activity double(5) 2: 10',
          'step add(undefined) 1: 11',
          'result',
          'query stage',
        ]),
      )
  })

  test('they can change what goes through them, answer in its place, and refuse', async () => {
    const greedy: Interceptor = {
      start: (call, next) => {
        if (call.input === 13) throw new Error('unlucky')
        const options = { ...call.options, attributes: { source: 'test' } }
        return next({ ...call, input: (call.input as number) + 1, options })
      },
      activity: async (call, next) => (call.name === 'double' ? 100 : next({ ...call, input: call.input })),
      client: async (call, next) => {
        if (call.operation === 'terminate') throw new Error('not allowed')
        return next(call.operation === 'signal' ? { ...call, args: [go, 'later'] } : call)
      },
    }
    const engine = await bench.serve({
      workflows: [flow],
      activities: [double],
      interceptors: [greedy],
    })
    const run = await engine.start(flow, 1)
    expect(await run.describe()).toMatchObject({ attributes: { source: 'test' }, input: 2 })
    await expect(run.terminate('no')).rejects.toThrow('not allowed')
    await run.signal(go, 'now')
    expect(await run.result()).toBe('101 later')
    // What one of many refuses is not started at all, and nor are the others.
    await expect(engine.startMany(flow, [{ input: 1 }, { input: 13 }])).rejects.toThrow('unlucky')
    expect(await engine.count()).toBe(1)
    const many = await engine.startMany(flow, [{ input: 3 }, { input: 4 }])
    const inputs = await Promise.all(many.map(async (each) => (await each.describe()).input))
    expect(inputs).toEqual([4, 5])
    const started = await engine.signalWithStart(flow, {
      input: 6,
      signal: go,
      payload: 'soon',
      workflowId: 'w',
    })
    expect((await started.describe()).input).toBe(7)
  })
})

test('a start must give what next gave', async () => {
  const wrong = { start: async () => ({ runId: 'mine' }) } as unknown as Interceptor
  await using engine = await open('memory:', { workflows: [flow], interceptors: [wrong] })
  expect(await rejection(engine.start(flow, 1))).toMatchObject({
    code: 'INPUT_INVALID',
    message: expect.stringContaining('next(call)'),
  })
  expect(await engine.count()).toBe(0)
})

test('a start may be made again by its interceptor, and one of many may not', async () => {
  const again: Interceptor = {
    start: async (call, next) => {
      if (call.operation === 'startMany') await next(call)
      return next(call).catch(() => next({ ...call, options: { workflowId: 'free' } }))
    },
  }
  await using engine = await open('memory:', { workflows: [flow], interceptors: [again] })
  await engine.start(flow, 1, { workflowId: 'taken' })
  const run = await engine.start(flow, 1, { workflowId: 'taken', reuse: 'reject' })
  expect(run.workflowId).toBe('free')
  const both = engine.startMany(flow, [{ input: 1 }, { input: 2 }])
  expect(await rejection(both)).toMatchObject({ message: expect.stringContaining('twice') })
  expect(await rejection(engine.start(undefined as never, 1 as never))).toMatchObject({
    code: 'INPUT_INVALID',
  })
})

test('what is misspelt is refused when the store is opened', async () => {
  const misspelt = { activty: async () => 1 } as unknown as Interceptor
  expect(await rejection(open('memory:', { interceptors: [misspelt] }))).toMatchObject({
    message: expect.stringContaining('did you mean `activity`'),
  })
  await expect(testEngine({ interceptors: [misspelt] })).rejects.toThrow('did you mean `activity`')
})

test('they are part of tests, and a fork is intercepted like any other run', async () => {
  const tracer = new Tracer()
  await using engine = await testEngine({
    workflows: [flow],
    activities: [double],
    interceptors: [tracer],
  })
  const run = await engine.start(flow, 5)
  await run.signal(go, 'now')
  await run.result()
  const fork = await run.fork({ step: 'add' })
  await fork.cancel()
  expect(tracer.seen).toEqual(expect.arrayContaining(['start flow(5)', 'activity double(5) 2: 10', 'fork', 'cancel']))
})

test('a batch counts what an interceptor throws as a failure of that run, and goes on', async () => {
  const thrown = [new TypeError('no'), Object.assign(new Error('no'), { code: 'NOT_MINE' }), null]
  const refusals = thrown.values()
  const strict: Interceptor = {
    async client(call, next) {
      const { done, value } = refusals.next()
      if (!done) throw value
      return next(call)
    },
  }
  await using engine = await open('memory:', { workflows: [flow], interceptors: [strict] })
  await engine.startMany(
    flow,
    [1, 2, 3, 4, 5].map((input) => ({ input })),
  )
  const outcome = await engine.batch({ workflow: flow }, { limit: 10 }).cancel()
  expect(outcome).toMatchObject({ matched: 5, done: 2 })
  const codes = outcome.failures.map(({ code }) => code)
  expect(codes.toSorted()).toEqual(['NOT_MINE', 'TypeError', 'null'])
})
