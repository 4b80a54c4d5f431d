import { activity, type HistoryEvent, type RunHandle, signal, workflow } from 'pawl'
import { testEngine } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { systemRandom } from '../../src/core/runtime/random.ts'
import { MemoryStore } from '../../src/core/stores/memory/store.ts'
import { Engine, registryOf } from '../../src/engine.ts'
import { ALICE, BOB, beat, request } from '../../src/testing/conformance/builders.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'
import { Gate, kinds, rejection, until, useStore, waitsFor } from './each-store.ts'

const go = signal<string>('go')

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('why: timer, signal and ended', async () => {
    const life = workflow('life', async (ctx) => {
      await ctx.wait(go)
      await ctx.sleep('1h')
    })
    const engine = await bench.serve({ workflows: [life] })
    const run = await engine.start(life)
    const signalled = await waitsFor(run, 'signal')
    expect(signalled).toMatchObject({ name: 'go' })
    expect(signalled.suggestion).toBe(`pawl signal ${run.runId} go '<payload as JSON>'`)
    await run.signal(go, 'x')
    const { until: wakes } = await waitsFor(run, 'timer')
    expect(wakes.getTime()).toBeGreaterThan(Date.now() + 3_500_000)
    await run.cancel()
    await rejection(run.result())
    expect(await run.why()).toEqual({ reason: 'ended', status: 'cancelled' })
  })

  test('why: a step that runs, with its worker, and its pause before the next attempt', async () => {
    const begun = new Gate()
    const fail = new Gate()
    const works = workflow('works', async (ctx) => {
      // A turn of its own first, so that the start of the step is written before the step runs.
      await ctx.run('first', () => 1)
      await ctx.run('long', async () => {
        begun.open()
        await fail.opened
        throw new Error('flaky')
      })
    })
    const { engine, worker } = await bench.worker({ workflows: [works] })
    const run = await engine.start(works)
    await begun.opened
    const active = await waitsFor(run, 'activity')
    expect(active).toMatchObject({ step: 'step:long#1', attempt: 1, worker: worker.id })
    expect(active.until?.getTime()).toBeGreaterThan(Date.now())
    fail.open()
    const backoff = await waitsFor(run, 'backoff')
    expect(backoff).toMatchObject({ step: 'step:long#1', failure: { message: 'flaky' } })
  })

  test('why: a queued activity that nobody can run, that runs elsewhere, that backs off there', async () => {
    const begun = new Gate()
    const fail = new Gate()
    const render = activity('render', { queue: 'heavy' }, async () => {
      begun.open()
      await fail.opened
      throw new Error('flaky')
    })
    const asks = workflow('asks', async (ctx) => ctx.run(render))
    const engine = await bench.serve({ workflows: [asks] })
    const run = await engine.start(asks)
    const nobody = await waitsFor(run, 'noWorker')
    expect(nobody).toMatchObject({ type: 'render' })
    expect(nobody.suggestion).toMatch(/'render' on queue 'heavy'.*pawl worker/)
    await bench.serve({ activities: [render] }, { queues: ['heavy'], id: 'painter' })
    await begun.opened
    const active = await waitsFor(run, 'activity')
    expect(active).toMatchObject({ step: 'activity:render#1', attempt: 1, worker: 'painter' })
    fail.open()
    const backoff = await waitsFor(run, 'backoff')
    expect(backoff).toMatchObject({ step: 'activity:render#1', failure: { message: 'flaky' } })
  })

  test('why: no worker has the code, and a worker that has it is about to take the run', async () => {
    const quick = workflow('quick', async () => 1)
    const other = workflow('other', async () => 1)
    const client = await bench.serve({ workflows: [other] })
    const run = await client.start(quick)
    const why = await run.why()
    expect(why).toMatchObject({ reason: 'noWorker', type: 'quick' })
    expect(why.suggestion).toMatch(/No living worker has code for 'quick' on queue 'default'/)
    const begun = new Gate()
    const finish = new Gate()
    const busy = workflow('busy', async (ctx) =>
      ctx.run('block', () => {
        begun.open()
        return finish.opened
      }),
    )
    await client.start(busy)
    await bench.serve({ workflows: [quick, busy] }, { concurrency: 1 })
    await until(
      () => run.why(),
      ({ reason }) => reason !== 'noWorker',
    )
    finish.open()
    expect(await run.result()).toBe(1)
  })

  test('why: ready when a worker could take the run and has no room', async () => {
    const finish = new Gate()
    const begun = new Gate()
    const busy = workflow('busy', async (ctx) =>
      ctx.run('block', () => {
        begun.open()
        return finish.opened
      }),
    )
    const engine = await bench.serve({ workflows: [busy] }, { concurrency: 1 })
    await engine.start(busy)
    await begun.opened
    const second = await engine.start(busy)
    expect(await second.why()).toEqual({ reason: 'ready' })
    finish.open()
    await second.result()
  })

  test('why: paused, with the failure and what to do', async () => {
    const foreign = workflow('foreign', async (ctx) => {
      await ctx.run('first', () => 1)
      await new Promise(() => {})
    })
    const engine = await bench.serve({ workflows: [foreign] })
    const run = await engine.start(foreign)
    const why = await waitsFor(run, 'paused')
    expect(why.failure).toMatchObject({ code: 'NON_DURABLE_AWAIT' })
    expect(why.failure?.message).toMatch(/'foreign' awaited something .* after step:first#1/)
    expect(why.suggestion).toMatch(/another build/)
    const record = await run.describe()
    expect(record).toMatchObject({ status: 'paused', failure: { code: 'NON_DURABLE_AWAIT' } })
  })

  test('history is readable, in order, and can be read on from any place', async () => {
    const story = workflow('story', async (ctx, input: { id: string }) => {
      await ctx.run('charge', () => ({ paid: 5 }))
      await ctx.wait(go)
      return input.id
    })
    const engine = await bench.serve({ workflows: [story] })
    const run = await engine.start(story, { id: 'A1' })
    await waitsFor(run, 'signal')
    await run.signal(go, 'now')
    await run.result()
    const entries = await all(run)
    expect(entries.map(({ type, step }) => [type, step])).toEqual([
      ['RunStarted', undefined],
      ['StepStarted', 'step:charge#1'],
      ['StepCompleted', 'step:charge#1'],
      ['WaitStarted', 'wait:go#1'],
      ['SignalReceived', undefined],
      ['RunCompleted', undefined],
    ])
    expect(entries.map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4, 5])
    expect(entries[0]).toMatchObject({ name: 'story', input: { id: 'A1' } })
    expect(entries[2]).toMatchObject({ attempt: 1, result: { paid: 5 } })
    expect(entries[4]).toMatchObject({ name: 'go', payload: 'now' })
    const times = entries.map(({ at }) => at.getTime())
    expect(times).toEqual([...times].sort((a, b) => a - b))
    expect((await all(run, 3)).map(({ seq }) => seq)).toEqual([4, 5])
  })

  test('a history of many pages is read whole', async () => {
    const loop = workflow('loop', async (ctx) => {
      for (let n = 0; n < 600; n++) await ctx.run('turn', () => n)
    })
    const engine = await bench.serve({ workflows: [loop] })
    const run = await engine.start(loop)
    await run.result()
    const entries = await all(run)
    expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, index) => index))
    expect(entries.filter(({ type }) => type === 'StepCompleted')).toHaveLength(600)
  })

  test('describe tells what a run was born with, where it stands and how it ended', async () => {
    const story = workflow('story', async (ctx, input: string) => {
      await ctx.wait(go)
      return { input }
    })
    const engine = await bench.serve({ workflows: [story] }, { queues: ['default', 'slow'] })
    const options = { workflowId: 'w', priority: 3, queue: 'slow', memo: { by: 'ops' } }
    const run = await engine.start(story, 'in', options)
    await waitsFor(run, 'signal')
    const before = await run.describe()
    expect(before).toMatchObject({
      runId: run.runId,
      workflowId: 'w',
      name: 'story',
      status: 'waiting',
      input: 'in',
      memo: { by: 'ops' },
      queue: 'slow',
      priority: 3,
      generation: 1,
    })
    expect(before).not.toHaveProperty('endedAt')
    await run.signal(go, 'now')
    await run.result()
    const after = await run.describe()
    expect(after).toMatchObject({ status: 'completed', output: { input: 'in' } })
    expect(after.createdAt).toEqual(before.createdAt)
    expect(after.endedAt?.getTime()).toBeGreaterThanOrEqual(after.createdAt.getTime())
  })

  test('a result can be waited for with a signal of one’s own, and by many at once', async () => {
    const waits = workflow('waits', async (ctx) => ctx.wait(go))
    const engine = await bench.serve({ workflows: [waits] })
    const run = await engine.start(waits)
    const controller = new AbortController()
    const impatient = rejection(run.result({ signal: controller.signal }))
    const elsewhere = (await bench.engine()).get(waits, run.runId)
    const patient = [run.result(), run.result(), elsewhere.result()]
    await waitsFor(run, 'signal')
    controller.abort(new Error('enough'))
    expect(await impatient).toMatchObject({ message: 'enough' })
    await run.signal(go, 'now')
    expect(await Promise.all(patient)).toEqual(['now', 'now', 'now'])
  })
})

async function all(run: RunHandle<unknown>, after?: number): Promise<HistoryEvent[]> {
  const entries: HistoryEvent[] = []
  const options = after === undefined ? {} : { after }
  for await (const entry of run.history(options)) entries.push(entry)
  return entries
}

test('why: who takes over from a worker whose lease has ended', async () => {
  const clock = new VirtualClock()
  const store = new MemoryStore({ clock })
  const engine = new Engine(store, registryOf({}), {}, { clock, random: systemRandom })
  const run = await engine.start(workflow.declare<void, void>('order'))
  const about = JSON.stringify({ queues: ['default'], workflows: ['order'], activities: [], code: 'a' })
  await store.renew(beat(ALICE, { worker: 'w1', ttlMs: 30_000, about }))
  await store.claim(request(ALICE))
  expect(await run.why()).toMatchObject({ reason: 'lease', worker: 'w1' })
  await clock.advance(30_000)
  const alone = await run.why()
  expect(alone).toMatchObject({ reason: 'lease', worker: 'w1' })
  expect(alone.suggestion).toMatch(/^The lease of w1 has ended; any worker .* Start one: pawl worker <file\.ts>$/)
  await store.renew(beat(BOB, { worker: 'w2', ttlMs: 30_000, about }))
  expect((await run.why()).suggestion).toMatch(/^The lease of w1 has ended; worker w2 takes over soon/)
  await engine.close()
})

test('why: a step that may run once is not retried without a look, and what a saga undid is reset', async () => {
  const once = workflow('once', async (ctx) =>
    ctx.run('charge', { retry: 'none' }, () => new Promise<string>(() => {})),
  )
  const trip = workflow('trip', async (ctx) =>
    ctx.saga(async (saga) => {
      await saga.run('reserve', () => 1)
      saga.compensate(async (undo) => undo.run('undo', { retry: { maxAttempts: 100, initial: '1h' } }, undoes))
      await saga.run('pay', { retry: 'none' }, fails)
    }),
  )
  let isStuck = true
  const undoes = (): void => {
    if (isStuck) throw new Error('gone')
  }
  const fails = (): never => {
    throw new Error('declined')
  }
  await using engine = await testEngine({ workflows: [once, trip] })
  const charged = await engine.start(once)
  await engine.idle()
  await engine.crash()
  await rejection(charged.result())
  const { suggestion } = await charged.why()
  expect(suggestion).toContain("Find out first whether step 'charge' was done")
  expect(suggestion).toContain(`pawl fork ${charged.runId} 'step:charge#1' --result 'step:charge#1=<JSON>'`)
  expect(suggestion).toContain(`pawl retry ${charged.runId}`)
  const forked = await charged.fork({ step: 'step:charge#1', results: { 'step:charge#1': 'paid' } })
  expect(await forked.result()).toBe('paid')
  const undone = await engine.start(trip)
  await engine.idle()
  const stuck = await undone.why()
  expect(stuck.reason).toBe('backoff')
  expect(stuck.suggestion).toMatch(
    /settle it by hand: pawl resume --step '.*undo#1' .* --result '<JSON>' --note '<why>'$/,
  )
  isStuck = false
  await rejection(undone.result())
  const ended = await undone.why()
  expect(ended.suggestion).toContain(`pawl reset ${undone.runId} 'saga#1/step:reserve#1'`)
  expect(ended.suggestion).not.toContain('pawl retry')
})
