import { ActivityError, activity, type Failure, PermanentError, RetryableError, RunError, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { Gate, heard, kinds, rejection, useStore, waitsFor } from './each-store.ts'

class Declined extends Error {
  readonly code = 'card_declined'
}
const fast = { initial: '1ms', jitter: 0 } as const

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('R1 by default a step has five attempts, and the first pause is a second give or take a tenth', async () => {
    const policy = workflow('policy', async (ctx) =>
      ctx.run('try', (step) => {
        throw new Error(`${step.attempt} of ${step.maxAttempts}`)
      }),
    )
    const engine = await bench.serve({ workflows: [policy] })
    const failed = heard(engine, 'activity.failed')
    const run = await engine.start(policy)
    const { failure, willRetry, attempt } = await failed
    expect({ message: failure.message, willRetry, attempt }).toEqual({
      message: '1 of 5',
      willRetry: true,
      attempt: 1,
    })
    const { until, step } = await waitsFor(run, 'backoff')
    expect(step).toBe('step:try#1')
    for await (const { type, at } of run.history()) {
      if (type !== 'StepRetried') continue
      const pause = until.getTime() - at.getTime()
      expect(pause).toBeGreaterThanOrEqual(880)
      expect(pause).toBeLessThanOrEqual(1_100)
    }
  })

  test('R1 a step is tried again until it succeeds, and each attempt knows its number', async () => {
    const attempts: number[] = []
    const keys = new Set<string>()
    const stubborn = workflow('stubborn', async (ctx) =>
      ctx.run('try', { retry: fast }, (step) => {
        attempts.push(step.attempt)
        keys.add(step.idempotencyKey)
        if (step.attempt < 3) throw new Error('not yet')
        return 'done'
      }),
    )
    const engine = await bench.serve({ workflows: [stubborn] })
    expect(await engine.execute(stubborn)).toBe('done')
    expect(attempts).toEqual([1, 2, 3])
    expect(keys.size).toBe(1)
  })

  test('R1 an exhausted activity throws with its failure, attempts and reason', async () => {
    const flaky = activity('flaky', { retry: { ...fast, maxAttempts: 3 } }, async () => {
      throw new Declined('no money', { cause: new Error('balance is 0') })
    })
    const pays = workflow('pays', async (ctx) => ctx.run(flaky).catch(explain))
    const engine = await bench.serve({ workflows: [pays], activities: [flaky] })
    const { failure, ...rest } = await engine.execute(pays)
    expect(rest).toEqual({
      activity: 'flaky',
      attempts: 3,
      reason: 'exhausted',
      message: "activity 'flaky' failed after 3 attempts (exhausted): Declined: no money",
      cause: 'Declined: no money',
    })
    expect(failure).toMatchObject({
      type: 'Declined',
      code: 'card_declined',
      retryable: true,
      cause: { type: 'Error', message: 'balance is 0' },
    })
    expect(failure.stack).toContain('retries.test.ts')
  })

  test('R5 a PermanentError is not tried again, and keeps its details', async () => {
    let calls = 0
    const pays = workflow('pays', async (ctx) =>
      ctx
        .run('pay', () => {
          calls++
          throw new PermanentError('card stolen', { details: { card: 7 } })
        })
        .catch(explain),
    )
    const engine = await bench.serve({ workflows: [pays] })
    expect(await engine.execute(pays)).toMatchObject({
      attempts: 1,
      reason: 'non-retryable',
      failure: { type: 'PermanentError', retryable: false, details: { card: 7 } },
    })
    expect(calls).toBe(1)
  })

  test('R5 failure types named in nonRetryable are not tried again', async () => {
    const pays = workflow('pays', async (ctx) =>
      ctx
        .run('pay', { retry: { ...fast, nonRetryable: ['Declined'] } }, () => {
          throw new Declined('no')
        })
        .catch(explain),
    )
    const engine = await bench.serve({ workflows: [pays] })
    expect(await engine.execute(pays)).toMatchObject({ attempts: 1, reason: 'non-retryable' })
  })

  test('R5 a RetryableError may say how long to wait', async () => {
    const begun: number[] = []
    const busy = workflow('busy', async (ctx) =>
      ctx.run('call', { retry: { initial: '1h' } }, (step) => {
        begun.push(performance.now())
        if (step.attempt === 1) throw new RetryableError('busy', { after: '50ms' })
        return 'done'
      }),
    )
    const engine = await bench.serve({ workflows: [busy] })
    expect(await engine.execute(busy)).toBe('done')
    const [first = 0, second = 0] = begun
    expect(second - first).toBeGreaterThanOrEqual(49)
    expect(second - first).toBeLessThan(10_000)
  })

  test('R8 an attempt that takes too long is told to stop, counts, and fails as a time-out', async () => {
    const told: unknown[] = []
    const never = new Gate()
    const slow = workflow('slow', async (ctx) =>
      ctx
        .run('slow', { startToClose: '30ms', retry: { ...fast, maxAttempts: 2 } }, (step) => {
          step.signal.addEventListener('abort', () => told.push(step.attempt))
          return never.opened
        })
        .catch(explain),
    )
    const engine = await bench.serve({ workflows: [slow] })
    expect(await engine.execute(slow)).toMatchObject({
      attempts: 2,
      reason: 'timeout',
      failure: { type: 'Timeout', code: 'START_TO_CLOSE' },
    })
    expect(told).toEqual([1, 2])
    never.open()
  })

  test('R5 a run that fails gives its failure to every caller, here and elsewhere', async () => {
    const fails = workflow('fails', async () => {
      throw new Declined('no money', { cause: 'poor' })
    })
    const engine = await bench.serve({ workflows: [fails] })
    const run = await engine.start(fails)
    const elsewhere = await bench.engine()
    for (const handle of [run, elsewhere.get(run.runId)]) {
      const error = (await rejection(handle.result())) as RunError
      expect(error).toBeInstanceOf(RunError)
      expect(error.runId).toBe(run.runId)
      expect(error.failure).toMatchObject({ type: 'Declined', code: 'card_declined' })
      expect(error.message).toBe(`run '${run.runId}' failed: Declined: no money`)
      expect(error.cause).toMatchObject({ name: 'Declined', message: 'no money' })
    }
    expect(await elsewhere.get(run.runId).describe()).toMatchObject({
      status: 'failed',
      failure: { type: 'Declined', message: 'no money' },
    })
  })

  test('A6 an activity on another queue runs on the worker of that queue, with retries', async () => {
    const where: string[] = []
    const render = activity.declare<string, string>('render', {
      queue: 'heavy',
      retry: { ...fast, maxAttempts: 4 },
    })
    const asks = workflow('asks', async (ctx, what: string) => ctx.run(render, what))
    const client = await bench.serve({ workflows: [asks] }, { id: 'light' })
    const run = await client.start(asks, 'page')
    expect(await waitsFor(run, 'noWorker')).toMatchObject({ type: 'render' })
    const code = render.implement(async (what, ctx) => {
      where.push(`heavy ${ctx.attempt}/${ctx.maxAttempts}`)
      if (ctx.attempt < 3) throw new Error('again')
      return `${what}!`
    })
    await bench.serve({ activities: [code] }, { id: 'heavy', queues: ['heavy'] })
    expect(await run.result()).toBe('page!')
    expect(where).toEqual(['heavy 1/4', 'heavy 2/4', 'heavy 3/4'])
  })

  test('A6 a queued activity that is given up on carries the same error as a local one', async () => {
    const render = activity('render', { queue: 'heavy', retry: 'none' }, async () => {
      throw new Declined('out of paint')
    })
    const asks = workflow('asks', async (ctx) => ctx.run(render).catch(explain))
    const engine = await bench.serve({ workflows: [asks] })
    await bench.serve({ activities: [render] }, { queues: ['heavy'] })
    expect(await engine.execute(asks)).toMatchObject({
      activity: 'render',
      attempts: 1,
      reason: 'exhausted',
      cause: 'Declined: out of paint',
      failure: { type: 'Declined', code: 'card_declined' },
    })
  })
})

interface Explained {
  readonly activity: string
  readonly attempts: number
  readonly reason: string
  readonly message: string
  readonly cause: string
  readonly failure: Failure
}

function explain(error: unknown): Explained {
  if (!(error instanceof ActivityError)) throw error
  const { activity: name, attempts, reason, message, failure, cause } = error
  return { activity: name, attempts, reason, message, failure, cause: String(cause) }
}
