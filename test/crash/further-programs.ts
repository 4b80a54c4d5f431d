// Generations, heartbeats, notes, rewinds, schedules, graphs, machines and sagas.

import { sleep } from '../../src/core/runtime/clock.ts'
import { activity, graph, machine, PermanentError, signal, typed, workflow } from '../../src/index.ts'
import { endOf, lookMs, type Program, RETRY, type Stage, unless } from './programs.ts'

const go = signal<number>('go')

/** A run of three generations; each waits for a signal, and has an activity that keeps notes. */
export const generations: Program = {
  definitions(stage) {
    const kept = new Map<string, number>()
    const mail = activity(
      'mail',
      { queue: 'other', retry: RETRY, heartbeat: '2s' },
      async (generation: number, step) => {
        step.heartbeat({ at: generation })
        const id = await step.runOnce('id', () => step.attempt)
        const key = `${step.runId} ${generation}`
        const before = kept.get(key) ?? id
        if (before !== id) stage.violate(`runOnce gave ${before}, and ${id} later: ${key}`)
        kept.set(key, id)
        await stage.body(step, generation)
        step.heartbeat({ at: generation, done: true })
        return generation
      },
    )
    const long = workflow('long', async (ctx, got: readonly number[]): Promise<readonly number[]> => {
      const { generation } = ctx.info
      const heard = await ctx.wait(go)
      const mailed = await ctx.run(mail, generation)
      await ctx.run('keep', { retry: RETRY }, (step) => stage.body(step, generation))
      const now = [...got, heard * 10 + mailed]
      return generation < 3 ? ctx.continueAsNew(now) : now
    })
    return { workflows: [long], activities: [mail] }
  },
  async perform(engine, stage) {
    const long = workflow.declare<readonly number[], readonly number[]>('long')
    const run = await engine.start(long, [], { idempotencyKey: 'long' })
    stage.promise(run.runId)
    for (const n of [1, 2, 3]) await unless(['RUN_ENDED'], () => run.signal(go, n, { messageId: `m${n}` }))
    return run.result()
  },
}

/** A run that fails, is retried, reset to a step, and forked from another. */
export const rewinds: Program = {
  definitions(stage) {
    const fragile = workflow('fragile', async (ctx) => {
      const { generation } = ctx.info
      const body = (step: Parameters<Stage['body']>[0]) => stage.body(step, generation)
      const one = await ctx.run('one', { retry: RETRY }, body)
      const two = await ctx.run('two', { retry: RETRY }, async (step) => {
        const n = await body(step)
        if (generation === 1 && !ctx.info.memo['forked']) throw new PermanentError('as planned')
        return n
      })
      const three = await ctx.run('three', { retry: RETRY }, body)
      return [one, two, three]
    })
    return { workflows: [fragile], activities: [] }
  },
  async perform(engine, stage) {
    const fragile = workflow.declare<void, readonly number[]>('fragile')
    const run = await engine.start(fragile, undefined, { idempotencyKey: 'fragile' })
    stage.promise(run.runId)
    const raced = ['RUN_ALREADY_EXISTS', 'RUN_NOT_AT_REST'] as const
    for (;;) {
      const { status, generation } = await run.describe()
      if (status === 'failed') await unless(raced, () => run.retry())
      else if (status === 'completed' && generation === 2) await unless(raced, () => run.reset({ step: 'two' }))
      else if (status === 'completed') break
      await sleep(stage.process.clock, lookMs)
    }
    const fork = await run.fork({ step: 'three', results: { one: 100 } })
    stage.promise(fork.runId)
    return [await endOf(run, stage), await fork.result()]
  },
}

/** A schedule that is set, changed in part, starts runs, and is deleted. */
export const schedules: Program = {
  definitions(stage) {
    const beat = workflow('beat', async (ctx) => {
      return ctx.run('beat', { retry: RETRY }, (step) => stage.body(step))
    })
    return { workflows: [beat], activities: [] }
  },
  async perform(engine, stage) {
    const beat = workflow.declare<void, number>('beat')
    const plan = { every: '1s', workflow: beat, overlap: 'allow', catchUp: 'all' } as const
    const ended = { workflow: 'beat', status: 'completed' } as const
    const tick = await engine.schedules.set('tick', plan)
    await tick.update({ catchUpWindow: '1d' })
    while ((await engine.count(ended)) < 2) await sleep(stage.process.clock, 500)
    // The change is durable; the schedule shows it when a worker has heard it.
    while ((await tick.describe()).plan.catchUpWindow !== '1d') await sleep(stage.process.clock, 500)
    await tick.delete()
    const { items } = await engine.list({ workflow: 'beat' })
    const slots = items.map(({ workflowId }) => workflowId)
    if (new Set(slots).size !== slots.length) stage.violate(`a slot came twice: ${slots.join()}`)
    return 'two beats'
  },
}

/** A graph with a list and a wait, whose last step fails: what was done is undone, newest first. */
export const graphs: Program = {
  definitions(stage) {
    const shipment = graph<number>('shipment')
      .step('pick', { retry: RETRY }, (step) => stage.body(step))
      .compensate({ retry: RETRY }, async (step) => void (await stage.body(step)))
      .each('wrap', { after: ['pick'], over: () => [1, 2], retry: RETRY }, (step) => stage.body(step))
      .wait('approval', { after: ['wrap'] }, go)
      .step('book', { after: ['approval'], queue: 'other', retry: RETRY }, (step) => stage.body(step))
      .compensate({ retry: RETRY }, async (step) => void (await stage.body(step)))
      .step('send', { after: ['book'], delay: 30, retry: RETRY }, async (step) => {
        await stage.body(step)
        throw new PermanentError('as planned')
      })
    return { workflows: [shipment], activities: [] }
  },
  async perform(engine, stage) {
    const shipment = workflow.declare<number, unknown>('shipment')
    const run = await engine.start(shipment, 1, { idempotencyKey: 'shipment' })
    stage.promise(run.runId)
    await unless(['RUN_ENDED'], () => run.signal(go, 1, { messageId: 'm' }))
    return endOf(run, stage)
  },
}

/** A machine that runs activities one after another, with a timer and a signal in between. */
export const machines: Program = {
  definitions(stage) {
    const think = activity('think', { queue: 'other', retry: RETRY }, async (n: number, step) => {
      return n + (await stage.body(step))
    })
    const dialogue = machine('dialogue', {
      input: typed<number>(),
      state: typed<{ thoughts: number; sum: number }>(),
      output: typed<number>(),
      activities: { think },
      signals: { go },
      timers: ['rest'],
    }).on({
      start: (n, act) => [{ thoughts: 0, sum: 0 }, act.run('think', n)],
      activityCompleted: {
        think: ({ thoughts, sum }, { result }, act) => {
          const state = { thoughts: thoughts + 1, sum: sum + result }
          return thoughts === 1 ? [state, act.timer('rest', 40)] : [state]
        },
      },
      timerFired: { rest: (state, act) => [state, act.complete(state.sum)] },
      signal: { go: (state, n, act) => [state, act.run('think', n)] },
    })
    return { workflows: [dialogue], activities: [think] }
  },
  async perform(engine, stage) {
    const dialogue = workflow.declare<number, number>('dialogue')
    const run = await engine.start(dialogue, 1, { idempotencyKey: 'dialogue' })
    stage.promise(run.runId)
    await sleep(stage.process.clock, 300)
    await unless(['RUN_ENDED'], () => run.signal(go, 2, { messageId: 'm' }))
    return run.result()
  },
}

/** A saga whose last step fails: what was done is undone, newest first. */
export const sagas: Program = {
  definitions(stage) {
    const book = activity('book', { retry: RETRY }, (_: string, step) => stage.body(step))
    const cancel = activity('cancel', { queue: 'other', retry: RETRY }, (_: number, step) => stage.body(step))
    const trip = workflow('trip', (ctx) =>
      ctx.saga(async (saga) => {
        const flight = await saga.run(book, 'flight')
        saga.compensate((undo) => undo.run(cancel, flight))
        const hotel = await saga.run(book, 'hotel')
        saga.compensate((undo) => undo.run(cancel, hotel))
        await saga.run('pay', { retry: RETRY }, async (step) => {
          await stage.body(step)
          throw new PermanentError('as planned')
        })
      }),
    )
    return { workflows: [trip], activities: [book, cancel] }
  },
  async perform(engine, stage) {
    const trip = workflow.declare<void, void>('trip')
    const run = await engine.start(trip, undefined, { idempotencyKey: 'trip' })
    stage.promise(run.runId)
    return endOf(run, stage)
  },
}
