// V10, I2: operations on many runs with a kept preview: what was shown is what is done, across crashes of workers.
import { PawlError, signal, workflow } from 'pawl'
import { type TestEngine, testEngine } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { kinds, useStore } from './each-store.ts'

const go = signal<number>('go')
const waits = workflow('waits', async (ctx) => ctx.wait(go))
const breaks = workflow('breaks', async (ctx, fails: boolean) => {
  await ctx.run('maybe', { retry: 'none' }, () => {
    if (fails) throw new PawlError('INPUT_INVALID', 'no')
  })
})
const code = { workflows: [waits, breaks] }

describe.each(kinds)('on %s', (kind) => {
  const store = useStore(kind)

  test('V10 a kept preview names the runs, and only those are cancelled', async () => {
    const { engine } = await store.worker(code)
    const many = await engine.startMany(
      waits,
      Array.from({ length: 150 }, () => ({})),
    )
    const preview = await engine.batches.preview(
      { workflow: waits },
      { operation: 'cancel', limit: 120, reason: 'too many' },
    )
    expect(preview).toMatchObject({ state: 'preview', matched: 120, done: 0, byWorkflow: { waits: 120 } })
    expect(preview.sample).toHaveLength(20)
    const late = await engine.start(waits)
    await engine.batches.start(preview.id)
    await engine.batches.start(preview.id)
    await engine.get(preview.id).result()
    expect(await engine.batches.get(preview.id)).toMatchObject({
      state: 'done',
      done: 120,
      failed: 0,
      reason: 'too many',
    })
    await expect.poll(() => engine.count({ workflow: waits, status: 'cancelled' }), { timeout: 20_000 }).toBe(120)
    expect(['waiting', 'running', 'pending']).toContain((await late.describe()).status)
    expect(await engine.batch({ status: ['waiting', 'running', 'pending'] }, { limit: 1_000 }).count()).toBe(
      many.length - 119,
    )
  })

  test('V10 a batch that a worker has left continues on another, and each run gets its signal once', async () => {
    const first = await store.worker(code, { lease: '1s' })
    await first.engine.startMany(
      waits,
      Array.from({ length: 210 }, () => ({})),
    )
    const { engine } = await store.worker(code)
    const { id } = await engine.batches.preview(
      { workflow: waits },
      { operation: 'signal', limit: 500, name: 'go', payload: 7 },
    )
    await engine.batches.start(id)
    await first.worker.drain()
    expect(await engine.get(id).result()).toEqual({ matched: 210, done: 210, failures: [] })
    await expect.poll(() => engine.count({ workflow: waits, status: 'completed' }), { timeout: 30_000 }).toBe(210)
    const signals = new Set<number>()
    for (const { runId } of (await engine.list({ workflow: waits }, { limit: 3 })).items) {
      let count = 0
      for await (const event of engine.get(runId).history()) if (event.type === 'SignalReceived') count++
      signals.add(count)
    }
    expect([...signals]).toEqual([1])
  })
})

test('V10 a worker that dies in the middle of a chunk has no run retried or reset twice', async () => {
  for (const operation of ['retry', 'reset'] as const) {
    const runs = 40
    let tries = 0
    const fails = workflow('fails', async (ctx) => {
      await ctx.run('maybe', { retry: 'none' }, () => {
        // Some runs of the chunk were operated on, and have failed again.
        if (++tries === runs + runs / 2) void engine.crash()
        throw new PawlError('INPUT_INVALID', 'no')
      })
    })
    await using engine: TestEngine = await testEngine({ workflows: [fails], logger: { log: () => {} } })
    const begun = await engine.startMany(fails, Array(runs).fill({}))
    await Promise.all(begun.map((run) => run.result().catch(() => {})))
    const { id } = await engine.batches.preview(
      {},
      { operation, limit: runs, ...(operation === 'reset' && { step: 'maybe' }) },
    )
    await engine.batches.start(id)
    expect(await engine.get(id).result()).toEqual({ matched: runs, done: runs, failures: [] })
    await Promise.all(begun.map((run) => run.result().catch(() => {})))
    const generations = await Promise.all(begun.map(async (run) => (await run.describe()).generation))
    expect(generations, operation).toEqual(Array(runs).fill(2))
  }
})

describe('on memory', () => {
  const store = useStore('memory')

  test('V10 a batch says which runs it failed for, can be stopped, and refuses what is no batch', async () => {
    const { engine } = await store.worker(code)
    const failed = await engine.start(breaks, true)
    await expect(failed.result()).rejects.toThrow('no')
    const retry = await engine.batches.preview({}, { operation: 'retry', limit: 10 })
    expect(retry).toMatchObject({ matched: 1, byStatus: { failed: 1 } })
    await failed.retry()
    await engine.batches.start(retry.id)
    await engine.get(retry.id).result()
    const { state, failures } = await engine.batches.get(retry.id)
    expect([state, failures.every(({ runId }) => runId === failed.runId)]).toEqual(['done', true])
    const stopped = await engine.batches.preview({}, { operation: 'pause', limit: 10 })
    await engine.batches.stop(stopped.id)
    await expect(engine.get(stopped.id).result()).rejects.toThrow('stopped')
    expect((await engine.batches.get(stopped.id)).state).toBe('stopped')
    await expect(engine.batches.start(stopped.id)).rejects.toMatchObject({ code: 'RUN_ENDED' })
    await expect(engine.batches.get(failed.runId)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' })
    await expect(engine.batches.preview({}, { operation: 'reset', limit: 1 })).rejects.toThrow(/`step`/)
    expect((await engine.batches.list({})).items.map(({ operation }) => operation)).toEqual(['pause', 'retry'])
    expect(await engine.batch({}, { limit: 100 }).count()).toBe(0)
  })
})
